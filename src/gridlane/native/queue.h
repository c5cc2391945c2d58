/* Ordered queues of work on the host: the only state of a host stream.
 *
 * All queues of a process share one lock. It is held for a few instructions at a time, and never
 * while a kernel, a copy or Python runs: threads with the GIL may take it, and its holder never
 * takes the GIL. Several copies of this code, of Python's module and of C libraries, work on the
 * same queues, so that no file has state of its own besides the handlers of forks. */
#ifndef GRIDLANE_NATIVE_QUEUE_H
#define GRIDLANE_NATIVE_QUEUE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <sched.h>
#include <stddef.h>

#include "threads.h"

enum {
    GL_LOOK_NS = 60000, /* of polling before a wait sleeps; a sleep costs about as much */
    GL_LINGERS = 600,   /* polls of a worker for an item before it sleeps: some 20 us */
    GL_WORDS_OF_REPORT = 16
};

#ifdef __SANITIZE_ADDRESS__ /* which finds uses of a freed queue */
enum { GL_MOST_SPARE = 0 };
#else
enum { GL_MOST_SPARE = 32 }; /* queues whose memory is used again */
#endif

/* Of Python's module and C's libraries, which share records: the number of the interface, as in
 * __init__.py, and the sizes of the records. */
enum { GL_INTERFACE = 10, GL_SIZES = 8 };

/* Kinds of items. */
enum { GL_CALL = 1, GL_LAUNCH, GL_MOVE, GL_PASS, GL_FOLLOW };

/* Flags of items. */
enum {
    GL_ITEM_ALWAYS = 1, /* runs after an error as well */
    GL_ITEM_SPINS = 2   /* is a kernel that may wait for the host */
};

/* What a worker is to do: what gridlane_queue_next returns. */
enum {
    GL_END,      /* no item comes */
    GL_RUN,      /* a piece of Python */
    GL_DROPPED,  /* to forget a piece of Python */
    GL_BROKE,    /* to raise the error of a launch; see gl_failure */
    GL_CIRCULAR, /* to raise the error of a wait that would not end */
    GL_WITHDRAW, /* to withdraw the request that this thread's launch stops */
    GL_FORGET    /* to forget pieces; see gridlane_queues_forget */
};

struct gl_queue;

/* A point in a queue, or in work that was done at once. */
struct gl_mark {
    uint32_t users;
    int32_t is_passed;
    int64_t time;           /* of passing, of gl_elapsed */
    struct gl_queue *queue; /* whose work passes it; null before it is appended, and once passed */
    int32_t is_awaited;     /* a thread sleeps until it is passed */
};

/* An event. Times are those of gl_elapsed. */
struct gl_event {
    uint32_t users;
    int32_t is_recorded, is_captured; /* captured: only Python answers, for its place in a graph */
    struct gl_mark *mark; /* of the last recording; null if that was at "time", or if it is passed */
    int64_t time;
};

/* A copy, or a fill with values of "width" bytes. */
struct gl_move {
    uint64_t to, from;
    size_t size;
    uint32_t value, width; /* 0 for a copy */
};

typedef int gl_launcher(void *native, const void *params, uint32_t gx, uint32_t gy, uint32_t gz,
                        uint32_t shared, void *report);

struct gl_launch {
    gl_launcher *launch;
    void *native, *plan; /* "plan": for the error */
    uint32_t *users;     /* of the plan: one less when the item is over; or null for one of Python,
                          * whose "plan" is a reference that Python forgets then */
    uint32_t grid[3], shared;
};

struct gl_item {
    struct gl_item *next;
    uint32_t kind, flags;
    union {
        uint64_t number; /* a piece of Python */
        struct gl_mark *mark;
        struct gl_move move;
        struct gl_launch launch; /* its parameters are behind the item */
    };
};

/* A failed launch. */
struct gl_failure {
    uint64_t plan;
    int64_t code;
    uint32_t grid[3], is_of_python;
    int64_t report[GL_WORDS_OF_REPORT]; /* REPORT of core/cpu_abi.py, and one more */
};

/* A wait: for a mark of a queue, or until so many of its items are done. */
struct gl_wait {
    struct gl_queue *queue;
    struct gl_mark *mark;
    uint64_t count;
};

