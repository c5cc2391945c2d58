/* Made by scripts/actor_headers.py of actors/layouts, not by hand. The structures and
   numbers that C shares with Python and with kernels; the layouts say what the fields mean. */
#ifndef GRIDLANE_ACTORS_LAYOUT_H
#define GRIDLANE_ACTORS_LAYOUT_H

#include <stdatomic.h>
#include <stdint.h>

/* The number that begins every header ("SMLG" in memory), and the version of the protocol. */
#define GL_MAGIC 0x474c4d53u
#define GL_VERSION 1

/* Flags of a header. */
#define GL_IS_REPLY 1
#define GL_IS_PUBLISHED 2

/* The buckets of a histogram: four for each power of two, up to 2^41 ns. */
#define GL_BUCKETS 160

/* The results of a post, besides a reason; the last one is of other processes. */
#define GL_POSTED 0
#define GL_IS_FULL (-1)
#define GL_NO_MEMORY (-2)
#define GL_HOST_GONE (-3)

/* Kinds of traced events. */
#define GL_EVENT_POST 1
#define GL_EVENT_HANDLE 2
#define GL_EVENT_ANSWER 3
#define GL_EVENT_DEAD 4

/* Bits of an actor's phase in the engine: its inbox accepts messages, its handler runs. */
#define GL_ACCEPTS 1
#define GL_RUNS 2

/* Kinds of outputs; the last one is of messages that a resident kernel does not handle. */
#define GL_REPLY 1
#define GL_SEND 2
#define GL_PUBLISH 3
#define GL_UNHANDLED 4

/* The words of `info`: the index of the first message, the number of messages, of handled ones, and
   of outputs. */
#define GL_FIRST 0
#define GL_COUNT 1
#define GL_HANDLED 2
#define GL_EMITTED 3

#define GL_INFO_WORDS 16

/* Orders: leave for a while, handle messages, handle none, end. An order is 4 times its number,
   plus one of these. */
#define GL_LEAVE 0
#define GL_RUN 1
#define GL_PARK 2
#define GL_STOP 3

/* Callers who wait for an actor's answers at once; further ones wait for the engine's thread. */
#define GL_PLACES 64

/* The bit of `reply_to` of a caller who waits at a place of the actor. */
#define GL_DIRECT 0x1000000000000000ull

/* The bits of `reply_to` for the number of the place, and for its generation above that. */
#define GL_NUMBER_BITS 20
#define GL_GENERATION_BITS 29

/* Of the flags of a kernel's own messages. */
#define GL_KIND_SHIFT 8
#define GL_REASON_SHIFT 12

#define GL_HEADER_CHUNKS 8

/* The prefix of an answer's payload: its type and clock, and the bytes of the payload. */
#define GL_ANSWER_CHUNKS 3

/* The magic number of a shared inbox: "GACTORS1" in memory. */
#define GL_SHARED_MAGIC 0x3153524f54434147ull

/* Slots of the ring of dead letters; most seats of an inbox. */
#define GL_LETTERS 64
#define GL_SEATS 1024

/* The state of an actor that has ended. */
#define GL_TERMINATED 6

/* Reasons of dead letters. */
enum {
    GL_ALIVE,
    GL_FULL = 1, /* the inbox is full */
    GL_INACTIVE = 2, /* the actor takes no messages; activate it, unless it has ended */
    GL_NO_ACTOR = 3, /* no actor has the name or number */
    GL_NO_TOPIC = 4, /* nobody has declared the topic */
    GL_EXPIRED = 5, /* its deadline has passed */
    GL_FAILED = 6, /* its handler failed */
    GL_LATE = 7, /* it answers a caller who waits no more */
    GL_UNREAD = 8, /* the outbox is full of replies that nobody has received */
    GL_TOO_LARGE = 9, /* it is larger than the receiver's tier */
    GL_WRONG_TYPE = 10, /* the receiver handles messages of another class */
    GL_DRIFTED = 11, /* its clock is too far ahead of this node's */
    GL_STOPPED = 12, /* the actor was terminated before it */
    GL_UNANSWERED = 13, /* its handler has not replied to it */
    GL_CYCLE = 14, /* actors in a cycle would wait for room in each other's full inboxes */
    GL_ABANDONED = 15, /* its sender, another process, ended or was stopped before it was whole */
    GL_WRONG_TOKEN = 16, /* another process posted it without the token of the inbox */
    GL_GARBLED = 17, /* another process wrote what is no message */
    GL_REASONS,
};

