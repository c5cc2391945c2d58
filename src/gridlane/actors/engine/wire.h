/* Messages between the host and a resident kernel of a device.

   Memory of the host that the device can read and write holds an actor's inbox, the messages that
   its kernel sends (`out`), the answers to waiting callers (`place`), the host's orders and the
   kernel's status. */
#ifndef GRIDLANE_ACTORS_WIRE_H
#define GRIDLANE_ACTORS_WIRE_H

#include "engine.h"
#include "ring.h"

/* The place of a waiting caller's answer. */
typedef struct {
    uint32_t generation;
    _Atomic uint64_t refused; /* the generation, above a reason */
    uint64_t ticket, since;   /* of a message whose caller has gone */
} gl_place;

/* A message of the kernel, taken out of its ring (wire_saved.c). */
typedef struct gl_kept {
    struct gl_kept *next;
    uint32_t bytes;
    uint8_t letter[];
} gl_kept;

struct gl_wire {
    uint8_t *inbox, *out, *answers;
    gl_orders *orders;
    gl_status *status;
    _Atomic uint32_t *raised; /* the kernel's error, where the device reports it while the kernel
                                 runs */
    uint32_t shift, chunks, slot_bytes, out_shift, out_slot, answer_bytes;
    uint32_t resident; /* whether a kernel runs, or may run */
    uint32_t timed;    /* whether the kernel counts waits and handling times */
    uint32_t stopping, leaving, holds, number;
    uint64_t out_head;
    uint8_t *letter; /* the message of `out` that is being delivered */
    uint32_t letter_bytes;
    gl_kept *kept;
    uint32_t dams; /* by checkpoints: nothing that the kernel sends is delivered */
    const uint64_t *shut; /* at the end: keys of actors that receive nothing more */
    uint32_t shut_count;
    _Atomic uint32_t kept_count;
    uint64_t looked;         /* the last poll by the thread of resident kernels, in a trace */
    uint64_t beats, heard_of; /* heartbeats and handled messages, as last seen */
    _Alignas(64) _Atomic uint64_t tail;
    _Atomic uint64_t seen, high; /* taken messages, as last seen; the most that waited */
    _Alignas(64) _Atomic uint64_t free; /* free places, as bits */
    _Atomic uint64_t left;              /* places whose callers have gone */
    gl_place place[GL_PLACES];
};

/* Bytes for all chunks of a message. */
#define GL_FLAT (sizeof(gl_wire_header) + 16384 + GL_PIECE)

/* The kind of a kernel's message. */
static inline uint32_t gl_kind_of(const gl_wire_header *header)
{
    return header->flags >> GL_KIND_SHIFT & 15;
}

/* wire.c: the memory, and messages in it */
int gl_wire_put(gl_actor *to, const gl_letter *letter, const void *payload, uint64_t *ticket);
int gl_wire_has_room(gl_actor *actor);
uint64_t gl_wire_length(gl_actor *actor);
void gl_wire_refuse(gl_actor *actor, const gl_letter *letter, const void *payload, uint32_t reason);
void gl_wire_letter(gl_letter *letter, const gl_wire_header *header);
int gl_wire_refuse_chunks(gl_actor *actor, const void *chunks, uint32_t sequence, uint32_t reason);
uint32_t gl_wire_drain(gl_actor *actor, uint32_t most, uint32_t reason);

/* wire_thread.c: messages that kernels send, and orders */
int gl_wire_start(gl_engine *engine);
int gl_wire_add(gl_actor *actor);
void gl_wire_remove(gl_actor *actor, const uint64_t *shut, uint32_t count);
int gl_wire_poll(gl_actor *actor, int last);
void gl_wire_hear(gl_engine *engine);
void gl_wire_order(gl_actor *actor);
int gl_wire_follows(const gl_actor *actor);
int gl_wire_hold(gl_actor *actor, uint64_t until);
void gl_wire_release(gl_actor *actor);
void gl_wire_fail(gl_actor *actor, uint32_t code);
int gl_wire_give_up(gl_actor *actor, uint64_t since);
int gl_wire_read(gl_wire *wire);

/* wire_telemetry.c */
int gl_wire_post(gl_actor *to, gl_letter *letter, const void *payload, uint64_t *ticket);
void gl_wire_note_call(gl_actor *actor, const gl_letter *asked, const gl_wire_answer *answer,
                       uint64_t begin, uint64_t end);
void gl_wire_trace_handled(gl_actor *actor, uint64_t head);

/* wire_saved.c: messages that a checkpoint holds back */
void gl_wire_forget(gl_wire *wire);

/* wire_call.c: callers */
int gl_call(gl_actor *actor, const void *payload, uint32_t bytes, void *reply, uint32_t *room,
            uint64_t until);
int gl_wire_claim(gl_wire *wire, uint64_t *reply_to);
int gl_wire_answered(const gl_wire *wire, uint64_t reply_to, gl_wire_answer *answer, uint32_t *reason);
void gl_wire_read_answer(const gl_wire *wire, uint64_t reply_to, uint32_t bytes, void *payload);
void gl_wire_leave(gl_wire *wire, uint64_t reply_to, uint64_t ticket, int answered);
void gl_wire_tidy(gl_actor *actor, uint64_t now);

#endif
