/* Latencies in buckets, and events of messages in a ring, both without locks. */
#ifndef GRIDLANE_ACTORS_TELEMETRY_H
#define GRIDLANE_ACTORS_TELEMETRY_H

#include <stdlib.h>

#include "layout.h"

static inline uint32_t gl_bucket(uint64_t time)
{
    uint32_t exponent, number;
    if (time < 4)
        return (uint32_t)time;
    exponent = 63 - (uint32_t)__builtin_clzll(time);
    number = (exponent - 1) * 4 + (uint32_t)(time >> (exponent - 2) & 3);
    return number < GL_BUCKETS ? number : GL_BUCKETS - 1;
}

static inline void gl_raise(_Atomic uint64_t *word, uint64_t by)
{
    atomic_store_explicit(word, atomic_load_explicit(word, memory_order_relaxed) + by,
                          memory_order_relaxed);
}

/* Add `count` times of the same length; there is one writer. */
static inline void gl_note(gl_histogram *histogram, uint64_t time, uint64_t count)
{
    gl_raise(&histogram->buckets[gl_bucket(time)], count);
    gl_raise(&histogram->total, time * count);
    if (time > atomic_load_explicit(&histogram->largest, memory_order_relaxed))
        atomic_store_explicit(&histogram->largest, time, memory_order_relaxed);
}

static inline uint64_t gl_between(uint64_t begin, uint64_t end)
{
    return end > begin ? end - begin : 0; /* clocks of senders may be ahead */
}

/* `kind` is a number such as GL_EVENT_POST; `end` is a time, or the reason of a dead letter. */
typedef struct {
    uint64_t kind, time, end, source, actor, trace, span;
} gl_traced;

/* `turn` is 2 * ticket + 1 while the event of a ticket is written, and one more after that. */
typedef struct {
    _Atomic uint64_t turn, word[7];
} gl_record;

typedef struct {
    _Alignas(64) _Atomic uint64_t tail;
    _Alignas(64) _Atomic uint64_t spans;
    uint64_t first, mask; /* the ticket at the start of the trace */
    gl_record record[];
} gl_trace;

gl_trace *gl_trace_new(uint64_t size);
void gl_trace_put(gl_trace *trace, const gl_traced *event);

static inline uint64_t gl_trace_span(gl_trace *trace)
{
    return atomic_fetch_add_explicit(&trace->spans, 1, memory_order_relaxed) + 1;
}

#endif
