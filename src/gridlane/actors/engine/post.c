/* Put messages into inboxes, and store dead letters. */
#include <stdlib.h>
#include <string.h>

#include "wire.h"

static void write_header(gl_header *slot, const gl_letter *letter, uint64_t to, uint32_t tier)
{
    slot->magic = GL_MAGIC;
    slot->version = GL_VERSION;
    slot->flags = (uint16_t)letter->flags;
    slot->type = letter->type;
    slot->source = letter->source;
    slot->destination = to;
    slot->correlation = letter->correlation;
    slot->reply_to = letter->reply_to;
    slot->payload_bytes = letter->payload_bytes;
    slot->tier = tier;
    slot->clock = letter->clock;
    slot->deadline = letter->deadline;
    slot->topic = letter->topic;
    slot->hops = letter->hops;
    slot->priority = 0;
    slot->attempt = letter->attempt;
    slot->reason = 0;
    slot->trace = letter->trace;
    slot->span = letter->span;
}

/* Number a traced message, and store its event. */
static void trace_post(gl_trace *trace, gl_header *slot)
{
    slot->span = gl_trace_span(trace);
    if (!slot->trace)
        slot->trace = slot->span;
    gl_trace_put(trace, &(gl_traced){GL_EVENT_POST, gl_now(), 0, slot->source, slot->destination,
                                     slot->trace, slot->span});
}

static int put(gl_actor *to, const gl_letter *letter, const void *payload, int alone)
{
    uint64_t ticket;
    if (to->wire) {
        gl_letter numbered = *letter;
        return gl_wire_post(to, &numbered, payload, NULL);
    }
    gl_header *slot = alone ? gl_queue_claim_alone(&to->inbox, &ticket)
                            : gl_queue_claim(&to->inbox, &ticket);
    if (!slot)
        return GL_IS_FULL;
    write_header(slot, letter, to->id, to->tier);
    gl_trace *trace = gl_tracing(to->engine);
    if (trace)
        trace_post(trace, slot);
    memcpy((uint8_t *)slot + sizeof(gl_header), payload, letter->payload_bytes);
    gl_queue_publish(&to->inbox, slot, ticket);
    return GL_POSTED;
}

static int suits(const gl_actor *to, const gl_letter *letter)
{
    if (letter->payload_bytes > to->tier)
        return GL_TOO_LARGE;
    return letter->type == to->type ? GL_POSTED : GL_WRONG_TYPE;
}

/* Begin to post: returns whether the actor accepts messages. Senders wait here while a checkpoint
   is taken; no step is among them, because all actors are held then. gl_leave follows in any
   case. */
int gl_enter(gl_actor *to)
{
    for (;;) {
        uint32_t phase;
        atomic_fetch_add_explicit(&to->posting, 1, memory_order_seq_cst);
        phase = atomic_load_explicit(&to->phase, memory_order_seq_cst);
        if (!(phase & GL_PAUSED) || atomic_load(&to->engine->stop))
            return (phase & GL_ACCEPTS) != 0;
        atomic_fetch_sub_explicit(&to->posting, 1, memory_order_release);
        gl_nap(50000);
    }
}

void gl_leave(gl_actor *to)
{
    atomic_fetch_sub_explicit(&to->posting, 1, memory_order_release);
}

int gl_post(gl_actor *to, const gl_letter *letter, const void *payload, int alone)
{
    int result = suits(to, letter);
    if (result)
        return result;
    result = gl_enter(to) ? put(to, letter, payload, alone) : GL_INACTIVE;
    /* Order: before the end of the post, so that an ended actor is not in the run queue after
       that. */
    if (result == GL_POSTED)
        gl_schedule(to);
    gl_leave(to);
    return result;
}

uint64_t gl_post_run(gl_actor *to, gl_letter *letter, const void *payloads, uint64_t count, int alone,
                     int *result)
{
    const uint8_t *next = payloads;
    uint64_t done = 0;
    *result = suits(to, letter);
    while (!*result && done < count) {
        /* Post short runs, so that an actor that ends need not wait for all of them. */
        uint64_t last = done + 32 < count ? done + 32 : count;
        if (!gl_enter(to))
            *result = GL_INACTIVE;
        while (!*result && done < last) {
            *result = put(to, letter, next, alone);
            if (*result)
                break;
            letter->clock.logical++;
            next += letter->payload_bytes;
            done++;
        }
        gl_schedule(to);
        gl_leave(to);
    }
    return done;
}

