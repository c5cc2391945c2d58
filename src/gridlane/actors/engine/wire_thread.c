/* The thread that delivers messages of resident kernels, except to waiting callers, and the orders
   to these kernels. It spins while there is work, then sleeps for growing times: a poll takes cache
   lines from the device that writes them. */
#include <stdlib.h>
#include <string.h>

#include "wire.h"

#define SPINS 2000           /* polls without work before it sleeps */
#define SHORTEST 20000u      /* nanoseconds of its first sleep */
#define LONGEST 200000u      /* and of the longest */
#define QUIET 20000000ull    /* nanoseconds without a heartbeat, of a kernel that handles a message */
#define TURN 64              /* messages of one actor in a row */

/* ---- messages of a kernel */

/* Read the next message of the kernel's ring into `letter`; 0 if it is not complete. */
int gl_wire_read(gl_wire *wire)
{
    uint64_t ticket = wire->out_head;
    const gl_chunk *slot = gl_place_of(wire->out, ticket, wire->out_shift, wire->out_slot);
    uint32_t sequence = gl_sequence_of(ticket, wire->out_shift);
    gl_wire_header header;
    if (!gl_peek(slot, wire->letter, GL_HEADER_CHUNKS, sequence))
        return 0;
    memcpy(&header, wire->letter, sizeof header);
    uint32_t count = ((header.bytes + 3u) / 4 + 2) / 3; /* chunks of the payload */
    return GL_PIECE * (GL_HEADER_CHUNKS + count) <= wire->letter_bytes
           && gl_peek(slot + GL_HEADER_CHUNKS, wire->letter + sizeof header, count, sequence);
}

static int next_letter(gl_wire *wire)
{
    if (!wire->kept)
        return gl_wire_read(wire);
    memcpy(wire->letter, wire->kept->letter, wire->kept->bytes);
    return 1;
}

/* The letter is delivered. */
static void pop(gl_wire *wire)
{
    gl_kept *kept = wire->kept;
    if (kept) {
        wire->kept = kept->next;
        free(kept);
        atomic_fetch_sub(&wire->kept_count, 1);
    } else {
        atomic_store_explicit(&wire->orders->out_head, ++wire->out_head, memory_order_release);
    }
}

/* Whether a message must not be delivered at the end, because earlier ones are still on the
   device. */
static int is_shut(const gl_wire *wire, uint32_t kind, const gl_wire_header *header)
{
    uint64_t to = kind == GL_REPLY ? header->reply_to : header->source;
    for (uint32_t n = 0; kind != GL_PUBLISH && n < wire->shut_count; n++)
        if (wire->shut[n] == to)
            return 1;
    return 0;
}

/* Deliver one message of the kernel; 0 if there is none, or no room for it. With `last`, a message
   without room is a dead letter, and dammed messages go to receivers that are not shut. */
static int deliver_one(gl_actor *actor, int last)
{
    gl_wire *wire = actor->wire;
    if (!next_letter(wire))
        return 0;
    gl_wire_header header;
    gl_letter letter;
    memcpy(&header, wire->letter, sizeof header);
    gl_wire_letter(&letter, &header);
    uint32_t kind = gl_kind_of(&header), reason = header.flags >> GL_REASON_SHIFT;
    const void *payload = wire->letter + sizeof header;
    if (kind == GL_UNHANDLED) {
        letter.destination = actor->id;
        gl_wire_refuse(actor, &letter, payload, reason);
    } else {
        gl_header asked = {.source = header.source, .correlation = header.correlation,
                           .reply_to = header.reply_to};
        letter.source = actor->id;
        actor->clock = letter.clock;
        if ((last && is_shut(wire, kind, &header)) || !gl_hand_over(actor, kind, header.source, &asked, &letter, payload)) {
            if (!last)
                return 0;
            gl_bury(actor->engine, header.source, &letter, payload, GL_FULL);
            actor->subscriber = 0;
        }
    }
    pop(wire);
    return 1;
}

/* Whether the kernel waits, without a heartbeat, until the host has read its messages. */
static int waits_for_host(const gl_wire *wire)
{
    uint64_t last = wire->out_head + (1ull << wire->out_shift) - 1;
    const gl_chunk *slot = gl_place_of(wire->out, last, wire->out_shift, wire->out_slot);
    uint8_t piece[GL_PIECE];
    return gl_peek_chunk(slot, piece, gl_sequence_of(last, wire->out_shift));
}

