/* Launches on a program's own streams, without Python. Python opens the lane of a stream and appends
 * a piece of work to the stream's queue; while the lane is open, C puts launches into the batch that
 * the piece runs. Python closes the lane before it appends anything behind that piece, and before it
 * waits for the stream; the piece closes it when nothing is left. So all work keeps its order.
 */
#include "hot_lanes.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 256, PASSES = 15 };
static const int64_t LINGER = 1000000; /* ns */

static struct lane *lanes[BUCKETS];
pthread_mutex_t gl_lane_lock = PTHREAD_MUTEX_INITIALIZER;

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

struct lane *gl_lane_of(uint64_t stream)
{
    struct lane *lane = *bucket_of(stream);
    while (lane && (lane->stream != stream || lane->context != gl_thread.context))
        lane = lane->next;
    return lane;
}

void gl_lane_changed(struct lane *lane)
{
    __atomic_add_fetch(&lane->changes, 1, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&lane->changed);
}

/* Whether a launch leaves the lane of its stream closed. Where other work followed each time, to open
 * it only costs. */
int gl_passes(uint64_t stream)
{
    pthread_mutex_lock(&gl_lane_lock);
    struct lane *lane = gl_lane_of(stream);
    const int passes = lane && lane->passes;
    if (passes)
        lane->passes--;
    pthread_mutex_unlock(&gl_lane_lock);
    return passes;
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
    pthread_mutex_lock(&gl_lane_lock);
    made->next = *bucket_of(stream);
    *bucket_of(stream) = made;
    pthread_mutex_unlock(&gl_lane_lock);
    return made;
}

/* What C appends to from now on; null without memory. */
static struct batch *open_lane(struct lane *lane)
{
    struct batch *made = is_gone() ? NULL : calloc(1, sizeof *made);
    if (!made)
        return NULL;
    pthread_mutex_lock(&gl_lane_lock);
    lane->open = made;
    lane->idle = 0;
    gl_lane_changed(lane);
    pthread_mutex_unlock(&gl_lane_lock);
    return made;
}

/* Let Python have the stream. Whether it has to wait for work that a thread does itself. */
static int close_lane(struct lane *lane)
{
    if (is_gone())
        return 0;
    pthread_mutex_lock(&gl_lane_lock);
    if (lane->open) {
        lane->unused = lane->open->appended ? 0 : lane->unused + 1;
        lane->passes = lane->unused > 1 ? PASSES : 0;
    }
    lane->open = NULL;
    lane->idle = 0;
    gl_lane_changed(lane);
    const int held = lane->held;
    pthread_mutex_unlock(&gl_lane_lock);
    return held;
}

/* Wait until no thread does work of the stream itself. */
static void wait_for_lane(struct lane *lane)
{
    if (is_gone())
        return;
    pthread_mutex_lock(&gl_lane_lock);
    lane->users++;
    while (lane->held)
        pthread_cond_wait(&lane->changed, &gl_lane_lock);
    gl_leave_lane(lane);
    pthread_mutex_unlock(&gl_lane_lock);
}

/* Note that a stream has no work and no error. */
static void rest_lane(struct lane *lane)
{
    if (is_gone())
        return;
    pthread_mutex_lock(&gl_lane_lock);
    lane->idle = !lane->open;
    pthread_mutex_unlock(&gl_lane_lock);
}

/* Whether all is done but the end of the piece that runs the lane, which ends now. */
static int settle_lane(struct lane *lane)
{
    if (is_gone())
        return 0;
    pthread_mutex_lock(&gl_lane_lock);
    int settled = gl_is_settled(lane);
    if (settled && lane->open) {
        lane->open = NULL;
        lane->idle = 1;
        gl_lane_changed(lane);
    }
    pthread_mutex_unlock(&gl_lane_lock);
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
    pthread_mutex_lock(&gl_lane_lock);
    if (lane->open == batch) {
        lane->open = NULL;
        gl_lane_changed(lane);
    }
    pthread_mutex_unlock(&gl_lane_lock);
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
    pthread_mutex_lock(&gl_lane_lock);
    struct lane **place = bucket_of(lane->stream);
    while (*place != lane)
        place = &(*place)->next;
    *place = lane->next;
    lane->idle = 0;
    gl_lane_changed(lane);
    while (lane->users)
        pthread_cond_wait(&lane->changed, &gl_lane_lock);
    pthread_mutex_unlock(&gl_lane_lock);
    pthread_cond_destroy(&lane->changed);
    free(lane);
}

/* Wait for an item: it comes soon, if it comes, and to open a lane costs more than this. */
static void linger(struct lane *lane, struct batch *batch)
{
    pthread_mutex_unlock(&gl_lane_lock);
    for (int n = 0; n < GL_PAUSES && !__atomic_load_n(&batch->first, __ATOMIC_RELAXED) &&
                    __atomic_load_n(&lane->open, __ATOMIC_RELAXED) == batch; n++)
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    pthread_mutex_lock(&gl_lane_lock);
    const struct timespec until = gl_after_ns(LINGER);
    lane->lingers = 1;
    while (!batch->first && lane->open == batch &&
           !pthread_cond_timedwait(&lane->changed, &gl_lane_lock, &until))
        ;
    lane->lingers = 0;
}

/* The next item; null if there is none, and nobody appends one then. */
static struct item *take_item(struct lane *lane, struct batch *batch, int after_one)
{
    pthread_mutex_lock(&gl_lane_lock);
    batch->begun = 1;
    batch->done += (unsigned)after_one;
    if (lane->users)
        gl_lane_changed(lane);
    if (!batch->first && lane->open == batch)
        linger(lane, batch);
    while (lane->held)
        pthread_cond_wait(&lane->changed, &gl_lane_lock);
    struct item *item = batch->first;
    if (item) {
        __atomic_store_n(&batch->first, item->next, __ATOMIC_RELAXED);
        batch->count--;
    } else if (lane->open == batch) {
        __atomic_store_n(&lane->open, NULL, __ATOMIC_RELAXED);
        lane->idle = 1;
        gl_lane_changed(lane);
    }
    pthread_mutex_unlock(&gl_lane_lock);
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
                                   end_lane,  release_plan, rest_lane,  settle_lane,
                                   wait_for_lane };