/* Wait for room: pause, then sleep for a time that doubles up to 0.26 ms. */
static void wait_for_room(uint32_t tries)
{
    gl_back_off(tries, 1000, 1000, 256000);
}

int gl_post_until(gl_actor *to, const gl_letter *letter, const void *payload, uint64_t until)
{
    for (uint32_t tries = 0;; tries++) {
        int result = gl_post(to, letter, payload, 0);
        if (result != GL_IS_FULL || gl_elapsed() >= until)
            return result;
        wait_for_room(tries);
    }
}

int gl_post_run_until(gl_actor *to, gl_letter *letter, const void *payloads, uint64_t count,
                      int alone, uint64_t until, uint64_t *posted)
{
    const uint8_t *next = payloads;
    int result = GL_POSTED;
    *posted = 0;
    for (uint32_t tries = 0; *posted < count; tries++) {
        uint64_t run = gl_post_run(to, letter, next, count - *posted, alone, &result);
        *posted += run;
        next += run * letter->payload_bytes;
        if (result != GL_IS_FULL || gl_elapsed() >= until)
            break;
        if (run)
            tries = 0;
        wait_for_room(tries);
    }
    return result;
}

void gl_letter_of(gl_letter *letter, const gl_header *header)
{
    letter->type = header->type;
    letter->source = header->source;
    letter->destination = header->destination;
    letter->correlation = header->correlation;
    letter->reply_to = header->reply_to;
    letter->deadline = header->deadline;
    letter->topic = header->topic;
    letter->trace = header->trace;
    letter->span = header->span;
    letter->payload_bytes = header->payload_bytes;
    letter->flags = header->flags;
    letter->hops = header->hops;
    letter->attempt = header->attempt;
    letter->clock = header->clock;
}

/* Store a dead letter. Above the limit the oldest is dropped, and counted as lost. */
void gl_bury(gl_engine *engine, uint64_t actor, const gl_letter *letter, const void *payload,
             uint32_t reason)
{
    gl_dead *dead = malloc(sizeof(gl_dead) + letter->payload_bytes);
    gl_dead *evicted = NULL;
    gl_trace *trace = gl_tracing(engine);
    if (trace)
        gl_trace_put(trace, &(gl_traced){GL_EVENT_DEAD, gl_now(), reason, letter->source, actor,
                                         letter->trace, letter->span});
    pthread_mutex_lock(&engine->dead_mutex);
    engine->dead_total++;
    if (!dead) {
        engine->dead_lost++;
        pthread_mutex_unlock(&engine->dead_mutex);
        return;
    }
    memset(dead, 0, sizeof(gl_dead));
    dead->actor = actor;
    write_header(&dead->header, letter, letter->destination, 0);
    dead->header.reason = reason;
    memcpy(dead->payload, payload, letter->payload_bytes);
    if (engine->dead_last)
        engine->dead_last->next = dead;
    else
        engine->dead_first = dead;
    engine->dead_last = dead;
    if (++engine->dead_count > engine->dead_limit) {
        evicted = engine->dead_first;
        engine->dead_first = evicted->next;
        engine->dead_count--;
        engine->dead_lost++;
        if (!engine->dead_first)
            engine->dead_last = NULL;
    }
    pthread_mutex_unlock(&engine->dead_mutex);
    free(evicted);
}

/* Bury the message of a slot. */
void gl_bury_slot(gl_actor *actor, const gl_header *slot, uint32_t reason)
{
    gl_letter letter;
    gl_letter_of(&letter, slot);
    gl_bury(actor->engine, actor->id, &letter, (const uint8_t *)slot + sizeof(gl_header), reason);
    atomic_fetch_add_explicit(&actor->control->dead, 1, memory_order_relaxed);
}

/* As above, and refuse the caller who waits for its answer. */
void gl_refuse_slot(gl_actor *actor, const gl_header *slot, uint32_t reason)
{
    gl_bury_slot(actor, slot, reason);
    gl_refuse_caller(actor, slot, reason);
}