/* A hybrid logical clock: its order is an order of causes. */
typedef struct {
    uint64_t physical, logical, node;
} gl_clock;
_Static_assert(sizeof(gl_clock) == 24, "gl_clock");

/* What stands before the payload of every message. */
typedef struct {
    uint32_t magic;
    uint16_t version, flags;
    uint64_t type, source, destination, correlation, reply_to;
    uint32_t payload_bytes, tier;
    _Atomic uint64_t sequence;
    gl_clock clock;
    uint64_t deadline, topic;
    uint32_t hops, priority, attempt, reason;
    uint64_t trace, span;
    uint32_t reserved[30];
} gl_header;
_Static_assert(sizeof(gl_header) == 256, "gl_header");

/* What the host and a running actor tell each other. */
typedef struct {
    _Atomic uint32_t state, command;
    _Atomic uint64_t heartbeat, received, answered, failed, dead, last_message;
    _Atomic uint32_t busy, error, inbox_high, outbox_high;
    gl_clock clock;
    uint64_t actor;
    uint32_t epoch, block;
    _Atomic uint64_t idle;
    uint64_t reserved;
} gl_control;
_Static_assert(sizeof(gl_control) == 128, "gl_control");

/* What stands before the slots of an inbox. */
typedef struct {
    uint32_t capacity, slot_bytes;
    _Atomic uint64_t tail, head, high_water, dead;
    uint64_t token;
    uint32_t version, flags;
    uint64_t reserved;
} gl_inbox;
_Static_assert(sizeof(gl_inbox) == 64, "gl_inbox");

/* Times by their lengths, in buckets that are a quarter of a power of two wide. */
typedef struct {
    _Atomic uint64_t total, largest, buckets[160];
} gl_histogram;
_Static_assert(sizeof(gl_histogram) == 1296, "gl_histogram");

/* The latencies of an actor. */
typedef struct {
    gl_histogram wait, handling, calls;
} gl_latencies;
_Static_assert(sizeof(gl_latencies) == 3888, "gl_latencies");

/* An emitted message in the outputs of its actor; the payload follows. */
typedef struct {
    uint32_t kind, message;
    uint64_t type, key;
    uint32_t payload_bytes, reserved;
} gl_output;
_Static_assert(sizeof(gl_output) == 32, "gl_output");

/* What stands before the payload of a message on the wire. */
typedef struct {
    uint64_t type, source, correlation, reply_to;
    gl_clock clock;
    uint64_t deadline, topic, trace, span;
    uint16_t bytes, flags, hops, attempt;
} gl_wire_header;
_Static_assert(sizeof(gl_wire_header) == 96, "gl_wire_header");

/* What stands before the payload of an answer. */
typedef struct {
    uint64_t type;
    gl_clock clock;
    uint32_t bytes;
} gl_wire_answer;
_Static_assert(sizeof(gl_wire_answer) == 40, "gl_wire_answer");

/* The host's words to a resident kernel. */
typedef struct {
    _Atomic uint32_t order, version;
    _Atomic uint64_t out_head;
    _Atomic uint32_t requests;
} gl_orders;
_Static_assert(sizeof(gl_orders) == 24, "gl_orders");

/* A resident kernel's words to the host, a chunk in each of its accesses. */
typedef struct {
    _Atomic uint32_t order, beats;
    _Atomic uint64_t head, out_tail;
    _Atomic uint32_t version, source;
    _Atomic uint64_t physical, logical;
} gl_status;
_Static_assert(sizeof(gl_status) == 48, "gl_status");

/* What stands behind the headers of a shared inbox's two rings. */
typedef struct {
    uint64_t magic;
    uint32_t version, host;
    uint64_t host_start, space, type, reply_type;
    uint32_t payload_bytes, reply_bytes, seats, unused;
    _Atomic uint32_t bell, asleep, closed, unused_too;
    uint64_t lease, reserved[5];
} gl_shared;
_Static_assert(sizeof(gl_shared) == 128, "gl_shared");

/* What a peer has in a shared inbox. */
typedef struct {
    _Atomic uint64_t owner, reply;
    _Atomic uint32_t bell, asleep;
    uint32_t reason, bytes;
    gl_clock clock;
    uint64_t reserved;
} gl_seat;
_Static_assert(sizeof(gl_seat) == 64, "gl_seat");

#endif
