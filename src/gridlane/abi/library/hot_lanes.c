/* Launches on a program's own streams, without Python. Python opens the lane of a stream and
 * appends one piece of work to the stream's queue. While the lane is open, C appends launches to
 * the batch that the piece runs. Python closes the lane before it appends other work and before it
 * waits for the stream; until then the piece waits for more. So all work keeps its order. */
#include "hot_lanes.h"

#include <stdlib.h>
#include <string.h>

enum { PASSES = 15, PAUSES = 2000 /* polls for an item before a sleep */ };
enum { FAILED = 1, WAITS }; /* why a batch stops before its end */
static const int64_t PATIENCE = 1000000; /* ns */

/* Fork: the child of a fork cannot use lanes. */
static int is_gone(void)
{
    return gl_process.forked;
}

struct lane *gl_new_lane(uint64_t context, uint32_t flags, int32_t priority)
{
    struct lane *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->context = context;
    made->flags = flags;
    made->priority = priority;
    gl_begin_condition(&made->changed);
    return made;
}

static void free_lane(struct lane *lane)
{
    pthread_cond_destroy(&lane->changed);
    free(lane);
}

/* --- with the lock --- */

void gl_add_lane(struct lane *lane, uint64_t stream)
{
    struct lane **bucket = &gl_order()->lanes[gl_bucket(stream)];
    lane->stream = stream;
    lane->next = *bucket;
    *bucket = lane;
}

void gl_take_lane_out(struct lane *lane)
{
    struct lane **place = &gl_order()->lanes[gl_bucket(lane->stream)];
    while (*place && *place != lane)
        place = &(*place)->next;
    if (*place)
        *place = lane->next;
}

void gl_drop_lane(struct lane *lane)
{
    lane->is_over = 1;
    if (!lane->users)
        free_lane(lane);
}

void gl_leave_lane(struct lane *lane)
{
    if (--lane->users)
        return;
    if (lane->is_over)
        free_lane(lane);
    else
        pthread_cond_broadcast(&lane->changed);
}

struct lane *gl_lane_of(uint64_t stream)
{
    struct lane *lane = gl_order()->lanes[gl_bucket(stream)];
    while (lane && (lane->stream != stream || lane->context != gl_thread.context))
        lane = lane->next;
    return lane;
}

void gl_lane_changed(struct lane *lane)
{
    __atomic_add_fetch(&lane->changes, 1, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&lane->changed);
}

static struct lane *lane_at(uint64_t stream)
{
    struct lane *lane = gl_order()->lanes[gl_bucket(stream)];
    while (lane && lane->stream != stream)
        lane = lane->next;
    return lane;
}

/* --- of contexts --- */

void gl_end_streams(uint64_t context)
{
    struct gl_order *all = gl_order();
    gl_lock_order();
    for (unsigned n = 0; n < GL_BUCKETS; n++)
        for (struct lane *lane = all->lanes[n], *next; lane; lane = next) {
            next = lane->next;
            if (lane->context != context || lane->is_known)
                continue;
            gl_take_lane_out(lane);
            gl_drop_lane(lane);
        }
    gl_unlock_order();
}

/* Whether a launch leaves the lane of its stream closed. Where other work followed each time, an
 * open lane only costs time. */
int gl_passes(uint64_t stream)
{
    gl_lock_order();
    struct lane *lane = gl_lane_of(stream);
    const int passes = lane && lane->passes;
    if (passes)
        lane->passes--;
    gl_unlock_order();
    return passes;
}

/* --- functions that Python calls --- */

/* The lane of a stream that Python has; null without memory. */
static struct lane *make_lane(uint64_t stream, uint64_t context)
{
    struct lane *made = is_gone() ? NULL : gl_new_lane(context, 0, 0);
    if (!made)
        return NULL;
    made->is_known = 1;
    gl_lock_order();
    gl_add_lane(made, stream);
    gl_unlock_order();
    return made;
}