/* Refuse the caller of a message; no effect after an answer. */
void gl_refuse_caller(gl_actor *actor, const gl_header *asked, uint32_t reason)
{
    uint64_t to = asked->reply_to;
    if (to & GL_TO_WAITER)
        gl_answer(actor->engine, to, 0, &asked->clock, NULL, 0, reason);
    else if (to & GL_TO_OUTSIDE)
        gl_gate_answer(actor->engine, to, asked->correlation, &asked->clock, NULL, 0, reason & 0xFF);
}

/* ---- senders that wait for room */

static int is_full(gl_actor *actor)
{
    if (actor->wire)
        return !gl_wire_has_room(actor);
    uint64_t ticket = atomic_load_explicit(&actor->inbox.inbox->tail, memory_order_relaxed);
    gl_header *slot = gl_slot(&actor->inbox, ticket);
    return (int64_t)(atomic_load_explicit(&slot->sequence, memory_order_acquire)
                     - gl_lap(&actor->inbox, ticket)) < 0;
}

/* Whether the chain of blocked actors, each waiting for room in the next, ends in `sender`. */
static int is_cycle(gl_actor *sender, gl_actor *full)
{
    gl_actor *each = full;
    for (uint32_t n = 0; each && n < GL_RUN_QUEUE; n++) {
        if (each == sender)
            return 1;
        each = atomic_load(&each->waits_for);
    }
    return 0;
}

/* Remove a sender from the list that it waits in. */
void gl_leave_list(gl_actor *sender)
{
    gl_actor *full;
    while ((full = atomic_load(&sender->waits_for))) {
        pthread_mutex_lock(&full->mutex);
        for (uint32_t n = 0; n < full->blocked_count; n++)
            if (full->blocked[n] == sender) {
                full->blocked[n] = full->blocked[--full->blocked_count];
                atomic_store(&sender->waits_for, NULL);
                atomic_store(&sender->waiting, 0);
                break;
            }
        pthread_mutex_unlock(&full->mutex);
    }
}

/* Enter `sender` into the list of `full`, which schedules it when it has room. GL_IS_CYCLE where it
   never would have room: the sender is then not in the list. */
int gl_block_on(gl_actor *sender, gl_actor *full)
{
    if (atomic_load(&sender->waiting))
        return GL_IS_BLOCKED; /* it was scheduled for another reason, and is still in the list */
    pthread_mutex_lock(&full->mutex);
    if (full->blocked_count == full->blocked_room) {
        uint32_t room = full->blocked_room ? 2 * full->blocked_room : 8;
        gl_actor **more = realloc(full->blocked, room * sizeof *more);
        if (!more) {
            pthread_mutex_unlock(&full->mutex);
            return GL_HAS_ROOM; /* without memory there is no list to wait in, so it retries */
        }
        full->blocked = more;
        full->blocked_room = room;
    }
    full->blocked[full->blocked_count++] = sender;
    atomic_store(&sender->waits_for, full);
    atomic_store(&sender->waiting, 1);
    atomic_store_explicit(&full->has_blocked, 1, memory_order_seq_cst);
    pthread_mutex_unlock(&full->mutex);
    atomic_thread_fence(memory_order_seq_cst);
    if (!is_full(full)
        || !(atomic_load_explicit(&full->phase, memory_order_seq_cst) & GL_ACCEPTS)) {
        gl_unblock(full);
        return GL_IS_BLOCKED;
    }
    if (!is_cycle(sender, full))
        return GL_IS_BLOCKED;
    gl_leave_list(sender);
    return GL_IS_CYCLE;
}

/* Schedule the senders that wait for room in an inbox. Lifetime: the list stays locked until the
   last of them is scheduled, so none of them is freed meanwhile. */
void gl_unblock(gl_actor *actor)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (!atomic_load_explicit(&actor->has_blocked, memory_order_relaxed))
        return;
    pthread_mutex_lock(&actor->mutex);
    atomic_store_explicit(&actor->has_blocked, 0, memory_order_relaxed);
    for (uint32_t n = 0; n < actor->blocked_count; n++) {
        gl_actor *sender = actor->blocked[n];
        atomic_store(&sender->waits_for, NULL);
        atomic_store(&sender->waiting, 0);
        gl_schedule(sender);
    }
    actor->blocked_count = 0;
    pthread_mutex_unlock(&actor->mutex);
}
