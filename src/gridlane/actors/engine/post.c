/* Put messages into inboxes, and keep those that nobody takes. */
#include <stdlib.h>
#include <string.h>

#include "wire.h"

static void write_header(gl_header *slot, const gl_actor *to, const gl_letter *letter)
{
    slot->magic = GL_MAGIC;
    slot->version = GL_VERSION;
    slot->flags = (uint16_t)letter->flags;
    slot->type = letter->type;
    slot->source = letter->source;
    slot->destination = to->id;
    slot->correlation = letter->correlation;
    slot->reply_to = letter->reply_to;
    slot->payload_bytes = letter->payload_bytes;
    slot->tier = to->tier;
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

static int put(gl_actor *to, const gl_letter *letter, const void *payload, int alone)
{
    uint64_t ticket;
    if (to->wire)
        return gl_wire_put(to, letter, payload, NULL);
    gl_header *slot = alone ? gl_queue_claim_alone(&to->inbox, &ticket)
                            : gl_queue_claim(&to->inbox, &ticket);
    if (!slot)
        return GL_IS_FULL;
    write_header(slot, to, letter);
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

static int accepts(const gl_actor *to)
{
    return (atomic_load_explicit(&to->phase, memory_order_seq_cst) & GL_ACCEPTS) != 0;
}

int gl_post(gl_actor *to, const gl_letter *letter, const void *payload, int alone)
{
    int result = suits(to, letter);
    if (result)
        return result;
    atomic_fetch_add_explicit(&to->posting, 1, memory_order_seq_cst);
    result = accepts(to) ? put(to, letter, payload, alone) : GL_INACTIVE;
    atomic_fetch_sub_explicit(&to->posting, 1, memory_order_release);
    if (result == GL_POSTED)
        gl_schedule(to);
    return result;
}

uint64_t gl_post_run(gl_actor *to, gl_letter *letter, const void *payloads, uint64_t count, int alone,
                     int *result)
{
    const uint8_t *next = payloads;
    uint64_t done = 0;
    *result = suits(to, letter);
    while (!*result && done < count) {
        /* A short run at a time, so that an actor that ends does not wait for all of them. */
        uint64_t last = done + 32 < count ? done + 32 : count;
        atomic_fetch_add_explicit(&to->posting, 1, memory_order_seq_cst);
        if (!accepts(to))
            *result = GL_INACTIVE;
        while (!*result && done < last) {
            *result = put(to, letter, next, alone);
            if (*result)
                break;
            letter->clock.logical++;
            next += letter->payload_bytes;
            done++;
        }
        atomic_fetch_sub_explicit(&to->posting, 1, memory_order_release);
        gl_schedule(to);
    }
    return done;
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

/* Keep a dead message; the oldest goes where there are too many, and is counted as lost. */
void gl_bury(gl_engine *engine, uint64_t actor, const gl_letter *letter, const void *payload,
             uint32_t reason)
{
    gl_dead *dead = malloc(sizeof(gl_dead) + letter->payload_bytes);
    gl_dead *evicted = NULL;
    pthread_mutex_lock(&engine->dead_mutex);
    engine->dead_total++;
    if (!dead) {
        engine->dead_lost++;
        pthread_mutex_unlock(&engine->dead_mutex);
        return;
    }
    memset(dead, 0, sizeof(gl_dead));
    dead->actor = actor;
    dead->header.magic = GL_MAGIC;
    dead->header.version = GL_VERSION;
    dead->header.flags = (uint16_t)letter->flags;
    dead->header.type = letter->type;
    dead->header.source = letter->source;
    dead->header.destination = letter->destination;
    dead->header.correlation = letter->correlation;
    dead->header.reply_to = letter->reply_to;
    dead->header.payload_bytes = letter->payload_bytes;
    dead->header.clock = letter->clock;
    dead->header.deadline = letter->deadline;
    dead->header.topic = letter->topic;
    dead->header.hops = letter->hops;
    dead->header.attempt = letter->attempt;
    dead->header.reason = reason;
    dead->header.trace = letter->trace;
    dead->header.span = letter->span;
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

/* The message of a slot is dead. */
void gl_bury_slot(gl_actor *actor, const gl_header *slot, uint32_t reason)
{
    gl_letter letter;
    gl_letter_of(&letter, slot);
    gl_bury(actor->engine, actor->id, &letter, (const uint8_t *)slot + sizeof(gl_header), reason);
    atomic_fetch_add_explicit(&actor->control->dead, 1, memory_order_relaxed);
}

/* The same, and tell the caller who waits for its answer. */
void gl_refuse_slot(gl_actor *actor, const gl_header *slot, uint32_t reason)
{
    gl_bury_slot(actor, slot, reason);
    if (slot->reply_to & GL_TO_WAITER)
        gl_answer(actor->engine, slot->reply_to, 0, &slot->clock, NULL, 0, reason);
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

/* Let `sender` be scheduled when `full` has room; 0 where it has some by now. */
int gl_block_on(gl_actor *sender, gl_actor *full)
{
    if (atomic_load(&sender->waiting))
        return 1; /* it has been run for another reason, and is in the list still */
    pthread_mutex_lock(&full->mutex);
    if (full->blocked_count == full->blocked_room) {
        uint32_t room = full->blocked_room ? 2 * full->blocked_room : 8;
        gl_actor **more = realloc(full->blocked, room * sizeof *more);
        if (!more) {
            pthread_mutex_unlock(&full->mutex);
            return 0; /* try again at once, as without memory there is no list to wait in */
        }
        full->blocked = more;
        full->blocked_room = room;
    }
    full->blocked[full->blocked_count++] = sender;
    atomic_store(&sender->waiting, 1);
    atomic_store_explicit(&full->has_blocked, 1, memory_order_seq_cst);
    pthread_mutex_unlock(&full->mutex);
    atomic_thread_fence(memory_order_seq_cst);
    if (is_full(full) && (atomic_load_explicit(&full->phase, memory_order_seq_cst) & GL_ACCEPTS))
        return 1;
    gl_unblock(full);
    return 1;
}

/* Schedule the senders that wait for room in an inbox. */
void gl_unblock(gl_actor *actor)
{
    gl_actor **list;
    uint32_t count;
    atomic_thread_fence(memory_order_seq_cst);
    if (!atomic_load_explicit(&actor->has_blocked, memory_order_relaxed))
        return;
    pthread_mutex_lock(&actor->mutex);
    list = actor->blocked;
    count = actor->blocked_count;
    actor->blocked = NULL;
    actor->blocked_count = actor->blocked_room = 0;
    atomic_store_explicit(&actor->has_blocked, 0, memory_order_relaxed);
    pthread_mutex_unlock(&actor->mutex);
    for (uint32_t n = 0; n < count; n++) {
        atomic_store(&list[n]->waiting, 0);
        gl_schedule(list[n]);
    }
    free(list);
}
