/* Ordered queues of work, their workers, and waits.
 *
 * A worker is whatever thread sits in gridlane_queue_next. It does the items of C itself, without
 * any lock, and returns for those of Python. An item is done when the worker asks for the next one.
 *
 * The names in brackets are the steps of tests/native/model/queues.py. */
#include "queue.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct gl_item) == 64, "parameters behind an item are aligned");
_Static_assert(offsetof(struct gl_queues, space) == 8, "queues_by_ctypes.py reads it there");

/* --- with the lock --- */

void gl_use_mark(struct gl_mark *mark)
{
    mark->users++;
}

void gl_drop_mark(struct gl_mark *mark)
{
    if (--mark->users)
        return;
    if (mark->queue)
        gl_drop_queue(mark->queue);
    free(mark);
}

struct gl_queue *gl_new_queue(struct gl_queues *all)
{
    struct gl_queue *made = all->spare;
    if (made) {
        all->spare = made->next;
        all->spares--;
    } else if ((made = malloc(sizeof *made))) {
        gl_cond_init(&made->work);
        gl_cond_init(&made->finished);
    } else {
        return NULL;
    }
    memset(made, 0, offsetof(struct gl_queue, failure));
    made->all = all;
    made->users = 1;
    made->wanted = UINT64_MAX;
    made->next = all->first;
    made->place = &all->first;
    if (made->next)
        made->next->place = &made->next;
    all->first = made;
    return made;
}

/* Keep some with their conditions, which cost most of a new queue. Fork: no thread is in one. */
static void free_queue(struct gl_queue *queue)
{
    struct gl_queues *all = queue->all;
    if (all->spares < GL_MOST_SPARE) {
        queue->next = all->spare;
        all->spare = queue;
        all->spares++;
        return;
    }
    pthread_cond_destroy(&queue->work);
    pthread_cond_destroy(&queue->finished);
    free(queue);
}

void gl_drop_queue(struct gl_queue *queue)
{
    if (--queue->users)
        return;
    struct gl_queues *all = queue->all;
    *queue->place = queue->next;
    if (queue->next)
        queue->next->place = queue->place;
    all->unfinished -= gl_unfinished_of(queue); /* no worker has come for it */
    all->failed -= (uint32_t)queue->has_failed;
    for (struct gl_item *item = queue->first, *next; item; item = next) {
        next = item->next;
        gl_free_item(all, item);
    }
    free_queue(queue);
}

static void pass(struct gl_mark *mark, int64_t time)
{
    struct gl_queue *queue = mark->queue;
    if (mark->is_passed)
        return;
    mark->time = time;
    __atomic_store_n(&mark->is_passed, 1, __ATOMIC_RELEASE);
    mark->queue = NULL;
    if (!queue)
        return;
    if (mark->is_awaited)
        pthread_cond_broadcast(&queue->finished);
    gl_drop_queue(queue);
}

/* [over] */
void gl_leave_to_python(struct gl_queues *all, struct gl_item *item, uint64_t piece)
{
    item->kind = GL_CALL;
    item->number = piece;
    item->next = all->over;
    __atomic_store_n(&all->over, item, __ATOMIC_RELEASE);
}

uint64_t gridlane_queues_forget(struct gl_queues *all) /* [forget] */
{
    pthread_mutex_lock(&all->lock);
    struct gl_item *item = all->over;
    if (item)
        __atomic_store_n(&all->over, item->next, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&all->lock);
    const uint64_t piece = item ? item->number : 0;
    free(item);
    return piece;
}

void gl_free_item(struct gl_queues *all, struct gl_item *item)
{
    if (item->kind == GL_LAUNCH && !item->launch.users) {
        gl_leave_to_python(all, item, (uintptr_t)item->launch.plan);
        return;
    }
    if (item->kind == GL_LAUNCH)
        __atomic_sub_fetch(item->launch.users, 1, __ATOMIC_ACQ_REL);
    if (item->kind == GL_PASS)
        pass(item->mark, (int64_t)gl_elapsed());
    if (item->kind == GL_PASS || item->kind == GL_FOLLOW)
        gl_drop_mark(item->mark);
    free(item);
}

