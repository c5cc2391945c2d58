/* One step of an actor: a batch of its messages, and the delivery of what its handler emitted.

   The slots of the batch are kept until every output is delivered, because outputs refer to their
   messages, and so that nothing is lost where a receiver is full. */
#include <string.h>

#include "engine.h"

static gl_output *output_at(const gl_actor *actor, uint32_t number)
{
    return (gl_output *)(actor->output + (size_t)number * actor->output_bytes);
}

int gl_step_allowed(const gl_actor *actor)
{
    return (atomic_load_explicit(&actor->phase, memory_order_seq_cst) & GL_RUNS) != 0;
}

/* ---- the batch */

static int usable(gl_actor *actor, const gl_header *slot, uint64_t now, uint32_t *reason)
{
    if (slot->deadline && slot->deadline < now)
        *reason = GL_EXPIRED;
    else if (gl_clock_merge(&actor->clock, &slot->clock, now, actor->engine->drift))
        *reason = GL_DRIFTED;
    else
        return 1;
    return 0;
}

/* Find the next messages and tell the kernel; the number of them. The outputs of the last step are
   delivered. */
uint32_t gl_step_begin(gl_actor *actor, uint64_t now)
{
    uint64_t head = atomic_load_explicit(&actor->inbox.inbox->head, memory_order_relaxed);
    uint32_t count = 0, refused = 0;
    while (count < actor->batch && gl_queue_has(&actor->inbox, head + count)) {
        gl_header *slot = gl_slot(&actor->inbox, head + count);
        uint32_t reason;
        if (usable(actor, slot, now, &reason)) {
            slot->clock = actor->clock;
            count++;
        } else if (count) {
            break; /* it is the first of the next batch */
        } else {
            gl_refuse_slot(actor, slot, reason);
            gl_queue_release(&actor->inbox);
            head++;
            refused = 1;
        }
    }
    if (refused)
        gl_unblock(actor);
    if (!count)
        return 0;
    gl_queue_note_high(&actor->inbox);
    actor->info[GL_FIRST] = (int32_t)(head & actor->inbox.mask);
    actor->info[GL_COUNT] = (int32_t)count;
    actor->info[GL_HANDLED] = 0;
    actor->info[GL_EMITTED] = 0;
    atomic_fetch_add_explicit(&actor->control->heartbeat, 1, memory_order_relaxed);
    atomic_store_explicit(&actor->control->last_message, head, memory_order_relaxed);
    atomic_store_explicit(&actor->control->busy, 1, memory_order_release);
    return count;
}

/* ---- the outputs */

/* Deliver to an actor: 1, or 0 if it waits for room there. */
static int deliver(gl_actor *from, gl_actor *to, gl_letter *letter, const void *payload)
{
    int result;
    do {
        result = gl_post(to, letter, payload, 0);
        if (result == GL_POSTED)
            return 1;
        if (result != GL_IS_FULL) {
            gl_bury(from->engine, to->id, letter, payload, (uint32_t)result);
            atomic_fetch_add_explicit(&to->control->dead, 1, memory_order_relaxed);
            return 1;
        }
        if (from->full == GL_DEAD) {
            gl_bury(from->engine, to->id, letter, payload, GL_FULL);
            atomic_fetch_add_explicit(&to->control->dead, 1, memory_order_relaxed);
            return 1;
        }
    } while (!gl_block_on(from, to));
    return 0;
}

/* Deliver a reply to whoever waits for it. */
static int reply(gl_actor *actor, const gl_header *asked, gl_letter *letter, const void *payload)
{
    gl_engine *engine = actor->engine;
    uint64_t to = asked->reply_to, ticket;
    letter->flags = GL_IS_REPLY;
    letter->correlation = asked->correlation;
    letter->destination = asked->source;
    if (!to)
        return 1; /* the sender said that it wants none */
    if (to & GL_TO_WAITER) {
        if (gl_answer(engine, to, letter->type, &letter->clock, payload, letter->payload_bytes, 0))
            gl_bury(engine, actor->id, letter, payload, GL_LATE);
        return 1;
    }
    if (!(to & GL_TO_OUTBOX)) {
        gl_actor *asker = gl_find_route(engine, to);
        letter->reply_to = 0;
        if (asker)
            return deliver(actor, asker, letter, payload);
        gl_bury(engine, to, letter, payload, GL_NO_ACTOR);
        return 1;
    }
    gl_header *slot = gl_queue_claim(&actor->outbox, &ticket);
    if (!slot) {
        gl_bury(engine, actor->id, letter, payload, GL_UNREAD);
        atomic_fetch_add_explicit(&actor->control->dead, 1, memory_order_relaxed);
        return 1;
    }
    memset(slot, 0, 56);
    slot->magic = GL_MAGIC;
    slot->version = GL_VERSION;
    slot->flags = GL_IS_REPLY;
    slot->type = letter->type;
    slot->source = actor->id;
    slot->correlation = letter->correlation;
    slot->payload_bytes = letter->payload_bytes;
    slot->clock = letter->clock;
    slot->trace = letter->trace;
    slot->span = letter->span;
    memcpy((uint8_t *)slot + sizeof(gl_header), payload, letter->payload_bytes);
    gl_queue_publish(&actor->outbox, slot, ticket);
    if (atomic_load(&engine->answer_parked)) {
        pthread_mutex_lock(&engine->answer_mutex);
        pthread_cond_broadcast(&engine->answered);
        pthread_mutex_unlock(&engine->answer_mutex);
    }
    return 1;
}