static void watch(gl_actor *actor, uint64_t now)
{
    gl_wire *wire = actor->wire;
    gl_control *control = actor->control;
    /* A kernel that polls for messages writes heartbeats all the time, and after each message. */
    uint64_t beats = atomic_load_explicit(&wire->status->beats, memory_order_relaxed)
                     + (atomic_load_explicit(&control->received, memory_order_relaxed) << 32);
    int still = wire->resident && beats == wire->beats && !waits_for_host(wire);
    if (!still)
        atomic_store_explicit(&actor->since, 0, memory_order_relaxed);
    else if (!atomic_load_explicit(&actor->since, memory_order_relaxed))
        atomic_store_explicit(&actor->since, now, memory_order_relaxed);
    uint64_t since = atomic_load_explicit(&actor->since, memory_order_relaxed);
    atomic_store_explicit(&control->busy, since && now - since > QUIET, memory_order_relaxed);
    wire->beats = beats;
    atomic_store_explicit(&control->heartbeat, beats & UINT32_MAX, memory_order_relaxed);
    if (wire->resident && wire->raised && !atomic_load(&control->error)) {
        uint32_t code = atomic_load_explicit(wire->raised, memory_order_acquire);
        if (code)
            gl_wire_fail(actor, code);
    }
}

/* Note which messages of the host are handled. */
static void hear(gl_actor *actor)
{
    gl_wire *wire = actor->wire;
    uint64_t head = atomic_load_explicit(&wire->status->head, memory_order_acquire);
    gl_wire_trace_handled(actor, head);
    if (head != wire->heard_of) {
        wire->heard_of = head;
        gl_wire_length(actor);
        gl_unblock(actor);
    }
}

/* Note what is handled by now, for a trace that ends. */
void gl_wire_hear(gl_engine *engine)
{
    pthread_mutex_lock(&engine->wire_mutex);
    for (uint32_t n = 0; n < engine->wire_count; n++)
        hear(engine->wires[n]);
    pthread_mutex_unlock(&engine->wire_mutex);
}

/* Poll one actor; returns whether there was work. With `last`, messages without room are dead
   letters. */
int gl_wire_poll(gl_actor *actor, int last)
{
    gl_wire *wire = actor->wire;
    uint64_t now = gl_elapsed();
    int found = 0;
    while (found < TURN && !wire->dams && deliver_one(actor, last))
        found++;
    watch(actor, now);
    if (atomic_load_explicit(&wire->left, memory_order_relaxed))
        gl_wire_tidy(actor, now);
    hear(actor);
    return found;
}

static void *work(void *argument)
{
    gl_engine *engine = argument;
    uint32_t idle = 0;
    while (!atomic_load_explicit(&engine->stop, memory_order_acquire)) {
        int found = 0;
        pthread_mutex_lock(&engine->wire_mutex);
        for (uint32_t n = 0; n < engine->wire_count; n++)
            found |= gl_wire_poll(engine->wires[n], 0);
        pthread_mutex_unlock(&engine->wire_mutex);
        if (found)
            idle = 0;
        else
            gl_back_off(++idle, SPINS, SHORTEST, LONGEST);
    }
    return NULL;
}

int gl_wire_start(gl_engine *engine)
{
    int failed = 0;
    pthread_mutex_lock(&engine->mutex);
    if (!engine->wire_started && !(failed = gl_start_thread(&engine->wire_thread, work, engine)))
        engine->wire_started = 1;
    pthread_mutex_unlock(&engine->mutex);
    return failed ? -1 : 0;
}

int gl_wire_add(gl_actor *actor)
{
    gl_engine *engine = actor->engine;
    int poor = 0;
    pthread_mutex_lock(&engine->wire_mutex);
    if (engine->wire_count == engine->wire_room) {
        uint32_t room = engine->wire_room ? 2 * engine->wire_room : 16;
        gl_actor **more = realloc(engine->wires, room * sizeof *more);
        poor = !more;
        if (more) {
            engine->wires = more;
            engine->wire_room = room;
        }
    }
    if (!poor)
        engine->wires[engine->wire_count++] = actor;
    pthread_mutex_unlock(&engine->wire_mutex);
    return poor ? -1 : gl_wire_start(engine);
}

