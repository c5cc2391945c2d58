/* Callers that wait for the answer to one message. */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

gl_waiter *gl_waiter_of(gl_engine *engine, uint64_t ticket)
{
    return &engine->waiters[gl_number_of(ticket)];
}

/* Allocate a waiter for the answer of an actor; returns the number that goes into `reply_to`, 0 if
   there are too many. */
uint64_t gl_wait_begin(gl_engine *engine, uint64_t actor, int is_async)
{
    uint32_t number;
    gl_waiter *waiter;
    pthread_mutex_lock(&engine->answer_mutex);
    number = engine->free_waiter;
    if (number != UINT32_MAX)
        engine->free_waiter = engine->waiters[number].next;
    pthread_mutex_unlock(&engine->answer_mutex);
    if (number == UINT32_MAX)
        return 0;
    waiter = &engine->waiters[number];
    uint32_t generation = (atomic_load(&waiter->state) >> 3) & GL_GENERATIONS;
    waiter->actor = actor;
    waiter->is_async = (uint32_t)is_async;
    waiter->bytes = 0;
    waiter->reason = 0;
    atomic_store(&waiter->state, generation << 3 | GL_WAITING);
    return GL_TO_WAITER | (uint64_t)generation << 20 | number;
}

/* Answer a caller: 0, or GL_LATE if it waits no more. A `reason` other than 0 is a refusal. */
int gl_answer(gl_engine *engine, uint64_t reply_to, uint64_t type, const gl_clock *clock,
              const void *payload, uint32_t bytes, uint32_t reason)
{
    uint32_t number = gl_number_of(reply_to);
    uint32_t expected = gl_generation_of(reply_to) << 3 | GL_WAITING;
    gl_waiter *waiter;
    /* A caller with a place gets the first reply there; later replies come here. */
    if (number >= GL_WAITERS || reply_to & GL_DIRECT)
        return GL_LATE;
    waiter = &engine->waiters[number];
    /* GL_GONE reserves the waiter for this thread while it writes. */
    if (!atomic_compare_exchange_strong(&waiter->state, &expected,
                                        gl_generation_of(reply_to) << 3 | GL_GONE))
        return GL_LATE;
    if (bytes > waiter->room) {
        uint8_t *more = realloc(waiter->payload, bytes);
        if (!more) {
            reason = GL_TOO_LARGE;
            bytes = 0;
        } else {
            waiter->payload = more;
            waiter->room = bytes;
        }
    }
    if (bytes)
        memcpy(waiter->payload, payload, bytes);
    waiter->bytes = bytes;
    waiter->type = type;
    waiter->reason = reason;
    waiter->clock = *clock;
    uint32_t is_async = waiter->is_async;
    atomic_store_explicit(&waiter->state,
                          gl_generation_of(reply_to) << 3 | (reason ? GL_REFUSED : GL_ANSWERED),
                          memory_order_release);
    if (is_async) {
        pthread_mutex_lock(&engine->answer_mutex);
        while (engine->completed_tail - engine->completed_head == GL_COMPLETED
               && !atomic_load(&engine->stop))
            pthread_cond_wait(&engine->taken, &engine->answer_mutex);
        if (engine->completed_tail - engine->completed_head < GL_COMPLETED)
            engine->completed[engine->completed_tail++ % GL_COMPLETED] = reply_to;
        pthread_cond_broadcast(&engine->answers);
        pthread_mutex_unlock(&engine->answer_mutex);
    } else {
        gl_wake_receivers(engine);
    }
    return 0;
}

/* Wake the threads that wait for an answer or a reply, after one was stored. */
void gl_wake_receivers(gl_engine *engine)
{
    atomic_thread_fence(memory_order_seq_cst);
    gl_unpark(&engine->answer_parked, &engine->answer_mutex, &engine->answered, 1);
}

static int is_done(gl_waiter *waiter)
{
    uint32_t state = atomic_load_explicit(&waiter->state, memory_order_acquire) & 7;
    return state == GL_ANSWERED || state == GL_REFUSED;
}

/* Whether a caller has its answer and still owns its waiter. */
int gl_has_answer(gl_engine *engine, uint64_t ticket)
{
    uint32_t state;
    if (gl_number_of(ticket) >= GL_WAITERS)
        return 0;
    state = atomic_load_explicit(&gl_waiter_of(engine, ticket)->state, memory_order_acquire);
    return state == (gl_generation_of(ticket) << 3 | GL_ANSWERED)
           || state == (gl_generation_of(ticket) << 3 | GL_REFUSED);
}

/* Wait for an answer: spin for `spin` nanoseconds, then park until `until` of gl_elapsed; 1 if
   there is an answer. A stopped engine has none. */
int gl_wait(gl_engine *engine, uint64_t ticket, uint64_t spin, uint64_t until)
{
    gl_waiter *waiter = gl_waiter_of(engine, ticket);
    uint64_t begin = gl_elapsed(), now = begin;
    while (now - begin < spin && now < until) {
        for (int n = 0; n < 64; n++) {
            if (is_done(waiter))
                return 1;
            gl_pause();
        }
        now = gl_elapsed();
    }
    gl_park(&engine->answer_parked, &engine->answer_mutex);
    atomic_thread_fence(memory_order_seq_cst);
    while (!is_done(waiter) && !atomic_load(&engine->stop) && gl_elapsed() < until)
        gl_cond_wait(&engine->answered, &engine->answer_mutex, until);
    gl_rise(&engine->answer_parked, &engine->answer_mutex);
    return is_done(waiter);
}

/* The answer arrived after its caller's last test. */
static void bury_answer(gl_engine *engine, const gl_waiter *waiter, uint64_t ticket)
{
    gl_letter letter = {.type = waiter->type, .source = waiter->actor, .correlation = ticket,
                        .payload_bytes = waiter->bytes, .flags = GL_IS_REPLY,
                        .clock = waiter->clock};
    gl_bury(engine, waiter->actor, &letter, waiter->payload, GL_LATE);
}

/* Release a waiter. Either its answer was taken, or the caller waits no more, and a present answer
   becomes a dead letter. An asynchronous call that is answered and cancelled at the same time does
   both; the second has no effect. */
void gl_wait_end(gl_engine *engine, uint64_t ticket, int taken)
{
    if (gl_number_of(ticket) >= GL_WAITERS)
        return;
    gl_waiter *waiter = gl_waiter_of(engine, ticket);
    uint32_t next = ((gl_generation_of(ticket) + 1) & GL_GENERATIONS) << 3;
    uint32_t state = atomic_load(&waiter->state);
    for (;;) {
        if (state >> 3 != gl_generation_of(ticket))
            return;
        if ((state & 7) == GL_GONE) {
            gl_pause(); /* an answer is being written */
            state = atomic_load(&waiter->state);
        } else if (atomic_compare_exchange_weak(&waiter->state, &state, next | GL_FREE)) {
            break;
        }
    }
    if ((state & 7) == GL_ANSWERED && !taken)
        bury_answer(engine, waiter, ticket);
    pthread_mutex_lock(&engine->answer_mutex);
    waiter->next = engine->free_waiter;
    engine->free_waiter = gl_number_of(ticket);
    pthread_mutex_unlock(&engine->answer_mutex);
}
