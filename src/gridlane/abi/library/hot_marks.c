/* Marks: positions in the work of lanes at which events were recorded. An event, the items that
 * pass or wait for its mark, and Python each own one use of it. The last use frees it. */
#include "hot_lanes.h"

#include <sched.h>
#include <stdlib.h>

struct gl_mark *gl_new_mark(struct lane *lane)
{
    struct gl_mark *made = calloc(1, sizeof *made);
    if (made) {
        made->users = 1;
        made->lane = (uintptr_t)lane;
    }
    return made;
}

/* --- with the lock --- */

void gl_drop_mark(struct gl_mark *mark)
{
    if (mark && !--mark->users)
        free(mark);
}

void gl_pass(struct gl_mark *mark)
{
    struct gl_order *all = gl_order();
    mark->time = gl_now();
    __atomic_store_n(&mark->is_passed, 1, __ATOMIC_RELEASE);
    if (all->waiting)
        pthread_cond_broadcast(&all->passed);
}

void gl_finish(uint64_t items)
{
    struct gl_order *all = gl_order();
    __atomic_store_n(&all->unfinished, all->unfinished - items, __ATOMIC_RELEASE);
    if (items && !all->unfinished && all->waiting)
        pthread_cond_broadcast(&all->passed);
}

/* Also called without the lock. */
static int is_over(const struct gl_mark *mark)
{
    return mark ? __atomic_load_n(&mark->is_passed, __ATOMIC_ACQUIRE) : !gl_unfinished();
}

int gl_wait_for_mark(struct gl_mark *mark, int64_t ns)
{
    struct gl_order *all = gl_order();
    const struct timespec until = gl_after_ns(ns);
    int cancels;
    if (is_over(mark))
        return 1;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancels);
    if (mark)
        mark->users++;
    gl_unlock_order();
    for (const int64_t end = gl_now() + GL_LOOKS; !is_over(mark) && gl_now() < end;)
        sched_yield();
    gl_lock_order();
    all->waiting++;
    while (!is_over(mark) && !pthread_cond_timedwait(&all->passed, &all->lock, &until))
        continue;
    all->waiting--;
    const int is_passed = is_over(mark);
    gl_drop_mark(mark);
    pthread_setcancelstate(cancels, NULL);
    return is_passed;
}

/* --- functions that Python calls, also in the child of a fork --- */

static int is_passed(struct gl_mark *mark, int64_t *time)
{
    gl_lock_order();
    const int passed = mark->is_passed;
    *time = mark->time;
    gl_unlock_order();
    return passed;
}

static int wait_for(struct gl_mark *mark, int64_t ns)
{
    gl_lock_order();
    const int passed = gl_wait_for_mark(mark, ns);
    gl_unlock_order();
    return passed;
}

static void drop(struct gl_mark *mark)
{
    gl_lock_order();
    gl_drop_mark(mark);
    gl_unlock_order();
}

const struct gl_marks gl_marks = { is_passed, wait_for, drop };
