/* Launches on a program's own streams, without Python. Python opens the lane of a stream and appends
 * a piece of work to the stream's queue; while the lane is open, C puts launches into the batch that
 * the piece runs. Python closes the lane before it appends anything behind that piece, and before it
 * waits for the stream; the piece closes it when nothing is left. So all work keeps its order.
 */
#include "hot.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BUCKETS = 256, MOST_ITEMS = 4096, PAUSES = 2000, REPORT = 5 };
static const int64_t LINGER = 1000000, PATIENCE = 2000000; /* in ns */

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
    pthread_cond_t changed;
    struct lane *next;
};

static struct lane *lanes[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all that is here */

static struct lane **bucket_of(uint64_t stream)
{
    return &lanes[(stream ^ stream / BUCKETS) % BUCKETS];
}

/* In the child of a fork nobody can use lanes, and the lock may be one that is held for ever. */
static int is_gone(void)
{
    return gl_process.forked;
}

/* --- with the lock --- */

/* The lane of a stream of this thread's context, or null. */
static struct lane *lane_of(uint64_t stream)
{
    struct lane *lane = *bucket_of(stream);
    while (lane && (lane->stream != stream || lane->context != gl_thread.context))
        lane = lane->next;
    return lane;
}

static void note_change(struct lane *lane)
{
    __atomic_add_fetch(&lane->changes, 1, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&lane->changed);
}

/* Whether a stream has nothing to do, and nobody does its work. */
static int is_settled(const struct lane *lane)
{
    const struct batch *batch = lane->open;
    return !lane->held && (lane->idle || (batch && batch->begun && batch->done == batch->appended));
}

static struct timespec after(int64_t ns)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    ns += time.tv_nsec;
    time.tv_sec += ns / 1000000000;
    time.tv_nsec = ns % 1000000000;
    return time;
}

static void leave(struct lane *lane)
{
    if (!--lane->users)
        pthread_cond_broadcast(&lane->changed);
}

/* Wait a while, without the lock and then asleep: the next change comes soon, if it comes. */
static int wait_for_change(struct lane *lane, const struct timespec *until)
{
    uint32_t seen = lane->changes;
    pthread_mutex_unlock(&lock);
    for (int n = 0; n < PAUSES && __atomic_load_n(&lane->changes, __ATOMIC_RELAXED) == seen; n++)
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    pthread_mutex_lock(&lock);
    return lane->changes != seen || !pthread_cond_timedwait(&lane->changed, &lock, until);
}

/* Whether the work that a stream has now is done, or, for "all", what comes meanwhile as well. Who
 * waits does so for a short time, and then lets Python wait, which can be interrupted. */
static int waited(struct lane *lane, int all)
{
    const struct batch *batch = lane->open;
    const uint64_t target = batch ? batch->appended : 0;
    const struct timespec until = after(PATIENCE);
    int cancels, done;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancels);
    lane->users++;
    for (;;) {
        done = is_settled(lane) || (!all && !lane->held && batch && lane->open == batch &&
                                    batch->begun && batch->done >= target);
        if (done || !(lane->held || (batch && lane->open == batch)) ||
            !wait_for_change(lane, &until))
            break;
    }
    leave(lane);
    pthread_setcancelstate(cancels, NULL);
    return done;
}

/* --- what Python calls --- */

/* Null without memory. */
static struct lane *make_lane(uint64_t stream, uint64_t context)
{
    struct lane *made = is_gone() ? NULL : calloc(1, sizeof *made);
    pthread_condattr_t clock;
    if (!made)
        return NULL;
    made->stream = stream;
    made->context = context;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&made->changed, &clock);
    pthread_condattr_destroy(&clock);
    pthread_mutex_lock(&lock);
    made->next = *bucket_of(stream);
    *bucket_of(stream) = made;
    pthread_mutex_unlock(&lock);
    return made;
}

/* What C appends to from now on; null without memory. */
static struct batch *open_lane(struct lane *lane)
{
    struct batch *made = is_gone() ? NULL : calloc(1, sizeof *made);
    if (!made)
        return NULL;
    pthread_mutex_lock(&lock);
    lane->open = made;
    lane->idle = 0;
    note_change(lane);
    pthread_mutex_unlock(&lock);
    return made;
}

/* Let Python have the stream, after the work that a thread does itself. */
static void close_lane(struct lane *lane)
{
    if (is_gone())
        return;
    pthread_mutex_lock(&lock);
    lane->open = NULL;
    lane->idle = 0;
    note_change(lane);
    lane->users++;
    while (lane->held)
        pthread_cond_wait(&lane->changed, &lock);
    leave(lane);
    pthread_mutex_unlock(&lock);
}

/* Note that a stream has no work and no error. */
static void rest_lane(struct lane *lane)
{
    if (is_gone())
        return;
    pthread_mutex_lock(&lock);
    lane->idle = !lane->open;
    pthread_mutex_unlock(&lock);
}

/* Whether all is done but the end of the piece that runs the lane, which ends now. */
static int settle_lane(struct lane *lane)
{
    if (is_gone())
        return 0;
    pthread_mutex_lock(&lock);
    int settled = is_settled(lane);
    if (settled && lane->open) {
        lane->open = NULL;
        lane->idle = 1;
        note_change(lane);
    }
    pthread_mutex_unlock(&lock);
    return settled;
}

static void release_plan(struct gl_plan *plan)
{
    __atomic_sub_fetch(&plan->users, 1, __ATOMIC_ACQ_REL);
}

static void end_item(struct item *item)
{
    if (item->plan)
        release_plan(item->plan);
    free(item);
}

