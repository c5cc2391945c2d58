/* The structures that users see, in C; `actors/layouts` is their schema, and a test compares
   both. */
#ifndef GRIDLANE_ACTORS_LAYOUT_H
#define GRIDLANE_ACTORS_LAYOUT_H

#include <stdatomic.h>
#include <stdint.h>

typedef struct {
    uint64_t physical, logical, node;
} gl_clock;

/* `sequence` is the turn of a slot while the message is in a queue (queue.h); in a copy it is the
   number of the message in its inbox. */
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

/* The public fields of a queue. */
typedef struct {
    uint32_t capacity, slot_bytes;
    _Atomic uint64_t tail, head, high_water, dead;
    uint64_t token;
    uint32_t version, flags;
    uint64_t reserved;
} gl_inbox;

/* Times in buckets: 0 to 3 ns have one each, then each power of two has four, up to 2^41 ns; the
   last one counts longer times too. There is one writer; any thread may read. */
#define GL_BUCKETS 160

typedef struct {
    _Atomic uint64_t total, largest, bucket[GL_BUCKETS];
} gl_histogram;

typedef struct {
    gl_histogram wait, handling, calls;
} gl_latencies;

/* An emitted message in the outputs of its actor; the payload follows. */
typedef struct {
    uint32_t kind, message;
    uint64_t type, key;
    uint32_t payload_bytes, reserved;
} gl_output;

_Static_assert(sizeof(gl_clock) == 24, "clock");
_Static_assert(sizeof(gl_header) == 256, "message header");
_Static_assert(sizeof(gl_control) == 128, "control block");
_Static_assert(sizeof(gl_inbox) == 64, "inbox header");
_Static_assert(sizeof(gl_histogram) == 1296, "histogram");
_Static_assert(sizeof(gl_latencies) == 3888, "latencies");
_Static_assert(sizeof(gl_output) == 32, "output");

#define GL_MAGIC 0x474C4D53u /* "SMLG" in memory */
#define GL_VERSION 1

#define GL_TERMINATED 6 /* `state` of an actor that has ended */

/* Flags of a header. */
#define GL_IS_REPLY 1u
#define GL_IS_PUBLISHED 2u

/* Kinds of outputs. */
enum { GL_REPLY = 1, GL_SEND = 2, GL_PUBLISH = 3 };

/* The words of an actor's `info`, which its kernel reads and writes: the index of the first
   message, the number of messages, of handled ones, and of outputs. */
enum { GL_FIRST, GL_COUNT, GL_HANDLED, GL_EMITTED, GL_INFO_WORDS = 16 };

#endif