static int publish(gl_actor *actor, uint64_t key, gl_letter *letter, const void *payload)
{
    const gl_topic *topic = gl_find_topic(atomic_load(&actor->engine->topics), key);
    letter->flags = GL_IS_PUBLISHED;
    letter->topic = key;
    if (!topic) {
        gl_bury(actor->engine, actor->id, letter, payload, GL_NO_TOPIC);
        return 1;
    }
    while (actor->subscriber < topic->count) {
        if (!deliver(actor, topic->subscribers[actor->subscriber], letter, payload))
            return 0;
        actor->subscriber++;
    }
    actor->subscriber = 0;
    return 1;
}

/* Deliver what a handler has emitted; 0 if the actor waits for room somewhere. */
int gl_hand_over(gl_actor *from, uint32_t kind, uint64_t key, const gl_header *asked,
                 gl_letter *letter, const void *payload)
{
    if (kind == GL_REPLY)
        return reply(from, asked, letter, payload);
    letter->reply_to = from->id;
    letter->correlation = asked->correlation;
    if (kind == GL_PUBLISH) {
        letter->reply_to = 0;
        return publish(from, key, letter, payload);
    }
    gl_actor *to = gl_find_route(from->engine, key);
    if (to)
        return deliver(from, to, letter, payload);
    gl_bury(from->engine, key, letter, payload, GL_NO_ACTOR);
    return 1;
}

static int send_output(gl_actor *actor, const gl_output *output, uint64_t now)
{
    uint64_t head = atomic_load_explicit(&actor->inbox.inbox->head, memory_order_relaxed);
    const gl_header *asked = gl_slot(&actor->inbox, head + output->message);
    gl_letter letter = {.type = output->type, .source = actor->id, .payload_bytes = output->payload_bytes,
                        .trace = asked->trace, .hops = asked->hops + 1};
    if (!actor->subscriber)
        gl_clock_tick(&actor->clock, now);
    letter.clock = actor->clock;
    letter.span = actor->id;
    return gl_hand_over(actor, output->kind, output->key, asked, &letter, output + 1);
}

/* ---- the end */

static void fail(gl_actor *actor)
{
    gl_control *control = actor->control;
    uint64_t head = atomic_load_explicit(&actor->inbox.inbox->head, memory_order_relaxed);
    /* Python must know of the failure before its caller does, who asks Python for the reason. */
    atomic_store_explicit(&control->error, (uint32_t)actor->code, memory_order_release);
    atomic_fetch_and(&actor->phase, ~(uint32_t)GL_RUNS);
    atomic_fetch_add_explicit(&control->failed, 1, memory_order_relaxed);
    actor->code = 0;
    gl_event(actor);
    gl_refuse_slot(actor, gl_slot(&actor->inbox, head), GL_FAILED);
    gl_queue_release(&actor->inbox);
}

static void finish(gl_actor *actor)
{
    gl_control *control = actor->control;
    for (uint32_t n = 0; n < actor->handled; n++)
        gl_queue_release(&actor->inbox);
    atomic_fetch_add_explicit(&control->received, actor->handled, memory_order_relaxed);
    atomic_fetch_add_explicit(&control->answered, actor->pending, memory_order_relaxed);
    actor->handled = actor->pending = actor->sent = 0;
    if (actor->code)
        fail(actor);
    gl_unblock(actor);
}

/* Deliver the outputs that are left; 0 if the actor waits for room somewhere. */
int gl_flush(gl_actor *actor)
{
    uint64_t now;
    if (!actor->handled && !actor->pending && !actor->code)
        return 1;
    now = gl_now();
    while (actor->sent < actor->pending) {
        const gl_output *output = output_at(actor, actor->sent);
        /* What a failing message emitted is not sent. */
        if (output->message < actor->handled && !send_output(actor, output, now))
            return 0;
        actor->sent++;
    }
    finish(actor);
    return 1;
}

/* After the kernel, whose error is `code`. */
void gl_step_end(gl_actor *actor, int code)
{
    uint32_t count = (uint32_t)actor->info[GL_COUNT];
    uint32_t handled = (uint32_t)actor->info[GL_HANDLED];
    uint32_t emitted = (uint32_t)actor->info[GL_EMITTED];
    atomic_store_explicit(&actor->control->busy, 0, memory_order_release);
    actor->handled = handled < count ? handled : count;
    if (code && actor->handled == count)
        code = 0; /* every message is handled: the stop came too late */
    actor->pending = emitted < actor->outputs ? emitted : actor->outputs;
    actor->sent = actor->subscriber = 0;
    actor->code = code;
    gl_flush(actor);
}
