/* Functions of stubs on streams of the program: they append to lanes, wait for them, and do the
 * work of idle streams on the caller. */
#include "hot_lanes.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum {
    NON_BLOCKING = 1, /* CU_STREAM_NON_BLOCKING */
    GREATEST = -5,    /* the priority; see calls/streams.py */
    MOST_ITEMS = 4096,
    PASSES = 15,
    MOST_AT_ONCE = 64 << 10 /* bytes of a copy that the caller does although it need not wait */
};
static const int64_t PATIENCE = 2000000; /* ns */

/* Wait for a change: poll without the lock, then sleep. The next change is usually soon. */
static int wait_for_change(struct lane *lane, const struct timespec *until)
{
    uint32_t seen = lane->changes;
    gl_unlock_order();
    for (const int64_t end = gl_now() + GL_LOOKS;
         __atomic_load_n(&lane->changes, __ATOMIC_RELAXED) == seen && gl_now() < end;)
        sched_yield();
    gl_lock_order();
    return lane->changes != seen || !pthread_cond_timedwait(&lane->changed, &gl_order()->lock, until);
}

/* Whether the present work of a stream is done, or, for "all", later work as well. Waits for a
 * short time; Python continues a longer wait, which can be interrupted. */
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

/* An item with so many bytes of parameters; null without memory. */
static struct item *new_item(struct gl_plan *plan, size_t bytes)
{
    struct item *made = aligned_alloc(64, (sizeof *made + bytes + 63) / 64 * 64);
    if (made) {
        made->next = NULL;
        made->plan = plan;
        made->mark = NULL;
        made->waits = 0;
    }
    return made;
}

/* Append an item to a lane; the caller holds the lock; false if the lane is not open. */
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
    gl_begin_items(1);
    if (lane->lingers)
        gl_lane_changed(lane);
    return 1;
}

int gl_put_mark(struct lane *lane, struct gl_mark *mark, int waits)
{
    struct item *item = new_item(NULL, 0);
    if (!item)
        return 0;
    item->mark = mark;
    item->waits = waits;
    if (!put_item(lane, item)) {
        free(item);
        return 0;
    }
    mark->users++;
    return 1;
}

/* Append a launch to the lane of a stream, with the plan of the caller; false if the lane is not
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
        gl_lock_order();
        put = put_item(gl_lane_of(stream), item);
        gl_unlock_order();
    }
    if (!put)
        free(item);
    return put;
}

/* Hold the lane of an idle stream, so that only this thread does its work; null if the stream has
 * work, for which "waits" waits a while. */
struct lane *gl_hold(const void *stream, int waits)
{
    if (!gl_knows(GL_READY | GL_UNCAPTURED))
        return NULL;
    int may_wait = waits && !gl_holds_python(); /* the work may need the GIL */
    gl_lock_order();
    struct lane *lane = gl_lane_of((uintptr_t)stream);
    /* Lock order: the begin of a capture changes the number first, then closes lanes. */
    int settled = lane && (may_wait ? waited(lane, 1) : gl_is_settled(lane)) &&
                  gl_knows(GL_READY | GL_UNCAPTURED);
    if (settled) {
        lane->held = 1;
        lane->users++;
    }
    gl_unlock_order();
    return settled ? lane : NULL;
}

void gl_let_go(struct lane *lane)
{
    gl_lock_order();
    lane->held = 0;
    gl_lane_changed(lane);
    gl_leave_lane(lane);
    gl_unlock_order();
}

static int append_move(const void *stream, const struct gl_move *move)
{
    if (!gl_knows(GL_READY | GL_UNCAPTURED))
        return 0;
    struct item *item = new_item(NULL, 0);
    if (!item)
        return 0;
    item->move = *move;
    gl_lock_order();
    int put = gl_knows(GL_READY | GL_UNCAPTURED) &&
              put_item(gl_lane_of((uintptr_t)stream), item);
    gl_unlock_order();
    if (!put)
        free(item);
    return put;
}

/* Do a copy or a fill on a stream of the program; the caller waits for it if "waits". */
int gl_do(const void *stream, const struct gl_move *move, int waits)
{
    struct lane *lane = waits || move->size <= MOST_AT_ONCE ? gl_hold(stream, waits) : NULL;
    if (!lane)
        return !waits && append_move(stream, move);
    gl_move(move);
    gl_let_go(lane);
    return 1;
}

/* Wait for all lanes. After a long wait, where other threads keep appending, Python does the next
 * waits: it closes the lanes. */
static int waited_for_all(void)
{
    static __thread unsigned passes;
    if (passes) {
        passes--;
        return 0;
    }
    gl_lock_order();
    const int is_done = gl_wait_for_mark(NULL, PATIENCE);
    gl_unlock_order();
    passes = is_done ? 0 : PASSES;
    return is_done;
}

int gl_is_quiet(unsigned knows)
{
    if (!gl_knows(knows | GL_QUIET))
        return 0;
    if (gl_unfinished() && (gl_holds_python() /* the work may need the GIL */ || !waited_for_all()))
        return 0;
    return gl_knows(knows | GL_QUIET); /* a lane that fails changes the number before it is done */
}

/* Whether the work of a stream of the program is done; sets "is_known" if C knows that it is
 * not. */
int gl_is_done(const void *stream, int waits, int *is_known)
{
    if (!gl_knows(GL_READY | GL_UNCAPTURED | GL_IDLE))
        return 0;
    int may_wait = waits && !gl_holds_python(); /* the work may need the GIL */
    gl_lock_order();
    struct lane *lane = gl_lane_of((uintptr_t)stream);
    int done = lane && (may_wait ? waited(lane, 0) : gl_is_settled(lane));
    *is_known = lane && lane->open;
    gl_unlock_order();
    return done;
}

/* --- streams that C makes --- */

/* Python adopts the stream at the first call about it that C does not answer. */
int gl_new_stream(void *made, uint32_t flags, int32_t priority)
{
    if (!made || flags & ~NON_BLOCKING || !gl_knows(GL_READY))
        return 0;
    const int32_t within = priority > 0 ? 0 : priority < GREATEST ? GREATEST : priority;
    struct lane *lane = gl_new_lane(gl_thread.context, flags, within);
    if (!lane)
        return 0;
    lane->idle = 1;
    gl_lock_order();
    /* Lock order: the end of a context changes the number first, then takes this lock. */
    uint64_t handle = gl_knows(GL_READY) ? gl_new_handle() : 0;
    if (handle)
        gl_add_lane(lane, handle);
    else
        gl_drop_lane(lane);
    gl_unlock_order();
    if (handle)
        memcpy(made, &handle, sizeof handle);
    return handle != 0;
}

/* End a stream. Its work still runs. */
int gl_end_stream(const void *stream)
{
    if (gl_is_default(stream) || !gl_knows(GL_READY | GL_UNCAPTURED))
        return 0;
    gl_lock_order();
    struct lane *lane = gl_lane_of((uintptr_t)stream);
    int done = lane && gl_knows(GL_READY | GL_UNCAPTURED) &&
               (!lane->is_known || gl_note_ended(lane->stream));
    if (done) {
        gl_take_lane_out(lane); /* no thread appends to it from now on */
        if (gl_is_settled(lane)) {
            gl_set_open(lane, NULL);
            lane->idle = 1; /* for threads that wait for it */
        }
        lane->is_left = 1;
        gl_lane_changed(lane);
        if (!lane->is_known)
            gl_drop_lane(lane);
    }
    gl_unlock_order();
    return done;
}