/* Stop polling an actor whose kernel has ended. Deliver its messages first, except to receivers
   that are `shut`, by numbers and keys of names. */
void gl_wire_remove(gl_actor *actor, const uint64_t *shut, uint32_t count)
{
    gl_engine *engine = actor->engine;
    pthread_mutex_lock(&engine->wire_mutex);
    for (uint32_t n = 0; n < engine->wire_count; n++)
        if (engine->wires[n] == actor) {
            engine->wires[n] = engine->wires[--engine->wire_count];
            actor->wire->shut = shut;
            actor->wire->shut_count = count;
            while (deliver_one(actor, 1))
                continue;
            actor->wire->shut_count = 0;
            break;
        }
    pthread_mutex_unlock(&engine->wire_mutex);
}

/* ---- orders */

/* Write the order that follows from the actor's phase. */
void gl_wire_order(gl_actor *actor)
{
    gl_wire *wire = actor->wire;
    pthread_mutex_lock(&actor->mutex);
    uint32_t runs = gl_step_allowed(actor) && !wire->holds;
    uint32_t now = atomic_load(&wire->orders->order);
    uint32_t kind = wire->stopping  ? GL_STOP
                    : wire->leaving ? GL_LEAVE
                    : runs          ? GL_RUN
                                    : GL_PARK;
    if ((now & 3) != kind)
        atomic_store(&wire->orders->order, 4 * ++wire->number | kind);
    pthread_mutex_unlock(&actor->mutex);
}

/* Whether the kernel follows the last order. */
int gl_wire_follows(const gl_actor *actor)
{
    const gl_wire *wire = actor->wire;
    return !wire->resident
           || atomic_load(&wire->status->order) == atomic_load(&wire->orders->order);
}

static int waits_until_it_follows(const gl_actor *actor, uint64_t until)
{
    for (uint32_t tries = 0; !gl_wire_follows(actor); tries++) {
        if (gl_elapsed() >= until)
            return 0;
        gl_back_off(tries, 1000, 20000, 20000);
    }
    return 1;
}

/* Write the last order again, under a new number. */
static void order_again(gl_actor *actor)
{
    gl_wire *wire = actor->wire;
    pthread_mutex_lock(&actor->mutex);
    atomic_store(&wire->orders->order, 4 * ++wire->number | (atomic_load(&wire->orders->order) & 3));
    pthread_mutex_unlock(&actor->mutex);
}

/* Keep the kernel from its next message until gl_wire_release; 0 where it does not follow in time.

   Memory order: the kernel publishes its positions beside the number of the order that it follows,
   and the host may see either first. The kernel executes a fence before it follows a second order,
   so after that all positions are there. */
int gl_wire_hold(gl_actor *actor, uint64_t until)
{
    int held;
    pthread_mutex_lock(&actor->mutex);
    actor->wire->holds++;
    pthread_mutex_unlock(&actor->mutex);
    gl_wire_order(actor);
    held = waits_until_it_follows(actor, until);
    if (held && actor->wire->resident) {
        order_again(actor);
        held = waits_until_it_follows(actor, until);
    }
    if (!held)
        gl_wire_release(actor);
    return held;
}

void gl_wire_release(gl_actor *actor)
{
    pthread_mutex_lock(&actor->mutex);
    actor->wire->holds--;
    pthread_mutex_unlock(&actor->mutex);
    gl_wire_order(actor);
}

/* Request that the handler give up its message, unless there is a heartbeat since then (0: in any
   case); returns whether it was requested. A handler whose loops poll later than that is not
   meant. */
int gl_wire_give_up(gl_actor *actor, uint64_t since)
{
    pthread_mutex_lock(&actor->engine->wire_mutex);
    watch(actor, gl_elapsed());
    int asked = actor->wire->resident && (!since || atomic_load(&actor->since) == since);
    if (asked)
        atomic_fetch_add(&actor->wire->orders->requests, 1);
    pthread_mutex_unlock(&actor->engine->wire_mutex);
    return asked;
}

/* The kernel has ended with an error: Python handles it. */
void gl_wire_fail(gl_actor *actor, uint32_t code)
{
    atomic_store_explicit(&actor->control->error, code, memory_order_release);
    atomic_fetch_or(&actor->phase, GL_HAS_FAILED);
    atomic_fetch_add_explicit(&actor->control->failed, 1, memory_order_relaxed);
    gl_event(actor);
}
