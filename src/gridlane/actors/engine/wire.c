/* The memory between the host and a resident kernel, and messages in it. */
#include <stdlib.h>
#include <string.h>

#include "wire.h"

static gl_chunk *slot_at(const gl_wire *wire, uint64_t ticket)
{
    return gl_place_of(wire->inbox, ticket, wire->shift, wire->slot_bytes);
}

/* The number of messages that the kernel has taken. */
static uint64_t head_of(const gl_wire *wire)
{
    return atomic_load_explicit(&wire->status->head, memory_order_acquire);
}

uint64_t gl_wire_length(gl_actor *actor)
{
    gl_wire *wire = actor->wire;
    uint64_t head = head_of(wire);
    uint64_t length = atomic_load_explicit(&wire->tail, memory_order_relaxed) - head;
    if (length > atomic_load_explicit(&wire->high, memory_order_relaxed))
        atomic_store_explicit(&wire->high, length, memory_order_relaxed);
    return length;
}

int gl_wire_has_room(gl_actor *actor)
{
    return gl_wire_length(actor) < 1ull << actor->wire->shift;
}

/* Put a message into the ring; GL_POSTED, GL_IS_FULL, or GL_WRONG_TYPE for another number of chunks
   than that of its type: the kernel would wait for the others for ever. */
int gl_wire_put(gl_actor *to, const gl_letter *letter, const void *payload, uint64_t *taken)
{
    gl_wire *wire = to->wire;
    if ((sizeof(gl_wire_header) + letter->payload_bytes + GL_PIECE - 1) / GL_PIECE != wire->chunks)
        return GL_WRONG_TYPE;
    uint64_t ticket = atomic_load_explicit(&wire->tail, memory_order_relaxed);
    do {
        /* The kernel writes its head all the time: read it only where necessary. */
        uint64_t seen = atomic_load_explicit(&wire->seen, memory_order_acquire);
        if (gl_free_of(seen, ticket, wire->shift) <= 0) {
            uint64_t head = head_of(wire);
            atomic_store_explicit(&wire->seen, head, memory_order_release);
            if (gl_free_of(head, ticket, wire->shift) <= 0)
                return GL_IS_FULL;
        }
    } while (!atomic_compare_exchange_weak_explicit(&wire->tail, &ticket, ticket + 1,
                                                    memory_order_relaxed, memory_order_relaxed));
    gl_wire_header header = {
        .type = letter->type, .source = letter->source, .correlation = letter->correlation,
        .reply_to = letter->reply_to, .clock = letter->clock, .deadline = letter->deadline,
        .topic = letter->topic, .trace = letter->trace, .span = letter->span,
        .bytes = (uint16_t)letter->payload_bytes, .flags = (uint16_t)letter->flags,
        .hops = (uint16_t)letter->hops, .attempt = (uint16_t)letter->attempt};
    gl_chunk *slot = slot_at(wire, ticket);
    uint32_t sequence = gl_sequence_of(ticket, wire->shift);
    gl_push(slot, &header, sizeof header, sequence);
    gl_push(slot + GL_HEADER_CHUNKS, payload, letter->payload_bytes, sequence);
    if (taken)
        *taken = ticket;
    return GL_POSTED;
}

/* Bury a message that is not handled, and refuse its caller. */
void gl_wire_refuse(gl_actor *actor, const gl_letter *letter, const void *payload, uint32_t reason)
{
    gl_bury(actor->engine, actor->id, letter, payload, reason);
    atomic_fetch_add_explicit(&actor->control->dead, 1, memory_order_relaxed);
    uint32_t detail = reason == GL_FAILED ? gl_failed(actor) : reason;
    if (letter->reply_to & GL_TO_WAITER && letter->reply_to & GL_DIRECT) {
        gl_place *place = &actor->wire->place[gl_number_of(letter->reply_to)];
        uint64_t generation = gl_generation_of(letter->reply_to), failure = detail >> 8;
        atomic_store_explicit(&place->refused, failure << 37 | generation << 8 | reason,
                              memory_order_release);
    } else {
        gl_header asked = {.reply_to = letter->reply_to, .correlation = letter->correlation,
                           .clock = letter->clock};
        gl_refuse_caller(actor, &asked, detail);
    }
}

/* Refuse a message in chunks; 0 if it is not complete. */
int gl_wire_refuse_chunks(gl_actor *actor, const void *chunks, uint32_t sequence, uint32_t reason)
{
    uint8_t flat[GL_FLAT];
    if (!gl_peek(chunks, flat, actor->wire->chunks, sequence))
        return 0;
    gl_wire_header header;
    gl_letter letter;
    memcpy(&header, flat, sizeof header);
    gl_wire_letter(&letter, &header);
    letter.destination = actor->id;
    gl_wire_refuse(actor, &letter, flat + sizeof header, reason);
    return 1;
}

/* Refuse up to `most` messages of the ring of a kernel that has ended; returns their number. */
uint32_t gl_wire_drain(gl_actor *actor, uint32_t most, uint32_t reason)
{
    gl_wire *wire = actor->wire;
    uint64_t head = head_of(wire), tail = atomic_load(&wire->tail);
    uint32_t count = 0;
    for (; head != tail && count < most; head++, count++) {
        uint32_t sequence = gl_sequence_of(head, wire->shift);
        while (!gl_wire_refuse_chunks(actor, slot_at(wire, head), sequence, reason))
            gl_pause(); /* it is being written */
        atomic_store_explicit(&wire->status->head, head + 1, memory_order_release);
    }
    return count;
}

void gl_wire_letter(gl_letter *letter, const gl_wire_header *header)
{
    *letter = (gl_letter){
        .type = header->type, .source = header->source, .correlation = header->correlation,
        .reply_to = header->reply_to, .deadline = header->deadline, .topic = header->topic,
        .trace = header->trace, .span = header->span, .payload_bytes = header->bytes,
        .flags = header->flags & 0xFFu, .hops = header->hops, .attempt = header->attempt,
        .clock = header->clock};
}