/* Python adopts the lane of a stream that C made: returns it with its context, flags and priority;
 * null if there is none. Fork: also called in the child. */
static struct lane *adopt_lane(uint64_t stream, uint64_t *told)
{
    gl_lock_order();
    struct lane *lane = lane_at(stream);
    if (lane) {
        lane->is_known = 1;
        told[0] = lane->context;
        told[1] = lane->flags;
        told[2] = (uint64_t)(int64_t)lane->priority;
    }
    gl_unlock_order();
    return lane;
}

/* A batch to which C appends from now on; null without memory. Until it begins it counts as one
 * unfinished item, for the work before it. */
static struct batch *open_lane(struct lane *lane)
{
    struct batch *made = is_gone() ? NULL : calloc(1, sizeof *made);
    if (!made)
        return NULL;
    gl_lock_order();
    gl_set_open(lane, made);
    gl_begin_items(1);
    lane->idle = 0;
    gl_lane_changed(lane);
    gl_unlock_order();
    return made;
}

/* Close a lane; returns whether the caller must wait for a thread that holds it. */
static int close_lane(struct lane *lane)
{
    if (is_gone())
        return 0;
    gl_lock_order();
    if (lane->open) {
        lane->unused = lane->open->appended ? 0 : lane->unused + 1;
        lane->passes = lane->unused > 1 ? PASSES : 0;
    }
    gl_set_open(lane, NULL);
    lane->idle = 0;
    gl_lane_changed(lane);
    const int held = lane->held;
    gl_unlock_order();
    return held;
}

/* Wait until no thread holds the lane. */
static void wait_for_lane(struct lane *lane)
{
    if (is_gone())
        return;
    gl_lock_order();
    lane->users++;
    while (lane->held)
        pthread_cond_wait(&lane->changed, &gl_order()->lock);
    gl_leave_lane(lane);
    gl_unlock_order();
}

/* Note that a stream has no work and no error. */
static void rest_lane(struct lane *lane)
{
    if (is_gone())
        return;
    gl_lock_order();
    lane->idle = !lane->open;
    gl_unlock_order();
}

/* Whether all items are done. The piece that runs the lane ends now. */
static int settle_lane(struct lane *lane)
{
    if (is_gone())
        return 0;
    gl_lock_order();
    int settled = gl_is_settled(lane);
    if (settled && lane->open) {
        gl_set_open(lane, NULL);
        lane->idle = 1;
        gl_lane_changed(lane);
    }
    gl_unlock_order();
    return settled;
}

static int is_open(struct lane *lane)
{
    return !is_gone() && __atomic_load_n(&lane->open, __ATOMIC_RELAXED);
}

static void release_plan(struct gl_plan *plan)
{
    __atomic_sub_fetch(&plan->users, 1, __ATOMIC_ACQ_REL);
}

static void end_item(struct item *item)
{
    if (item->plan)
        release_plan(item->plan);
    if (item->mark) {
        gl_lock_order();
        if (!item->waits)
            gl_pass(item->mark);
        gl_drop_mark(item->mark);
        gl_unlock_order();
    }
    free(item);
}

/* Drop the rest of a batch, pass its marks, and close the lane. */
static void end_batch(struct lane *lane, struct batch *batch)
{
    if (is_gone())
        return;
    gl_lock_order();
    if (lane->open == batch) {
        gl_set_open(lane, NULL);
        gl_lane_changed(lane);
    }
    gl_finish(batch->appended - batch->done + !batch->begun);
    gl_unlock_order();
    for (struct item *item = batch->first, *next; item; item = next) {
        next = item->next;
        end_item(item);
    }
    free(batch);
}

/* Remove a lane from the table. */
static void withdraw_lane(struct lane *lane)
{
    gl_lock_order();
    gl_take_lane_out(lane);
    gl_unlock_order();
}

