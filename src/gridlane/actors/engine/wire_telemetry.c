/* What the host can measure of messages to resident kernels: callers' latencies, and traces. The
   kernels publish the number of taken messages, and an answer's clock is the time at which its
   message was taken. */
#include <string.h>

#include "wire.h"

/* Put a message into the ring, and number it during a trace. */
int gl_wire_post(gl_actor *to, gl_letter *letter, const void *payload, uint64_t *ticket)
{
    gl_trace *trace = gl_tracing(to->engine);
    if (!trace)
        return gl_wire_put(to, letter, payload, ticket);
    uint64_t now = gl_now();
    letter->span = gl_trace_span(trace);
    if (!letter->trace)
        letter->trace = letter->span;
    int result = gl_wire_put(to, letter, payload, ticket);
    if (result == GL_POSTED)
        gl_trace_put(trace, &(gl_traced){GL_EVENT_POST, now, 0, letter->source, to->id,
                                         letter->trace, letter->span});
    return result;
}

/* A call between two times of gl_elapsed was answered; there is one writer. The wait is by the
   kernel's clock, which is never behind a message that it has taken. */
void gl_wire_note_call(gl_actor *actor, const gl_letter *asked, const gl_wire_answer *answer,
                       uint64_t begin, uint64_t end)
{
    gl_trace *trace = gl_tracing(actor->engine);
    gl_note(&actor->latencies->calls, gl_between(begin, end), 1);
    if (!actor->wire->timed)
        gl_note(&actor->latencies->wait,
                gl_between(asked->clock.physical, answer->clock.physical), 1);
    if (trace)
        gl_trace_put(trace, &(gl_traced){GL_EVENT_ANSWER, gl_now(), 0, actor->id, 0, asked->trace,
                                         gl_trace_span(trace)});
}

/* The header of a ticket's message, if its slot has not been used again. */
static int read_header(const gl_wire *wire, uint64_t ticket, gl_wire_header *header)
{
    const gl_chunk *chunk = gl_place_of(wire->inbox, ticket, wire->shift, wire->slot_bytes);
    uint32_t sequence = gl_sequence_of(ticket, wire->shift);
    if (!gl_peek(chunk, header, GL_HEADER_CHUNKS, sequence))
        return 0;
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&chunk->sequence, memory_order_relaxed) == sequence;
}

/* The host's messages before `head` were handled between the last poll and this one. */
void gl_wire_trace_handled(gl_actor *actor, uint64_t head)
{
    gl_wire *wire = actor->wire;
    gl_trace *trace = gl_tracing(actor->engine);
    if (!trace) {
        wire->looked = 0;
        return;
    }
    uint64_t now = gl_now(), begin = wire->looked ? wire->looked : now;
    for (uint64_t ticket = wire->heard_of; ticket != head; ticket++) {
        gl_wire_header header;
        if (!read_header(wire, ticket, &header) || !header.trace) /* posted before the trace */
            continue;
        uint64_t first = header.clock.physical > begin ? header.clock.physical : begin;
        gl_trace_put(trace, &(gl_traced){GL_EVENT_HANDLE, first < now ? first : now, now,
                                         header.source, actor->id, header.trace, header.span});
    }
    wire->looked = now;
}