/* Drop what is left of a batch, and let nobody append to it. */
static void end_batch(struct lane *lane, struct batch *batch)
{
    if (is_gone())
        return;
    pthread_mutex_lock(&lock);
    if (lane->open == batch) {
        lane->open = NULL;
        note_change(lane);
    }
    pthread_mutex_unlock(&lock);
    for (struct item *item = batch->first, *next; item; item = next) {
        next = item->next;
        end_item(item);
    }
    free(batch);
}

/* It has no batch. */
static void end_lane(struct lane *lane)
{
    if (is_gone())
        return;
    pthread_mutex_lock(&lock);
    struct lane **place = bucket_of(lane->stream);
    while (*place != lane)
        place = &(*place)->next;
    *place = lane->next;
    lane->idle = 0;
    note_change(lane);
    while (lane->users)
        pthread_cond_wait(&lane->changed, &lock);
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&lane->changed);
    free(lane);
}

/* Wait for an item: it comes soon, if it comes, and to open a lane costs more than this. */
static void linger(struct lane *lane, struct batch *batch)
{
    pthread_mutex_unlock(&lock);
    for (int n = 0; n < PAUSES && !__atomic_load_n(&batch->first, __ATOMIC_RELAXED) &&
                    __atomic_load_n(&lane->open, __ATOMIC_RELAXED) == batch; n++)
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    pthread_mutex_lock(&lock);
    const struct timespec until = after(LINGER);
    lane->lingers = 1;
    while (!batch->first && lane->open == batch &&
           !pthread_cond_timedwait(&lane->changed, &lock, &until))
        ;
    lane->lingers = 0;
}

/* The next item; null if there is none, and nobody appends one then. */
static struct item *take_item(struct lane *lane, struct batch *batch, int after_one)
{
    pthread_mutex_lock(&lock);
    batch->begun = 1;
    batch->done += (unsigned)after_one;
    if (lane->users)
        note_change(lane);
    if (!batch->first && lane->open == batch)
        linger(lane, batch);
    while (lane->held)
        pthread_cond_wait(&lane->changed, &lock);
    struct item *item = batch->first;
    if (item) {
        __atomic_store_n(&batch->first, item->next, __ATOMIC_RELAXED);
        batch->count--;
    } else if (lane->open == batch) {
        __atomic_store_n(&lane->open, NULL, __ATOMIC_RELAXED);
        lane->idle = 1;
        note_change(lane);
    }
    pthread_mutex_unlock(&lock);
    return item;
}

/* Run a batch, until it is empty or a launch fails. Whether one failed: Python raises its error,
 * releases its plan, and drops what is behind it. */
static int run_batch(struct lane *lane, struct batch *batch, struct gl_failure *failure)
{
    int after_one = 0;
    for (struct item *item; (item = take_item(lane, batch, after_one)); after_one = 1) {
        struct gl_plan *plan = item->plan;
        if (!plan) {
            gl_move(&item->move);
            end_item(item);
            continue;
        }
        memset(failure->report, 0, sizeof failure->report);
        int code = plan->launch(plan->native, item->params, item->grid[0], item->grid[1],
                                item->grid[2], item->shared, failure->report);
        if (code) {
            failure->plan = (uintptr_t)plan;
            failure->code = code;
            memcpy(failure->grid, item->grid, sizeof failure->grid);
            free(item);
            return 1;
        }
        end_item(item);
    }
    return 0;
}

const struct gl_lanes gl_lanes = { make_lane, open_lane,    close_lane, run_batch,  end_batch,
                                   end_lane,  release_plan, rest_lane,  settle_lane };

/* --- what the stubs call --- */

/* An item of so many bytes of parameters; null without memory. */
static struct item *new_item(struct gl_plan *plan, size_t bytes)
{
    struct item *made = aligned_alloc(64, (sizeof *made + bytes + 63) / 64 * 64);
    if (made) {
        made->next = NULL;
        made->plan = plan;
    }
    return made;
}

/* Put an item into a lane, with the lock; false if that is not open. */
static int put_item(struct lane *lane, struct item *item)
{
    struct batch *batch = lane ? lane->open : NULL;
    if (!batch || batch->count >= MOST_ITEMS)
        return 0;
    if (batch->first)
        batch->last->next = item;
    else
        __atomic_store_n(&batch->first, item, __ATOMIC_RELAXED);
    batch->last = item;
    batch->count++;
    batch->appended++;
    if (lane->lingers)
        note_change(lane);
    return 1;
}

/* Put a launch into the lane of a stream, with the plan that the caller uses; false if that is not
 * open. */
int gl_append(struct gl_plan *plan, uint64_t stream, const uint32_t *grid, void **arguments,
              size_t shared)
{
    struct item *item = new_item(plan, plan->bytes);
    if (!item)
        return 0;
    item->shared = (uint32_t)shared;
    memcpy(item->grid, grid, sizeof item->grid);
    int put = gl_pack(plan, arguments, item->params);
    if (put) {
        pthread_mutex_lock(&lock);
        put = put_item(lane_of(stream), item);
        pthread_mutex_unlock(&lock);
    }
    if (!put)
        free(item);
    return put;
}

/* Whether the work of a stream of the program's is done. */
int gl_is_done(const void *stream, int waits)
{
    if (gl_thread.state == GL_AHEAD || !gl_knows(GL_READY | GL_UNCAPTURED | GL_IDLE))
        return 0;
    int may_wait = waits && !gl_holds_python(); /* which the work may need */
    pthread_mutex_lock(&lock);
    struct lane *lane = lane_of((uintptr_t)stream);
    int done = lane && (may_wait ? waited(lane, 0) : is_settled(lane));
    pthread_mutex_unlock(&lock);
    return done;
}