/* The queues of a process. */
struct gl_queues {
    uint64_t unfinished; /* items; also read without the lock, as "failed" and "refusals" */
    struct gl_space *space; /* memory, with a lock of its own; see space.h */
    uint32_t failed;     /* queues with an error */
    uint32_t refusals;   /* captures, and default streams with work on a thread: C appends nothing */
    pthread_mutex_t lock; /* of all fields here, of queues, items and marks */
    uint32_t waiting;    /* threads that wait for "idle" */
    pthread_cond_t idle; /* no item is unfinished */
    struct gl_queue *first, *spare; /* "spare": without users */
    int32_t spares;
    struct gl_item *over; /* their numbers are pieces that Python forgets; read without the lock */
    struct gl_queue *turn; /* or null; see gridlane_queues_turn */
};

struct gl_queue {
    struct gl_queues *all;
    struct gl_item *first, *last; /* the items that have not begun */
    struct gl_item *current;      /* what its worker does */
    uint64_t appended, done;      /* items, in order; an item in progress is not done */
    uint64_t wanted;              /* the least "done" that a thread sleeps for */
    int32_t has_worker, lingers;  /* "lingers": the worker sleeps until there is an item */
    int32_t is_over;              /* its worker ends when no item is left */
    int32_t stops;                /* its thread may have been asked to stop a launch */
    int32_t has_failed, is_captured;
    int32_t is_held; /* a thread does the next item itself */
    int32_t place_of_wait; /* the processor of the last wait; see gl_place */
    uint32_t users;  /* who frees it: the last one */
    uint32_t spinning; /* unfinished items with GL_ITEM_SPINS */
    uint64_t lost;     /* items that a child of a fork has not done */
    struct gl_wait waits_for; /* what its worker waits for, with a use of each; or nulls */
    struct gl_failure failure;
    pthread_cond_t work, finished;
    struct gl_queue *next, **place;
};

#pragma GCC visibility push(hidden)

extern const uint32_t gridlane_sizes[GL_SIZES];

/* Queues for this process; null without memory. Called once: a fork's child begins them anew. */
struct gl_queues *gridlane_queues(void);

/* A queue with one user; null without memory. */
struct gl_queue *gridlane_queue_new(struct gl_queues *all);
void gridlane_queue_release(struct gl_queue *queue);

/* Append items that are linked, uninterrupted. Returns whether a thread must start to serve the
 * queue. */
int gridlane_queue_append(struct gl_queue *queue, struct gl_item *first);

/* An item; null without memory. An item of a mark has a use of the mark. */
struct gl_item *gridlane_item(uint32_t kind, uint32_t flags, uint64_t number);
struct gl_item *gridlane_launch_item(uint32_t flags, const struct gl_launch *launch, size_t bytes);
void gridlane_item_free(struct gl_item *item); /* that was not appended, and has no mark */

/* This thread becomes the worker; false if there is one. At its end: whether work has come since,
 * for which it must serve again. */
int gridlane_queue_serve(struct gl_queue *queue);
int gridlane_queue_leave(struct gl_queue *queue);

/* Do items until one is Python's, with its number; the item before that is done now. */
int gridlane_queue_next(struct gl_queue *queue, uint64_t *number);

/* Wait for a mark, or until "count" items are done, for so many ns at most: 1 if that is so, 0 if
 * not yet, -1 if the wait would not end, since the queue waits for "own", whose worker calls. The
 * record of the wait stays in "own" after a 0, until it is ended. */
int gridlane_queue_wait(struct gl_queues *all, struct gl_queue *queue, struct gl_mark *mark,
                        uint64_t count, int64_t ns, struct gl_queue *own);
void gridlane_queue_end_wait(struct gl_queue *own);

/* The turn of the default stream, whose work runs on the thread that has it: a queue without items.
 * Who waits for the turn waits for it, and it waits for what that thread waits for. Null without
 * memory. */
struct gl_queue *gridlane_queues_turn(struct gl_queues *all);

/* Note that a queue waits for another until gridlane_queue_end_wait; false if that waits for it. */
int gridlane_queue_begin_wait(struct gl_queue *own, struct gl_queue *other);

/* The queue that a queue's worker waits for now, or null. */
struct gl_queue *gridlane_queue_waits_for(struct gl_queue *queue);
struct gl_queue *gridlane_queue_of(struct gl_queues *all, const struct gl_mark *mark);
struct gl_failure *gridlane_queue_failure(struct gl_queue *queue);

