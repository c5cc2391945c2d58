/* Callers of resident kernels: a caller has a place, into which the kernel writes the answer.

   The sequence word of an answer is the place's generation + 1. A caller who gives up leaves the
   place. No other caller gets it until the late answer is there, or cannot arrive any more. */
#include <string.h>

#include "wire.h"

#define LATEST 1000000000ull /* nanoseconds after which a handled message gets no answer */

static const gl_chunk *answer_at(const gl_wire *wire, uint64_t reply_to)
{
    return (const gl_chunk *)(wire->answers + (uint64_t)gl_number_of(reply_to) * wire->answer_bytes);
}

/* Allocate a place; 0 if there is none. */
int gl_wire_claim(gl_wire *wire, uint64_t *reply_to)
{
    uint64_t free = atomic_load_explicit(&wire->free, memory_order_relaxed);
    uint32_t number;
    do {
        if (!free)
            return 0;
        number = (uint32_t)__builtin_ctzll(free);
    } while (!atomic_compare_exchange_weak_explicit(&wire->free, &free, free & ~(1ull << number),
                                                    memory_order_acquire, memory_order_relaxed));
    gl_place *place = &wire->place[number];
    place->generation = (place->generation + 1) & GL_GENERATIONS;
    *reply_to = GL_TO_WAITER | GL_DIRECT | (uint64_t)place->generation << GL_NUMBER_BITS | number;
    return 1;
}

/* Whether the complete answer is there; or the reason why there is none. */
int gl_wire_answered(const gl_wire *wire, uint64_t reply_to, gl_wire_answer *answer, uint32_t *reason)
{
    const gl_chunk *chunk = answer_at(wire, reply_to);
    uint32_t sequence = gl_generation_of(reply_to) + 1;
    uint8_t header[GL_ANSWER_CHUNKS * GL_PIECE], piece[GL_PIECE];
    if (!gl_peek_chunk(chunk, header, sequence)) {
        uint64_t refused = atomic_load_explicit(
            &wire->place[gl_number_of(reply_to)].refused, memory_order_acquire);
        if (!refused || (refused >> 8 & GL_GENERATIONS) != gl_generation_of(reply_to))
            return 0;
        *reason = (uint32_t)(refused & 0xFF) | (uint32_t)(refused >> 37) << 8;
        return 1;
    }
    if (!gl_peek(chunk + 1, header + GL_PIECE, GL_ANSWER_CHUNKS - 1, sequence))
        return 0;
    memcpy(answer, header, sizeof header);
    uint32_t words = (answer->bytes + 3) / 4;
    for (uint32_t n = 0; n < (words + 2) / 3; n++)
        if (!gl_peek_chunk(chunk + GL_ANSWER_CHUNKS + n, piece, sequence))
            return 0;
    *reason = 0;
    return 1;
}

void gl_wire_read_answer(const gl_wire *wire, uint64_t reply_to, uint32_t bytes, void *payload)
{
    const gl_chunk *chunk = answer_at(wire, reply_to) + GL_ANSWER_CHUNKS;
    uint8_t *next = payload;
    for (; bytes >= GL_PIECE; bytes -= GL_PIECE, next += GL_PIECE, chunk++)
        memcpy(next, chunk->piece, GL_PIECE);
    memcpy(next, chunk->piece, bytes);
}

/* Release a place, or leave it to a late answer to the message of a ticket. */
void gl_wire_leave(gl_wire *wire, uint64_t reply_to, uint64_t ticket, int answered)
{
    uint64_t bit = 1ull << gl_number_of(reply_to);
    if (answered) {
        atomic_fetch_or_explicit(&wire->free, bit, memory_order_release);
        return;
    }
    gl_place *place = &wire->place[gl_number_of(reply_to)];
    place->ticket = ticket;
    place->since = 0;
    atomic_fetch_or_explicit(&wire->left, bit, memory_order_release);
}

/* Take late answers, which are dead letters. */
void gl_wire_tidy(gl_actor *actor, uint64_t now)
{
    gl_wire *wire = actor->wire;
    uint64_t left = atomic_load_explicit(&wire->left, memory_order_acquire);
    for (; left; left &= left - 1) {
        uint32_t number = (uint32_t)__builtin_ctzll(left), reason = 0;
        gl_place *place = &wire->place[number];
        uint64_t reply_to = (uint64_t)place->generation << GL_NUMBER_BITS | number;
        gl_wire_answer answer;
        int there = gl_wire_answered(wire, reply_to, &answer, &reason);
        if (there && !reason) {
            uint8_t payload[16384];
            gl_letter letter = {.type = answer.type, .source = actor->id, .clock = answer.clock,
                                .payload_bytes = answer.bytes, .flags = GL_IS_REPLY,
                                .correlation = reply_to | GL_TO_WAITER | GL_DIRECT};
            gl_wire_read_answer(wire, reply_to, answer.bytes, payload);
            gl_bury(actor->engine, actor->id, &letter, payload, GL_LATE);
        } else if (!there) {
            uint64_t head = atomic_load_explicit(&wire->status->head, memory_order_acquire);
            if (head <= place->ticket)
                continue;
            if (!place->since)
                place->since = now;
            if (now - place->since < LATEST)
                continue;
        }
        atomic_fetch_and_explicit(&wire->left, ~(1ull << number), memory_order_relaxed);
        atomic_fetch_or_explicit(&wire->free, 1ull << number, memory_order_release);
    }
}

/* Call an actor with a resident kernel, from a thread without Python, and spin until the answer is
   there. 0, a reason, GL_IS_FULL (its inbox, or its places), or -3 at the time `until` of
   gl_elapsed. `room` is the size of the reply's buffer, then the reply's size. */
int gl_call(gl_actor *actor, const void *payload, uint32_t bytes, void *reply, uint32_t *room,
            uint64_t until)
{
    gl_engine *engine = actor->engine;
    gl_wire *wire = actor->wire;
    gl_letter letter = {.type = actor->type, .payload_bytes = bytes,
                        .clock = gl_host_clock(engine, 1, gl_elapsed())};
    gl_wire_answer answer;
    uint64_t ticket = 0;
    uint32_t reason = 0;
    if (bytes > actor->tier)
        return GL_TOO_LARGE;
    if (!gl_wire_claim(wire, &letter.reply_to))
        return GL_IS_FULL;
    letter.correlation = letter.reply_to;
    int posted = gl_enter(actor) ? gl_wire_post(actor, &letter, payload, &ticket) : GL_INACTIVE;
    gl_leave(actor);
    int there = 0;
    while (!posted && !there) {
        for (int n = 0; n < 64 && !there; n++) {
            gl_pause(); /* continuous polls would keep the cache line from the device */
            there = gl_wire_answered(wire, letter.reply_to, &answer, &reason);
        }
        if (!there && gl_elapsed() >= until)
            break;
    }
    if (there && !reason) {
        gl_host_merge(engine, &answer.clock, gl_elapsed());
        if (answer.bytes > *room)
            reason = GL_TOO_LARGE;
        else
            gl_wire_read_answer(wire, letter.reply_to, answer.bytes, reply);
        *room = answer.bytes;
    }
    gl_wire_leave(wire, letter.reply_to, ticket, there || posted);
    return posted ? posted : there ? (int)(reason & 0xFF) : -3;
}