static void count(struct gl_queue *queue, uint64_t appended, uint64_t done)
{
    struct gl_queues *all = queue->all;
    queue->appended += appended;
    __atomic_store_n(&queue->done, queue->done + done, __ATOMIC_RELEASE);
    __atomic_store_n(&all->unfinished, all->unfinished + appended - done, __ATOMIC_RELEASE);
    if (done && queue->done >= queue->wanted) {
        queue->wanted = UINT64_MAX;
        pthread_cond_broadcast(&queue->finished);
    }
    if (done && !all->unfinished && all->waiting)
        pthread_cond_broadcast(&all->idle);
}

/* What the worker has done: its mark passes, and it counts as done, in one step. So a thread that
 * waited for the mark finds no work. */
static void finish_current(struct gl_queue *queue) /* [finish] */
{
    struct gl_item *item = queue->current;
    if (!item)
        return;
    queue->current = NULL;
    queue->spinning -= item->flags & GL_ITEM_SPINS ? 1 : 0;
    count(queue, 0, 1);
    gl_free_item(queue->all, item);
}

int gl_put(struct gl_queue *queue, struct gl_item *first) /* [append] */
{
    struct gl_item *last = first;
    for (uint64_t items = 1;; items++) {
        if (last->kind == GL_PASS && !last->mark->queue && !last->mark->is_passed) {
            last->mark->queue = queue;
            queue->users++;
        }
        queue->spinning += last->flags & GL_ITEM_SPINS ? 1 : 0;
        if (!last->next) {
            count(queue, items, 0);
            break;
        }
        last = last->next;
    }
    if (queue->first)
        queue->last->next = first;
    else
        __atomic_store_n(&queue->first, first, __ATOMIC_RELEASE);
    queue->last = last;
    if (queue->lingers)
        pthread_cond_signal(&queue->work);
    return !queue->has_worker;
}

void gl_hold_queue(struct gl_queue *queue) /* [hold] */
{
    queue->is_held = 1;
    queue->users++;
    count(queue, 1, 0);
}

void gl_let_go_of_queue(struct gl_queue *queue) /* [let go] */
{
    queue->is_held = 0;
    count(queue, 0, 1);
    if (queue->lingers)
        pthread_cond_signal(&queue->work);
    gl_drop_queue(queue);
}

/* --- the worker --- */

static int has_item(const struct gl_queue *queue)
{
    return queue->first && !queue->is_held;
}

/* Wait for an item; the next append is usually soon. Polling would delay a thread that waited on the
 * same processor, and appends next. */
static void linger(struct gl_queue *queue)
{
    struct gl_queues *all = queue->all;
    if (has_item(queue) || queue->is_over)
        return;
    const int place = gl_place();
    const int polls = place && place == queue->place_of_wait ? 0 : GL_LINGERS;
    pthread_mutex_unlock(&all->lock);
    for (int n = 0; n < polls && !__atomic_load_n(&queue->first, __ATOMIC_RELAXED); n++)
        gl_pause();
    pthread_mutex_lock(&all->lock);
    queue->lingers = 1;
    while (!has_item(queue) && !all->over && !(queue->is_over && !queue->is_held)) /* [linger] */
        pthread_cond_wait(&queue->work, &all->lock);
    queue->lingers = 0;
}

static void begin_item(struct gl_queue *queue)
{
    struct gl_item *item = queue->first;
    __atomic_store_n(&queue->first, item->next, __ATOMIC_RELAXED);
    item->next = NULL;
    queue->current = item;
}

