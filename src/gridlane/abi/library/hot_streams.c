/* Functions of stubs on streams of the program: they append to queues, wait for them, and do the
 * work of idle streams on the caller. */
#include "hot_order.h"

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

/* --- with the lock --- */

int gl_has_place(const struct gl_queue *queue)
{
    return queue && queue->has_worker && gl_unfinished_of(queue) < MOST_ITEMS;
}

int gl_put_item(struct gl_queue *queue, struct gl_item *item)
{
    if (!gl_has_place(queue))
        return 0;
    gl_put(queue, item);
    return 1;
}

int gl_put_mark(struct gl_queue *queue, struct gl_mark *mark, uint32_t kind)
{
    struct gl_item *item = gridlane_item(kind, GL_ITEM_ALWAYS, (uintptr_t)mark);
    if (!item || !gl_put_item(queue, item)) {
        free(item);
        return 0;
    }
    gl_use_mark(mark);
    return 1;
}

/* Whether the present work of a queue is done, or, for "all", later work as well. Waits for a short
 * time; Python continues a longer wait, which can be interrupted. */
static int is_done(struct gl_queue *queue, int waits, int all)
{
    const struct gl_wait present = { queue, NULL, queue->appended };
    int done = !gl_unfinished_of(queue);
    if (!done && waits) {
        queue->users++;
        done = gl_wait_locked(&present, PATIENCE, NULL) > 0 && (!all || !gl_unfinished_of(queue));
        done = done && !queue->has_failed;
        gl_drop_queue(queue);
    }
    return done;
}

/* --- without --- */

/* Append a launch to a stream, with the plan of the caller; false if Python must do it. */
int gl_append(struct gl_thread *me, struct gl_plan *plan, const void *stream, const uint32_t *grid,
              void **arguments, size_t shared)
{
    const struct gl_launch launch = { plan->launch, plan->native, plan, &plan->users,
                                      { grid[0], grid[1], grid[2] }, (uint32_t)shared };
    struct gl_item *item = gridlane_launch_item(0, &launch, plan->bytes);
    if (!item)
        return 0;
    int put = gl_pack(plan, arguments, gl_params(item));
    if (put) {
        gl_lock_order();
        put = gl_put_item(gl_queue_of(me, stream), item);
        gl_unlock_order();
    }
    if (!put)
        free(item);
    return put;
}

/* Hold the queue of an idle stream, so that only this thread does its work; null if the stream has
 * work, for which "waits" waits a while. */
static struct gl_queue *hold(const void *stream, int waits)
{
    struct gl_thread *me = gl_me();
    const int may_wait = waits && !gl_holds_python(); /* the work may need the GIL */
    gl_lock_order();
    struct gl_queue *queue = gl_queue_of(me, stream);
    if (queue && is_done(queue, may_wait, 1) && queue == gl_queue_of(me, stream))
        gl_hold_queue(queue);
    else
        queue = NULL;
    gl_unlock_order();
    return queue;
}

static void let_go(struct gl_queue *queue)
{
    gl_lock_order();
    gl_let_go_of_queue(queue);
    gl_unlock_order();
}

static int append_move(const void *stream, const struct gl_move *move)
{
    struct gl_thread *me = gl_me();
    struct gl_item *item = gridlane_item(GL_MOVE, 0, 0);
    if (!item)
        return 0;
    item->move = *move;
    gl_lock_order();
    const int put = gl_put_item(gl_queue_of(me, stream), item);
    gl_unlock_order();
    if (!put)
        free(item);
    return put;
}

/* Do a copy or a fill on a stream of the program; the caller waits for it if "waits". */
int gl_do(const void *stream, const struct gl_move *move, int waits)
{
    struct gl_thread *me = gl_me();
    if (!gl_knows(me, GL_READY | GL_UNCAPTURED))
        return 0;
    struct gl_queue *queue = waits || move->size <= MOST_AT_ONCE ? hold(stream, waits) : NULL;
    if (!queue)
        return !waits && append_move(stream, move);
    gl_move(move);
    let_go(queue);
    return 1;
}

/* Wait for all queues. After a long wait, where other threads keep appending, Python does the next
 * waits, for the work of that time alone. */
