/* Callers that wait for the answer to one message. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine.h"

/* reply_to of a caller: bit 63, the generation, the waiter's number. */
#define NUMBER(ticket) ((uint32_t)((ticket) & 0xFFFFF))
#define GENERATION(ticket) ((uint32_t)(((ticket) >> 20) & 0x1FFFFFFF))

gl_waiter *gl_waiter_of(gl_engine *engine, uint64_t ticket)
{
    return &engine->waiters[NUMBER(ticket)];
}

/* A waiter, by the number that goes into `reply_to`; 0 if there are too many. */
uint64_t gl_wait_begin(gl_engine *engine, int is_async)
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
    uint32_t generation = (atomic_load(&waiter->state) >> 3) & 0x1FFFFFFF;
    waiter->is_async = (uint32_t)is_async;
    waiter->bytes = 0;
    waiter->reason = 0;
    atomic_store(&waiter->state, generation << 3 | GL_WAITING);
    return GL_TO_WAITER | (uint64_t)generation << 20 | number;
}

/* Answer a caller: 0, or GL_LATE if it waits no more. `reason` other than 0 is a refusal. */
int gl_answer(gl_engine *engine, uint64_t reply_to, uint64_t type, const gl_clock *clock,
              const void *payload, uint32_t bytes, uint32_t reason)
{
    uint32_t number = NUMBER(reply_to);
    uint32_t expected = GENERATION(reply_to) << 3 | GL_WAITING;
    gl_waiter *waiter;
    if (number >= GL_WAITERS)
        return GL_LATE;
    waiter = &engine->waiters[number];
    /* GL_GONE marks the waiter as this thread's while it writes. */
    if (!atomic_compare_exchange_strong(&waiter->state, &expected,
                                        GENERATION(reply_to) << 3 | GL_GONE))
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
    atomic_store(&waiter->state,
                 GENERATION(reply_to) << 3 | (reason ? GL_REFUSED : GL_ANSWERED));
    if (is_async) {
        pthread_mutex_lock(&engine->answer_mutex);
        while (engine->completed_tail - engine->completed_head == GL_COMPLETED)
            pthread_cond_wait(&engine->taken, &engine->answer_mutex);
        engine->completed[engine->completed_tail++ % GL_COMPLETED] = reply_to;
        pthread_cond_broadcast(&engine->answers);
        pthread_mutex_unlock(&engine->answer_mutex);
    } else if (atomic_load(&engine->answer_parked)) {
        pthread_mutex_lock(&engine->answer_mutex);
        pthread_cond_broadcast(&engine->answered);
        pthread_mutex_unlock(&engine->answer_mutex);
    }
    return 0;
}

static int is_done(gl_waiter *waiter)
{
    uint32_t state = atomic_load_explicit(&waiter->state, memory_order_acquire) & 7;
    return state == GL_ANSWERED || state == GL_REFUSED;
}

/* Wait for an answer: spin `spin` nanoseconds, then park until `until` of gl_elapsed; 1 if there is
   an answer. */
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
    pthread_mutex_lock(&engine->answer_mutex);
    atomic_fetch_add(&engine->answer_parked, 1);
    while (!is_done(waiter) && (now = gl_elapsed()) < until) {
        struct timespec at;
        uint64_t left = until - now;
        clock_gettime(CLOCK_REALTIME, &at);
        left += (uint64_t)at.tv_nsec;
        at.tv_sec += (time_t)(left / 1000000000u);
        at.tv_nsec = (long)(left % 1000000000u);
        pthread_cond_timedwait(&engine->answered, &engine->answer_mutex, &at);
    }
    atomic_fetch_sub(&engine->answer_parked, 1);
    pthread_mutex_unlock(&engine->answer_mutex);
    return is_done(waiter);
}

/* Give a waiter back: answered, or no longer interested. */
void gl_wait_end(gl_engine *engine, uint64_t ticket)
{
    gl_waiter *waiter = gl_waiter_of(engine, ticket);
    uint32_t waiting = GENERATION(ticket) << 3 | GL_WAITING;
    uint32_t next = ((GENERATION(ticket) + 1) & 0x1FFFFFFF) << 3;
    if (!atomic_compare_exchange_strong(&waiter->state, &waiting, next | GL_FREE)) {
        while ((atomic_load(&waiter->state) & 7) == GL_GONE)
            gl_pause(); /* an answer is being written */
        atomic_store(&waiter->state, next | GL_FREE);
    }
    pthread_mutex_lock(&engine->answer_mutex);
    waiter->next = engine->free_waiter;
    engine->free_waiter = NUMBER(ticket);
    pthread_mutex_unlock(&engine->answer_mutex);
}
