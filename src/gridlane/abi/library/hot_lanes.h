/* The lanes of streams, between hot_lanes.c, which Python calls, and hot_streams.c, which stubs do. */
#ifndef GRIDLANE_HOT_LANES_H
#define GRIDLANE_HOT_LANES_H

#include "hot.h"

#include <time.h>

enum { GL_PAUSES = 2000 }; /* looks for a change without sleep: it comes soon, if it comes */

struct item {
    struct item *next;
    struct gl_plan *plan; /* which it uses until it is done; null for a copy or a fill */
    struct gl_move move;
    uint32_t grid[3], shared;
    _Alignas(64) uint8_t params[];
};

struct batch { /* what one piece of the queue runs */
    struct item *first, *last;
    uint32_t count;
    uint64_t appended, done;
    int begun; /* so that all work before it is done */
};

struct lane {
    uint64_t stream, context;
    struct batch *open; /* that C appends to, or null */
    int idle;           /* the stream has no work and no error */
    int held;           /* a thread does work of the stream itself, and nobody else does */
    int lingers;        /* the stream's thread waits for the next item */
    uint32_t users;     /* threads that hold it or wait for it */
    uint32_t changes;
    uint32_t unused; /* how often in a row it was opened for nothing */
    uint32_t passes; /* how many launches more leave it closed */
    pthread_cond_t changed;
    struct lane *next;
};

extern pthread_mutex_t gl_lane_lock; /* of all that is here */

/* --- with the lock --- */

/* The lane of a stream of this thread's context, or null. */
struct lane *gl_lane_of(uint64_t stream);
void gl_lane_changed(struct lane *lane);

/* Whether a stream has nothing to do, and nobody does its work. */
static inline int gl_is_settled(const struct lane *lane)
{
    const struct batch *batch = lane->open;
    return !lane->held && (lane->idle || (batch && batch->begun && batch->done == batch->appended));
}

static inline void gl_leave_lane(struct lane *lane)
{
    if (!--lane->users)
        pthread_cond_broadcast(&lane->changed);
}

static inline struct timespec gl_after_ns(int64_t ns)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    ns += time.tv_nsec;
    time.tv_sec += ns / 1000000000;
    time.tv_nsec = ns % 1000000000;
    return time;
}

#endif
