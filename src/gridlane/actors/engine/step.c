/* One step of an actor: a batch of its messages, and the delivery of its handler's outputs.

   Lifetime: the slots of the batch stay until every output is delivered, because outputs refer to
   their messages, and so nothing is lost where a receiver is full. Only where actors in a cycle
   would wait for each other are they released earlier, and their headers copied. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "engine.h"

static gl_output *output_at(const gl_actor *actor, uint32_t number)
{
    return (gl_output *)(actor->output + (size_t)number * actor->output_bytes);
}

int gl_step_allowed(const gl_actor *actor)
{
    uint32_t phase = atomic_load_explicit(&actor->phase, memory_order_seq_cst);
    return (phase & (GL_RUNS | GL_HAS_FAILED)) == GL_RUNS;
}

/* ---- the memory of outputs: resident after its first use, and returned to the system after the
   step, as most actors use little of it */

int gl_outputs_init(gl_actor *actor, uint32_t outputs, uint32_t output_bytes)
{
    size_t bytes = (size_t)outputs * output_bytes;
    void *memory = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return -1;
    actor->output = memory;
    actor->outputs = outputs;
    actor->output_bytes = output_bytes;
    return 0;
}

void gl_outputs_free(gl_actor *actor)
{
    size_t bytes = (size_t)actor->outputs * actor->output_bytes;
    if (actor->output)
        munmap(actor->output, bytes ? bytes : 1);
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

/* Select the next messages and write them to the kernel's info; returns their number. The outputs
   of the last step are delivered. */
uint32_t gl_step_begin(gl_actor *actor, uint64_t now)
{
    uint64_t head = atomic_load_explicit(&actor->inbox.inbox->head, memory_order_relaxed);
    uint32_t count = 0, refused = 0;
    uint64_t posted = 0, together = 0; /* adjacent messages that were sent at the same time */
    actor->begun = now;
    while (count < actor->batch && gl_queue_has(&actor->inbox, head + count)) {
        gl_header *slot = gl_slot(&actor->inbox, head + count);
        uint64_t sent = slot->clock.physical;
        uint32_t reason;
        if (usable(actor, slot, now, &reason)) {
            if (sent != posted && together) {
                gl_note(&actor->latencies->wait, gl_between(posted, now), together);
                together = 0;
            }
            posted = sent;
            together++;
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
    gl_note(&actor->latencies->wait, gl_between(posted, now), together);
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

/* The header of a message of this step. */
static const gl_header *asked_at(const gl_actor *actor, uint32_t number)
{
    uint64_t head = atomic_load_explicit(&actor->inbox.inbox->head, memory_order_relaxed);
    return actor->settled ? &actor->asked[number] : gl_slot(&actor->inbox, head + number);
}

static void release_handled(gl_actor *actor)
{
    gl_queue_release_many(&actor->inbox, actor->handled);
    atomic_fetch_add_explicit(&actor->control->received, actor->handled, memory_order_relaxed);
}

/* Release the slots of the handled messages before their outputs are delivered, and copy their
   headers; 0 where that is done already. */
static int settle(gl_actor *actor)
{
    if (actor->settled || !actor->handled)
        return 0;
    if (!actor->asked && !(actor->asked = calloc(actor->batch, sizeof *actor->asked)))
        return 0;
    for (uint32_t n = 0; n < actor->handled; n++)
        memcpy(&actor->asked[n], asked_at(actor, n), sizeof *actor->asked);
    release_handled(actor);
    actor->settled = 1;
    gl_unblock(actor);
    return 1;
}

static int bury_for(gl_actor *to, const gl_letter *letter, const void *payload, uint32_t reason)
{
    gl_bury(to->engine, to->id, letter, payload, reason);
    atomic_fetch_add_explicit(&to->control->dead, 1, memory_order_relaxed);
    return 1;
}

/* Deliver to an actor: 1, or 0 if it waits for room there. */
static int deliver(gl_actor *from, gl_actor *to, gl_letter *letter, const void *payload)
{
    for (;;) {
        int result = gl_post(to, letter, payload, 0);
        if (result == GL_POSTED)
            return 1;
        if (result != GL_IS_FULL)
            return bury_for(to, letter, payload, (uint32_t)result);
        if (from->full == GL_DEAD)
            return bury_for(to, letter, payload, GL_FULL);
        if (from->wire)
            return 0; /* the thread of resident kernels retries */
        int blocked = gl_block_on(from, to);
        if (blocked == GL_IS_BLOCKED)
            return 0;
        if (blocked == GL_IS_CYCLE && !settle(from))
            return bury_for(to, letter, payload, GL_CYCLE);
    }
}

/* A reply to the host: a message that no actor handles. */
static void trace_answer(const gl_actor *actor, gl_letter *letter)
{
    gl_trace *trace = gl_tracing(actor->engine);
    if (!trace)
        return;
    letter->span = gl_trace_span(trace);
    gl_trace_put(trace, &(gl_traced){GL_EVENT_ANSWER, gl_now(), 0, actor->id, 0, letter->trace,
                                     letter->span});
}

/* Deliver a reply to the actor or caller that waits for it. */
static int reply(gl_actor *actor, const gl_header *asked, gl_letter *letter, const void *payload)
{
    gl_engine *engine = actor->engine;
    uint64_t to = asked->reply_to, ticket;
    letter->flags = GL_IS_REPLY;
    letter->correlation = asked->correlation;
    letter->destination = asked->source;
    if (!to)
        return 1; /* the sender wants no reply */
    if (to & GL_TO_WAITER) {
        trace_answer(actor, letter);
        if (gl_answer(engine, to, letter->type, &letter->clock, payload, letter->payload_bytes, 0))
            gl_bury(engine, actor->id, letter, payload, GL_LATE);
        return 1;
    }
    if (to & GL_TO_OUTSIDE) {
        trace_answer(actor, letter);
        if (gl_gate_answer(engine, to, asked->correlation, &letter->clock, payload,
                           letter->payload_bytes, 0))
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
    trace_answer(actor, letter);
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
    gl_wake_receivers(engine);
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
    /* In the order of their numbers: the table may be replaced during a wait. */
    for (uint32_t n = 0; n < topic->count; n++) {
        gl_actor *to = topic->subscribers[n];
        if (to->id < actor->subscriber)
            continue;
        if (!deliver(actor, to, letter, payload)) {
            actor->subscriber = to->id;
            return 0;
        }
    }
    actor->subscriber = 0;
    return 1;
}

/* Deliver an emitted message; 0 if the actor waits for room somewhere. */
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
    const gl_header *asked = asked_at(actor, output->message);
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
    /* Order: Python must see the failure before its caller does, because the caller reads the
       reason from Python. */
    atomic_store_explicit(&control->error, (uint32_t)actor->code, memory_order_release);
    atomic_fetch_or(&actor->phase, GL_HAS_FAILED);
    atomic_fetch_add_explicit(&control->failed, 1, memory_order_relaxed);
    uint32_t reason = gl_failed(actor);
    actor->code = 0;
    gl_event(actor);
    gl_bury_slot(actor, gl_slot(&actor->inbox, head), GL_FAILED);
    gl_refuse_caller(actor, gl_slot(&actor->inbox, head), reason);
    gl_queue_release(&actor->inbox);
}

static void finish(gl_actor *actor)
{
    for (uint32_t n = 0; n < actor->handled; n++)
        gl_refuse_caller(actor, asked_at(actor, n), GL_UNANSWERED);
    if (!actor->settled)
        release_handled(actor);
    atomic_fetch_add_explicit(&actor->control->answered, actor->pending, memory_order_relaxed);
    actor->handled = actor->pending = actor->sent = actor->settled = 0;
    if (actor->code)
        fail(actor);
    gl_unblock(actor);
}

static int flush(gl_actor *actor, uint64_t now)
{
    while (actor->sent < actor->pending) {
        const gl_output *output = output_at(actor, actor->sent);
        /* Outputs of the failed message are not sent. */
        if (output->message < actor->handled && !send_output(actor, output, now))
            return 0;
        actor->sent++;
    }
    finish(actor);
    return 1;
}

/* Deliver the remaining outputs; 0 if the actor waits for room somewhere. */
int gl_flush(gl_actor *actor)
{
    if (!actor->handled && !actor->pending && !actor->code)
        return 1;
    return flush(actor, gl_now());
}

/* The step's time is divided over its messages. */
static void note_handling(gl_actor *actor, uint32_t messages, uint64_t now)
{
    uint64_t each = gl_between(actor->begun, now) / messages, begin = actor->begun;
    gl_trace *trace = gl_tracing(actor->engine);
    uint64_t head = atomic_load_explicit(&actor->inbox.inbox->head, memory_order_relaxed);
    gl_note(&actor->latencies->handling, each, messages);
    for (uint32_t n = 0; trace && n < messages; n++, begin += each) {
        const gl_header *slot = gl_slot(&actor->inbox, head + n);
        gl_trace_put(trace, &(gl_traced){GL_EVENT_HANDLE, begin, begin + each, slot->source,
                                         actor->id, slot->trace, slot->span});
    }
}

/* Called after the kernel, whose error is `code`. */
void gl_step_end(gl_actor *actor, int code)
{
    uint32_t count = (uint32_t)actor->info[GL_COUNT];
    uint32_t handled = (uint32_t)actor->info[GL_HANDLED];
    uint32_t emitted = (uint32_t)actor->info[GL_EMITTED];
    uint64_t now = gl_now();
    atomic_store_explicit(&actor->control->busy, 0, memory_order_release);
    actor->handled = handled < count ? handled : count;
    if (code && actor->handled == count)
        code = 0; /* every message was handled: the stop came too late */
    actor->pending = emitted < actor->outputs ? emitted : actor->outputs;
    actor->sent = actor->subscriber = 0;
    actor->code = code;
    if (actor->handled || code)
        note_handling(actor, actor->handled + (code != 0), now);
    if (actor->handled || actor->pending || code)
        flush(actor, now);
}