/* Free a lane without a batch. */
static void end_lane(struct lane *lane)
{
    if (is_gone())
        return;
    gl_lock_order();
    gl_take_lane_out(lane);
    lane->idle = 0;
    gl_lane_changed(lane);
    while (lane->users)
        pthread_cond_wait(&lane->changed, &gl_order()->lock);
    gl_unlock_order();
    free_lane(lane);
}

static int waits_for_item(const struct lane *lane, const struct batch *batch)
{
    return !batch->first && lane->open == batch && !lane->is_left;
}

/* Wait for an item, or until the lane is closed. A waiting thread is cheaper than opening the lane
 * again. */
static void linger(struct lane *lane, struct batch *batch)
{
    gl_unlock_order();
    for (int n = 0; n < PAUSES && !__atomic_load_n(&batch->first, __ATOMIC_RELAXED) &&
                    __atomic_load_n(&lane->open, __ATOMIC_RELAXED) == batch; n++)
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    gl_lock_order();
    lane->lingers = 1;
    while (waits_for_item(lane, batch))
        pthread_cond_wait(&lane->changed, &gl_order()->lock);
    lane->lingers = 0;
}

/* Note that the taken items are done; the caller holds the lock. */
static void finish(struct lane *lane, struct batch *batch)
{
    gl_finish(batch->taken - batch->done);
    batch->done = batch->taken;
    if (lane->users)
        gl_lane_changed(lane);
}

/* The next item; null if there is none. No thread appends an item after that. */
static struct item *take_item(struct lane *lane, struct batch *batch)
{
    gl_lock_order();
    if (!batch->begun)
        gl_finish(1);
    batch->begun = 1;
    finish(lane, batch);
    if (waits_for_item(lane, batch))
        linger(lane, batch);
    while (lane->held)
        pthread_cond_wait(&lane->changed, &gl_order()->lock);
    struct item *item = batch->first;
    if (item) {
        __atomic_store_n(&batch->first, item->next, __ATOMIC_RELAXED);
        batch->count--;
        batch->taken++;
    } else if (lane->open == batch) {
        gl_set_open(lane, NULL);
        lane->idle = 1;
        gl_lane_changed(lane);
    }
    gl_unlock_order();
    return item;
}

/* Pass the mark of an item, which then counts as done: a thread that waited for it finds the stream
 * settled. */
static void pass(struct lane *lane, struct batch *batch, struct item *item)
{
    gl_lock_order();
    gl_pass(item->mark);
    gl_drop_mark(item->mark);
    finish(lane, batch);
    gl_unlock_order();
    free(item);
}

/* Whether the mark of a waiting item is passed in a short time. Otherwise Python waits for it. */
static int waited_for(const struct item *item, struct gl_failure *failure)
{
    gl_lock_order();
    const int is_passed = gl_wait_for_mark(item->mark, PATIENCE);
    if (!is_passed) {
        item->mark->users++; /* Python */
        failure->plan = (uintptr_t)item->mark;
        failure->code = (int64_t)item->mark->lane;
    }
    gl_unlock_order();
    return is_passed;
}

/* Run a batch until it is empty, a launch fails, or a wait is long. After a failure Python raises
 * the error, releases the plan, and drops the rest. After a wait it continues. */
static int run_batch(struct lane *lane, struct batch *batch, struct gl_failure *failure)
{
    for (struct item *item; (item = take_item(lane, batch));) {
        struct gl_plan *plan = item->plan;
        if (item->mark && !item->waits) {
            pass(lane, batch, item);
            continue;
        }
        if (item->waits) {
            const int is_passed = waited_for(item, failure);
            end_item(item);
            if (!is_passed)
                return WAITS;
            continue;
        }
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
            return FAILED;
        }
        end_item(item);
    }
    return 0;
}

const struct gl_lanes gl_lanes = { make_lane,      open_lane,       close_lane,
                                   run_batch,      end_batch,       end_lane,
                                   release_plan,   rest_lane,       settle_lane,
                                   wait_for_lane,  adopt_lane,      gl_first_ended,
                                   gl_forget_ended, gl_ended_count, withdraw_lane,   is_open };