/* Launch without the lock; whether it failed. */
static int has_broken(struct gl_queue *queue, struct gl_item *item)
{
    const struct gl_launch *launch = &item->launch;
    struct gl_failure *failure = &queue->failure;
    pthread_mutex_unlock(&queue->all->lock);
    memset(failure->report, 0, sizeof failure->report);
    const int code = launch->launch(launch->native, gl_params(item), launch->grid[0],
                                    launch->grid[1], launch->grid[2], launch->shared,
                                    failure->report);
    if (code) {
        failure->plan = (uintptr_t)launch->plan;
        failure->is_of_python = !launch->users;
        failure->code = code;
        memcpy(failure->grid, launch->grid, sizeof failure->grid);
    }
    pthread_mutex_lock(&queue->all->lock);
    return code != 0;
}

/* Do the current item; what the worker must do itself, or GL_END for nothing. */
static int do_current(struct gl_queue *queue)
{
    struct gl_item *item = queue->current;
    const int is_dropped = queue->has_failed && !(item->flags & GL_ITEM_ALWAYS); /* [drop] */
    if (item->kind == GL_CALL)
        return is_dropped ? GL_DROPPED : GL_RUN;
    if (item->kind == GL_FOLLOW) {
        const struct gl_wait wait = { NULL, item->mark, 0 };
        int is_over;
        while (!(is_over = gl_wait_locked(&wait, INT64_C(1) << 40, queue))) /* [follow] */
            continue;
        return is_over < 0 ? GL_CIRCULAR : GL_END;
    }
    if (is_dropped || item->kind == GL_PASS) /* it passes when it counts as done */
        return GL_END;
    if (item->kind == GL_LAUNCH)
        return has_broken(queue, item) ? GL_BROKE : GL_END;
    pthread_mutex_unlock(&queue->all->lock);
    gl_move(&item->move);
    pthread_mutex_lock(&queue->all->lock);
    return GL_END;
}

int gridlane_queue_next(struct gl_queue *queue, uint64_t *number)
{
    struct gl_queues *all = queue->all;
    int code = GL_END;
    pthread_mutex_lock(&all->lock);
    finish_current(queue);
    while (queue->has_worker) { /* not in the child of a fork */
        linger(queue);
        if (!has_item(queue)) {
            if (all->over)
                code = GL_FORGET;
            break;
        }
        if (queue->stops) {
            queue->stops = 0;
            code = GL_WITHDRAW;
            break;
        }
        begin_item(queue); /* [take] */
        *number = queue->current->number;
        code = do_current(queue);
        if (code)
            break;
        finish_current(queue);
    }
    pthread_mutex_unlock(&all->lock);
    return code;
}

int gridlane_queue_serve(struct gl_queue *queue)
{
    pthread_mutex_lock(&queue->all->lock);
    const int serves = !queue->has_worker; /* [serve] */
    queue->has_worker = 1;
    queue->users += (uint32_t)serves;
    pthread_mutex_unlock(&queue->all->lock);
    return serves;
}

int gridlane_queue_leave(struct gl_queue *queue)
{
    struct gl_queues *all = queue->all;
    pthread_mutex_lock(&all->lock);
    const int has_work = gl_unfinished_of(queue) != 0;
    if (queue->has_worker) {
        queue->has_worker = 0; /* [leave] */
        gl_drop_queue(queue);
    }
    pthread_mutex_unlock(&all->lock);
    return has_work;
}

/* --- users --- */

struct gl_item *gridlane_item(uint32_t kind, uint32_t flags, uint64_t number)
{
    struct gl_item *made = malloc(sizeof *made);
    if (made) {
        made->next = NULL;
        made->kind = kind;
        made->flags = flags;
        made->number = number;
    }
    return made;
}

struct gl_item *gridlane_launch_item(uint32_t flags, const struct gl_launch *launch, size_t bytes)
{
    struct gl_item *made = aligned_alloc(64, (sizeof *made + bytes + 63) / 64 * 64);
    if (made)
        *made = (struct gl_item){ .kind = GL_LAUNCH, .flags = flags, .launch = *launch };
    return made;
}

struct gl_queue *gridlane_queue_new(struct gl_queues *all)
{
    pthread_mutex_lock(&all->lock);
    struct gl_queue *made = gl_new_queue(all);
    pthread_mutex_unlock(&all->lock);
    return made;
}