static int waited_for_all(void)
{
    static __thread unsigned passes;
    if (passes) {
        passes--;
        return 0;
    }
    const int is_idle = gl_wait_for_all(gl_process.queues, PATIENCE);
    passes = is_idle ? 0 : PASSES;
    return is_idle;
}

int gl_is_quiet(struct gl_thread *me, unsigned knows)
{
    if (!gl_knows(me, knows | GL_QUIET))
        return 0;
    if (gl_unfinished_of_all(gl_process.queues) &&
        (gl_holds_python() /* the work may need the GIL */ || !waited_for_all()))
        return 0;
    return gl_knows(me, knows | GL_QUIET); /* a queue fails before its item is done */
}

/* Whether the work of a stream of the program is done; sets "is_known" if C knows that it is
 * not. */
int gl_is_done(struct gl_thread *me, const void *stream, int waits, int *is_known)
{
    if (!gl_knows(me, GL_READY | GL_UNCAPTURED | GL_IDLE))
        return 0;
    const int may_wait = waits && !gl_holds_python(); /* the work may need the GIL */
    gl_lock_order();
    struct gl_queue *queue = gl_queue_of(me, stream);
    const int done = queue && is_done(queue, may_wait, 0);
    *is_known = queue && gl_is_served(queue); /* else Python starts a thread */
    gl_unlock_order();
    return done;
}

/* --- streams that C makes --- */

/* Python adopts the stream at the first call about it that C does not answer. */
int gl_new_stream(void *made, uint32_t flags, int32_t priority)
{
    struct gl_thread *me = gl_me();
    if (!made || flags & ~NON_BLOCKING || !gl_knows(me, GL_READY))
        return 0;
    const int32_t within = priority > 0 ? 0 : priority < GREATEST ? GREATEST : priority;
    gl_lock_order();
    /* Lock order: the end of a context changes the number first, then takes this lock. */
    struct gl_queue *queue = gl_knows(me, GL_READY) ? gl_new_queue(gl_process.queues) : NULL;
    uint64_t handle = queue ? gl_new_handle() : 0;
    const struct stream stream = { handle, me->context, flags, within, queue, 0, NULL };
    if (handle && !gl_add_stream(&stream)) {
        gl_drop_queue(queue);
        handle = 0;
    }
    gl_unlock_order();
    if (handle)
        memcpy(made, &handle, sizeof handle);
    return handle != 0;
}

/* End a stream. Its work still runs. */
int gl_end_stream(const void *stream)
{
    struct gl_thread *me = gl_me();
    if ((uintptr_t)stream <= (uintptr_t)GL_OF_THREAD || !gl_knows(me, GL_READY | GL_UNCAPTURED))
        return 0;
    gl_lock_order();
    struct stream *found = gl_stream_of(me, (uintptr_t)stream);
    const int done = found && !found->queue->has_failed && !found->queue->is_captured &&
                     gl_knows(me, GL_READY | GL_UNCAPTURED) &&
                     (!found->is_known || gl_note_ended(found->handle));
    if (done) {
        found->queue->is_over = 1; /* its thread ends with its work */
        if (found->queue->lingers)
            pthread_cond_signal(&found->queue->work);
        gl_take_stream_out(found); /* no thread appends to it from now on */
    }
    gl_unlock_order();
    return done;
}

int gl_synchronize(const void *stream)
{
    int is_known;
    return gl_is_default(stream) ? gl_wait() : gl_is_done(gl_me(), stream, 1, &is_known);
}

int gl_query(const void *stream)
{
    struct gl_thread *me = gl_me();
    if (!gl_is_default(stream)) {
        int is_known = 0;
        return gl_is_done(me, stream, 0, &is_known) ? 0 : is_known ? GL_NOT_READY : -1;
    }
    const unsigned knows = GL_READY | GL_QUIET | GL_IDLE;
    if (!gl_knows(me, knows))
        return -1;
    if (gl_unfinished_of_all(gl_process.queues)) /* or of streams in no order with this one */
        return -1;
    if (!gl_knows(me, knows) || !gl_try_turn()) /* as in gl_is_quiet */
        return -1;
    gl_give_turn();
    return 0;
}
