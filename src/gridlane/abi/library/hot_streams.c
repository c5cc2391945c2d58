/* What the stubs do on streams of the program's own: they append to lanes, wait for them, and do work
 * of streams that have none themselves. */
#include "hot_lanes.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_ITEMS = 4096,
    MOST_AT_ONCE = 64 << 10 /* bytes of a copy that the caller does though it need not wait */
};
static const int64_t PATIENCE = 2000000; /* ns */

/* Wait a while, without the lock and then asleep: the next change comes soon, if it comes. */
static int wait_for_change(struct lane *lane, const struct timespec *until)
{
    uint32_t seen = lane->changes;
    pthread_mutex_unlock(&gl_lane_lock);
    for (int n = 0; n < GL_PAUSES && __atomic_load_n(&lane->changes, __ATOMIC_RELAXED) == seen; n++)
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    pthread_mutex_lock(&gl_lane_lock);
    return lane->changes != seen || !pthread_cond_timedwait(&lane->changed, &gl_lane_lock, until);
}

/* Whether the work that a stream has now is done, or, for "all", what comes meanwhile as well. Who
 * waits does so for a short time, and then lets Python wait, which can be interrupted. */
static int waited(struct lane *lane, int all)
{
    const struct batch *batch = lane->open;
    const uint64_t target = batch ? batch->appended : 0;
    const struct timespec until = gl_after_ns(PATIENCE);
    int cancels, done;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancels);
    lane->users++;
    for (;;) {
        done = gl_is_settled(lane) || (!all && !lane->held && batch && lane->open == batch &&
                                    batch->begun && batch->done >= target);
        if (done || !(lane->held || (batch && lane->open == batch)) ||
            !wait_for_change(lane, &until))
            break;
    }
    gl_leave_lane(lane);
    pthread_setcancelstate(cancels, NULL);
    return done;
}

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
        gl_lane_changed(lane);
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
        pthread_mutex_lock(&gl_lane_lock);
        put = put_item(gl_lane_of(stream), item);
        pthread_mutex_unlock(&gl_lane_lock);
    }
    if (!put)
        free(item);
    return put;
}

/* The lane of a stream that has nothing to do, for work that this thread does itself, and nobody
 * else meanwhile; null if there is work, for which "waits" waits a while. */
struct lane *gl_hold(const void *stream, int waits)
{
    if (!gl_knows(GL_READY | GL_UNCAPTURED) || gl_thread.state == GL_AHEAD)
        return NULL;
    int may_wait = waits && !gl_holds_python(); /* which the work may need */
    pthread_mutex_lock(&gl_lane_lock);
    struct lane *lane = gl_lane_of((uintptr_t)stream);
    /* Who begins a capture changes the number first, and closes lanes then. */
    int settled = lane && (may_wait ? waited(lane, 1) : gl_is_settled(lane)) &&
                  gl_knows(GL_READY | GL_UNCAPTURED);
    if (settled) {
        lane->held = 1;
        lane->users++;
    }
    pthread_mutex_unlock(&gl_lane_lock);
    return settled ? lane : NULL;
}

void gl_let_go(struct lane *lane)
{
    pthread_mutex_lock(&gl_lane_lock);
    lane->held = 0;
    gl_lane_changed(lane);
    gl_leave_lane(lane);
    pthread_mutex_unlock(&gl_lane_lock);
}

static int append_move(const void *stream, const struct gl_move *move)
{
    if (!gl_knows(GL_READY | GL_UNCAPTURED) || gl_thread.state == GL_AHEAD)
        return 0;
    struct item *item = new_item(NULL, 0);
    if (!item)
        return 0;
    item->move = *move;
    pthread_mutex_lock(&gl_lane_lock);
    int put = gl_knows(GL_READY | GL_UNCAPTURED) &&
              put_item(gl_lane_of((uintptr_t)stream), item);
    pthread_mutex_unlock(&gl_lane_lock);
    if (!put)
        free(item);
    return put;
}

/* Do a copy or a fill on a stream of the program's, which the caller waits for if "waits". */
int gl_do(const void *stream, const struct gl_move *move, int waits)
{
    struct lane *lane = waits || move->size <= MOST_AT_ONCE ? gl_hold(stream, waits) : NULL;
    if (!lane)
        return !waits && append_move(stream, move);
    gl_move(move);
    gl_let_go(lane);
    return 1;
}

/* Whether the work of a stream of the program's is done. */
int gl_is_done(const void *stream, int waits)
{
    if (!gl_knows(GL_READY | GL_UNCAPTURED | GL_IDLE) || gl_thread.state == GL_AHEAD)
        return 0;
    int may_wait = waits && !gl_holds_python(); /* which the work may need */
    pthread_mutex_lock(&gl_lane_lock);
    struct lane *lane = gl_lane_of((uintptr_t)stream);
    int done = lane && (may_wait ? waited(lane, 0) : gl_is_settled(lane));
    pthread_mutex_unlock(&gl_lane_lock);
    return done;
}
