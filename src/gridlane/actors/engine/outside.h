/* Inboxes in memory that other processes of the user map: a gate of the runtime reads what peers
   post.

   Nothing in the memory is trusted. The gate copies a message before it checks it, and keeps its
   own copies of all sizes and of its position in the ring. Peers do the same.

   A ring is a bounded queue of slots. The word of a slot, in its header's `sequence`, is a kind,
   the seat of its owner, and a lap. A producer claims a slot by one compare-and-swap of that word,
   so a slot that a killed process leaves always names its owner. Any peer that finds the tail
   behind advances it. The gate skips a slot whose owner has died, or has held it for longer than
   the lease. A slot of a live owner stays the owner's until the owner releases it, because it may
   still write to it. `tests/actors/outside/model.py` is an exhaustive model of this. */
#ifndef GRIDLANE_ACTORS_OUTSIDE_H
#define GRIDLANE_ACTORS_OUTSIDE_H

#include <stddef.h>
#include <sys/types.h>

#include "engine.h"

/* ---- addresses of the parts; private copies of sizes */

typedef struct {
    uint32_t capacity, seats, payload_bytes, reply_bytes;
} gl_sizes;

typedef struct {
    gl_inbox *inbox;
    uint8_t *slots;
    uint64_t mask;
    uint32_t shift, slot_bytes;
} gl_ring;

enum { GL_MESSAGES, GL_DEAD_ONES, GL_RINGS };

typedef struct {
    uint8_t *memory;
    size_t bytes;
    gl_sizes sizes;
    gl_shared *shared;
    gl_seat *seats;
    uint8_t *replies;
    uint32_t reply_step;
    gl_ring ring[GL_RINGS];
} gl_area;

/* The bytes that these sizes need; 0 where they are no valid sizes of an inbox. */
size_t gl_area_bytes(const gl_sizes *sizes);
/* Map the memory of a file that has these sizes; 0, or -1 with errno. */
int gl_area_map(gl_area *area, int file, const gl_sizes *sizes);
void gl_area_unmap(gl_area *area);

/* ---- the word of a slot */

enum { GL_SLOT_FREE, GL_CLAIMED, GL_PUBLISHED, GL_ABANDONED_SLOT, GL_RETURNED };

#define GL_LAPS ((1ull << 48) - 1)

static inline uint64_t gl_word(uint64_t kind, uint64_t seat, uint64_t lap)
{
    return kind << 60 | seat << 48 | (lap & GL_LAPS);
}

static inline uint32_t gl_kind(uint64_t word) { return (uint32_t)(word >> 60); }
static inline uint32_t gl_seat_of(uint64_t word) { return (uint32_t)(word >> 48) & 0xFFF; }
static inline uint64_t gl_lap_of(uint64_t word) { return word & GL_LAPS; }

static inline gl_header *gl_ring_slot(const gl_ring *ring, uint64_t ticket)
{
    return (gl_header *)(ring->slots + (ticket & ring->mask) * ring->slot_bytes);
}

/* ---- the word of a seat's reply */

enum { GL_NO_CALL, GL_CALLING, GL_REPLIED };

#define GL_CALLS ((1ull << 56) - 1)

static inline uint64_t gl_reply_word(uint64_t kind, uint64_t call) { return kind << 56 | call; }

/* ---- processes */

/* The time at which a process started, in ticks of its boot; 0 where it does not run. */
uint64_t gl_start_of(pid_t process);
/* A process as a seat's owner. */
uint64_t gl_owner_of(pid_t process);
int gl_owner_lives(uint64_t owner);

/* ---- sleep until a bell rings, in whatever process */

void gl_sleep_on(_Atomic uint32_t *bell, uint32_t seen, uint64_t nanoseconds);
void gl_ring_bell(_Atomic uint32_t *bell, _Atomic uint32_t *asleep);

/* ---- the runtime's side: outside.c and gate.c */

struct gl_gate {
    gl_gate *next;
    gl_area area;
    gl_actor *actor;
    uint64_t number, token, lease, type;
    uint64_t head[GL_RINGS];
    uint64_t stuck_since[GL_RINGS]; /* when the claimed slot at the head was first seen, or 0 */
    uint64_t passed[GL_RINGS];      /* consecutive slots that their owners have not released */
    uint64_t *calls;                /* of each seat: the posted call without an answer */
    uint8_t *copy;                  /* of one message */
    uint64_t next_sweep;
    uint32_t spins;
    pthread_t thread;
    _Atomic uint32_t stop;
    _Atomic uint64_t received, refused, abandoned, garbled;
};

/* 0, or -1 with errno. The gate owns the mapping, and not the file. */
int gl_gate_open(gl_gate *gate, int file, const gl_sizes *sizes, const gl_shared *facts);
/* Accept no more messages, and end the thread; messages in the rings become dead letters. */
void gl_gate_close(gl_gate *gate);
void gl_gate_free(gl_gate *gate);
/* The body of a gate's thread. */
void *gl_gate_serve(void *gate);
/* Copy the message of a slot and check it: `reason` is 0 for a valid one. */
void gl_gate_copy(gl_gate *gate, const gl_header *slot, gl_letter *letter, uint32_t *reason);
void gl_gate_refuse(gl_gate *gate, const gl_letter *letter, const void *payload, uint32_t reason);

/* ---- a peer's side: outside_peer.c */

typedef struct {
    gl_area area;
    uint64_t token, type;
    pid_t process;
    int host;              /* a descriptor of the host's process */
    gl_clock clock;
    pthread_mutex_t mutex; /* of the clock */
    _Atomic uint64_t next_call;
} gl_peer;

/* Claim a free seat; -1 where there is none. */
int gl_peer_sit(gl_peer *peer);
void gl_peer_leave(gl_peer *peer, uint32_t seat);
int gl_peer_host_lives(const gl_peer *peer);
gl_clock gl_peer_tick(gl_peer *peer, uint64_t events);
/* GL_POSTED, GL_IS_FULL, GL_HOST_GONE or a reason. `call` is 0 or the number of a call. */
int gl_peer_post(gl_peer *peer, uint32_t seat, int ring, const gl_letter *letter,
                 const void *payload, uint64_t call);
uint64_t gl_peer_begin_call(gl_peer *peer, uint32_t seat);
/* Whether the answer is there. */
int gl_peer_answered(gl_peer *peer, uint32_t seat, uint64_t call);
int gl_peer_wait(gl_peer *peer, uint32_t seat, uint64_t call, uint64_t spin, uint64_t until);

#endif