void gridlane_item_free(struct gl_item *item)
{
    free(item);
}

void gridlane_queue_release(struct gl_queue *queue)
{
    struct gl_queues *all = queue->all;
    pthread_mutex_lock(&all->lock);
    gl_drop_queue(queue);
    pthread_mutex_unlock(&all->lock);
}

int gridlane_queue_append(struct gl_queue *queue, struct gl_item *first)
{
    pthread_mutex_lock(&queue->all->lock);
    for (struct gl_item *item = first; item; item = item->next)
        if (item->kind == GL_PASS || item->kind == GL_FOLLOW)
            gl_use_mark(item->mark);
    const int needs_worker = gl_put(queue, first);
    pthread_mutex_unlock(&queue->all->lock);
    return needs_worker;
}

struct gl_failure *gridlane_queue_failure(struct gl_queue *queue)
{
    return &queue->failure;
}

void gridlane_queue_set(struct gl_queue *queue, int what, int value)
{
    struct gl_queues *all = queue->all;
    pthread_mutex_lock(&all->lock);
    switch (what) {
    case GL_FAILED_FLAG: /* [fail] */
        __atomic_store_n(&all->failed, all->failed + (uint32_t)(value - queue->has_failed),
                         __ATOMIC_RELEASE);
        queue->has_failed = value;
        break;
    case GL_OVER_FLAG:
        queue->is_over = value;
        pthread_cond_signal(&queue->work);
        break;
    case GL_STOPS_FLAG:
        queue->stops = value;
        break;
    default:
        queue->is_captured = value; /* [capture] */
    }
    pthread_mutex_unlock(&all->lock);
}

void gridlane_queue_end(struct gl_queue *queue, const void *unused)
{
    (void)unused;
    gridlane_queue_set(queue, GL_OVER_FLAG, 1);
}

uint64_t gridlane_queue_get(struct gl_queue *queue, int what)
{
    pthread_mutex_lock(&queue->all->lock);
    const uint64_t values[] = { gl_unfinished_of(queue), queue->appended, queue->spinning,
                                (uint64_t)queue->has_worker, (uint64_t)queue->stops };
    pthread_mutex_unlock(&queue->all->lock);
    return values[what];
}

uint32_t gridlane_queues_busy(struct gl_queues *all, struct gl_queue **made, uint32_t most)
{
    uint32_t found = 0;
    if (!gl_unfinished_of_all(all))
        return 0;
    pthread_mutex_lock(&all->lock);
    for (struct gl_queue *queue = all->first; queue; queue = queue->next)
        if (gl_unfinished_of(queue)) {
            if (found < most)
                made[found] = queue;
            found++;
        }
    pthread_mutex_unlock(&all->lock);
    return found;
}

void gridlane_queues_refuse(struct gl_queues *all, int change)
{
    pthread_mutex_lock(&all->lock);
    __atomic_store_n(&all->refusals, all->refusals + (uint32_t)change, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&all->lock);
}

/* --- marks --- */

struct gl_mark *gridlane_mark(void)
{
    struct gl_mark *made = calloc(1, sizeof *made);
    if (made)
        made->users = 1;
    return made;
}

void gridlane_mark_release(struct gl_queues *all, struct gl_mark *mark)
{
    pthread_mutex_lock(&all->lock);
    gl_drop_mark(mark);
    pthread_mutex_unlock(&all->lock);
}

/* --- moves --- */

void gl_move(const struct gl_move *move)
{
    void *const to = (void *)(uintptr_t)move->to;
    if (!move->width)
        memmove(to, (const void *)(uintptr_t)move->from, move->size);
    else if (move->width == 1)
        memset(to, (int)move->value, move->size);
    else if (move->width == 2)
        for (size_t n = 0; n < move->size / 2; n++)
            ((uint16_t *)to)[n] = (uint16_t)move->value;
    else
        for (size_t n = 0; n < move->size / 4; n++)
            ((uint32_t *)to)[n] = move->value;
}
