/* Lanes of streams, between hot_lanes.c, which Python calls, and hot_streams.c, which stubs call;
 * and the types that they share with events. */
#ifndef GRIDLANE_HOT_LANES_H
#define GRIDLANE_HOT_LANES_H

#include "hot_memory.h"

#include <stddef.h>
#include <time.h>

enum {
    GL_LOOKS = 60000, /* ns of polling before a wait sleeps; a sleep costs about as much */
    GL_BUCKETS = 4096,
    GL_MOST_ENDED = 64
};

struct gl_mark {
    uint32_t users;
    int is_passed;
    int64_t time;  /* time of passing, in ns of CLOCK_MONOTONIC */
    uint64_t lane; /* the address of its lane, which lives until the mark is passed */
};

struct item { /* a launch, a copy, a fill, or a mark to pass or to wait for */
    struct item *next;
    struct gl_plan *plan; /* it has one use of the plan until it is done */
    struct gl_mark *mark;
    int waits;
    struct gl_move move;
    uint32_t grid[3], shared;
    _Alignas(64) uint8_t params[];
};

struct batch { /* the items that one piece of the queue runs */
    struct item *first, *last;
    uint32_t count;
    uint64_t appended, taken, done;
    int begun; /* all work before it is done */
};

struct lane {
    uint64_t stream, context;
    uint32_t flags; /* as in CUDA; flags and priority are set for streams that C made */
    int32_t priority;
    struct batch *open; /* the batch to which C appends, or null */
    int idle;           /* the stream has no work and no error */
    int held;           /* a thread does work of the stream itself, exclusively */
    int lingers;        /* the stream's thread waits for the next item */
    int is_left;        /* the stream ended: no item comes */
    int is_known;       /* Python has the stream, and frees the lane */
    int is_over;        /* C ended the stream; the last user frees the lane */
    uint32_t users;     /* threads that hold it or wait for it */
    uint32_t changes;
    uint32_t unused; /* how often in a row it was opened without use */
    uint32_t passes; /* how many more launches leave it closed */
    pthread_cond_t changed;
    struct lane *next;
};

struct event {
    struct event *next;
    uint64_t handle, context;
    struct gl_mark *mark; /* of its last recording, or null if that was done at "time" */
    int64_t time;
    uint32_t what, flags;
};

/* The streams and events of all libraries of the process; see hot_order.c. */
struct gl_order {
    pthread_mutex_t lock; /* of all fields here; hot_memory.c handles the child of a fork */
    uint64_t unfinished;  /* items of all lanes, and open lanes whose work has not begun */
    uint32_t waiting;     /* threads that wait for "passed" */
    pthread_cond_t passed; /* a mark was passed, or no item is unfinished */
    uint64_t handle;       /* the last handle that C made */
    struct lane *lanes[GL_BUCKETS];
    struct event *events[GL_BUCKETS];
    uint64_t ended[GL_MOST_ENDED]; /* handles that C ended and Python still has */
    uint32_t ended_count;
};

/* Layout: all fields that a launch and its end write lie in one cache line. Two threads write them,
 * and a second line would cost them a quarter more. */
_Static_assert(offsetof(struct gl_order, passed) <= 64, "the first cache line");

static inline struct gl_order *gl_order(void)
{
    return shared()->order;
}

static inline void gl_lock_order(void)
{
    pthread_mutex_lock(&gl_order()->lock);
}

static inline void gl_unlock_order(void)
{
    pthread_mutex_unlock(&gl_order()->lock);
}

/* The number of unfinished items of all lanes; also without the lock. */
static inline uint64_t gl_unfinished(void)
{
    return __atomic_load_n(&gl_order()->unfinished, __ATOMIC_ACQUIRE);
}

/* Returns null without memory. */
struct gl_order *gl_new_order(void);
void gl_move_order(uint64_t from, uint64_t to);
void gl_begin_in_child(void);
void gl_begin_condition(pthread_cond_t *made); /* its times are of CLOCK_MONOTONIC */
uint64_t gl_first_ended(void);
void gl_forget_ended(uint64_t handle);
const uint32_t *gl_ended_count(void);
void gl_end_streams(uint64_t context);
void gl_end_events(uint64_t context);

static inline int64_t gl_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A mark with one user; null without memory. */
struct gl_mark *gl_new_mark(struct lane *lane);

/* A lane without work; null without memory. */
struct lane *gl_new_lane(uint64_t context, uint32_t flags, int32_t priority);

/* --- with the lock --- */

static inline unsigned gl_bucket(uint64_t handle)
{
    return handle / 16 % GL_BUCKETS;
}

/* A handle that no other object of the process had. */
uint64_t gl_new_handle(void);

/* Note an ended handle for Python, which drops its object at the next look-up; false if the caller
 * must end it now. */
int gl_note_ended(uint64_t handle);

/* The lane of a stream of this thread's context, or null. */
struct lane *gl_lane_of(uint64_t stream);
void gl_pass(struct gl_mark *mark);
void gl_drop_mark(struct gl_mark *mark);

/* Whether a mark is passed within so many ns; for null, whether no item of any lane is unfinished.
 * The lock is released during the wait. */
int gl_wait_for_mark(struct gl_mark *mark, int64_t ns);

/* Count items that begin, or that are done. */
static inline void gl_begin_items(uint64_t items)
{
    __atomic_store_n(&gl_order()->unfinished, gl_order()->unfinished + items, __ATOMIC_RELAXED);
}

void gl_finish(uint64_t items);

/* Append an item that passes a mark, or waits for it; false if the lane is not open. */
int gl_put_mark(struct lane *lane, struct gl_mark *mark, int waits);
void gl_add_lane(struct lane *lane, uint64_t stream);
void gl_take_lane_out(struct lane *lane);
void gl_lane_changed(struct lane *lane);
void gl_leave_lane(struct lane *lane);

/* Free a lane that Python does not have, after its last user. */
void gl_drop_lane(struct lane *lane);

/* Whether a stream has no work, and no thread holds its lane. */
static inline int gl_is_settled(const struct lane *lane)
{
    const struct batch *batch = lane->open;
    return !lane->held && (lane->idle || (batch && batch->begun && batch->done == batch->appended));
}

/* Atomic: the stream's thread reads it without the lock. */
static inline void gl_set_open(struct lane *lane, struct batch *batch)
{
    __atomic_store_n(&lane->open, batch, __ATOMIC_RELAXED);
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