enum { GL_FAILED_FLAG, GL_OVER_FLAG, GL_STOPS_FLAG, GL_CAPTURED_FLAG };
void gridlane_queue_set(struct gl_queue *queue, int what, int value);

/* Its worker ends when no item is left: a finalizer. */
void gridlane_queue_end(struct gl_queue *queue, const void *unused);

enum { GL_UNFINISHED, GL_APPENDED, GL_SPINNING, GL_HAS_WORKER, GL_STOPS };
uint64_t gridlane_queue_get(struct gl_queue *queue, int what);

/* The queues with unfinished items: how many, the first of them in "made". */
uint32_t gridlane_queues_busy(struct gl_queues *all, struct gl_queue **made, uint32_t most);
void gridlane_queues_refuse(struct gl_queues *all, int change);

/* The next piece that Python forgets, or 0: of a launch that is over, or that a fork has lost. */
uint64_t gridlane_queues_forget(struct gl_queues *all);

/* In the child of a fork: how many items are lost. */
uint64_t gridlane_queue_lost(struct gl_queue *queue);

/* A mark with one user; null without memory. */
struct gl_mark *gridlane_mark(void);
void gridlane_mark_release(struct gl_queues *all, struct gl_mark *mark);

/* An event with one user; null without memory. */
struct gl_event *gridlane_event(void);
void gridlane_event_release(struct gl_queues *all, struct gl_event *event);

/* As gl_record_event. */
int gridlane_event_record(struct gl_queues *all, struct gl_event *event, struct gl_queue *queue);

/* The mark of its last recording, with a use for the caller; null if that is passed or there is
 * none. The time at which it was passed: 0 before that, and -1 if there is none. */
struct gl_mark *gridlane_event_mark(struct gl_queues *all, struct gl_event *event);
int64_t gridlane_event_time(struct gl_queues *all, struct gl_event *event);

/* Note that its last recording is in a capture; the next one ends that. */
void gridlane_event_capture(struct gl_queues *all, struct gl_event *event);

/* --- without Python --- */

void gl_move(const struct gl_move *move);

/* Whether no item of any queue is unfinished within so many ns. */
int gl_wait_for_all(struct gl_queues *all, int64_t ns);

/* --- with the lock --- */

/* As gridlane_queue_new. */
struct gl_queue *gl_new_queue(struct gl_queues *all);

int gl_put(struct gl_queue *queue, struct gl_item *first);
void gl_free_item(struct gl_queues *all, struct gl_item *item);
void gl_leave_to_python(struct gl_queues *all, struct gl_item *item, uint64_t piece);
void gl_use_mark(struct gl_mark *mark);
void gl_drop_mark(struct gl_mark *mark);
void gl_drop_queue(struct gl_queue *queue);

void gl_drop_event(struct gl_event *event);

/* Record an event behind the work of a queue: now if it has none, or if it is null. Returns whether
 * a thread must start to serve the queue, or -1 without memory. */
int gl_record_event(struct gl_event *event, struct gl_queue *queue);

/* The mark of its last recording; null if that is passed or there is none. */
struct gl_mark *gl_mark_of(struct gl_event *event);

/* As gridlane_queue_wait; the lock is released meanwhile. */
int gl_wait_locked(const struct gl_wait *wait, int64_t ns, struct gl_queue *own);

/* Whether a thread does the work of a queue, if it has any; a start may have failed. */
int gl_is_served(const struct gl_queue *queue);

/* Hold a queue without work: its next item is this thread's, until that lets go. */
void gl_hold_queue(struct gl_queue *queue);
void gl_let_go_of_queue(struct gl_queue *queue);

#pragma GCC visibility pop

static inline void *gl_params(struct gl_item *launch)
{
    return launch + 1;
}

/* The number of this thread's processor, from 1; 0 if it is unknown. */
static inline int gl_place(void)
{
#ifdef __linux__
    return sched_getcpu() + 1;
#else
    return 0;
#endif
}

static inline uint64_t gl_unfinished_of(const struct gl_queue *queue)
{
    return queue->appended - queue->done;
}

/* Also without the lock. */
static inline uint64_t gl_unfinished_of_all(const struct gl_queues *all)
{
    return __atomic_load_n(&all->unfinished, __ATOMIC_ACQUIRE);
}

static inline int gl_is_passed(const struct gl_mark *mark)
{
    return __atomic_load_n(&mark->is_passed, __ATOMIC_ACQUIRE);
}

#endif
