/* Waits for marks and for queues: polling, then sleep; and waits that would not end.
 *
 * The names in brackets are the steps of tests/native/model/queues.py. */
#include "queue.h"

void gl_new_condition(pthread_cond_t *made)
{
#ifdef __APPLE__
    pthread_cond_init(made, NULL);
#else
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(made, &clock);
    pthread_condattr_destroy(&clock);
#endif
}

/* Sleep until a change, or for so many ns. Returns whether the time is over. */
static int sleep_on(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t ns)
{
    struct timespec time = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
#ifdef __APPLE__
    return pthread_cond_timedwait_relative_np(condition, lock, &time) != 0;
#else
    const int64_t until = gl_now() + ns;
    time.tv_sec = (time_t)(until / 1000000000);
    time.tv_nsec = (long)(until % 1000000000);
    return pthread_cond_timedwait(condition, lock, &time) != 0;
#endif
}

/* --- with the lock --- */

static int is_reached(const struct gl_wait *wait) /* also without the lock */
{
    if (wait->mark)
        return gl_is_passed(wait->mark);
    return __atomic_load_n(&wait->queue->done, __ATOMIC_ACQUIRE) >= wait->count;
}

/* Whether a queue waits for another, possibly through others. */
static int leads_to(const struct gl_queue *queue, const struct gl_queue *target)
{
    while (queue && queue != target) {
        const struct gl_wait *wait = &queue->waits_for;
        queue = wait->queue && !is_reached(wait) ? wait->queue : NULL;
    }
    return queue == target;
}

int gl_is_served(const struct gl_queue *queue)
{
    return queue->has_worker || queue->is_held || !gl_unfinished_of(queue);
}

static void end_wait(struct gl_queue *own)
{
    const struct gl_wait old = own->waits_for;
    own->waits_for = (struct gl_wait){ NULL, NULL, 0 };
    if (old.mark)
        gl_drop_mark(old.mark);
    if (old.queue)
        gl_drop_queue(old.queue);
}

static void begin_wait(struct gl_queue *own, const struct gl_wait *wait)
{
    wait->queue->users++;
    if (wait->mark)
        gl_use_mark(wait->mark);
    end_wait(own);
    own->waits_for = *wait;
}

/* Sleep until a wait is over, or for so many ns; it has a use of what it reads. */
static int slept(const struct gl_wait *wait, int64_t ns)
{
    struct gl_queue *queue = wait->queue;
    struct gl_queues *all = queue->all;
    const int64_t begin = gl_now();
    int cancels;
    queue->place_of_wait = gl_place();
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancels);
    pthread_mutex_unlock(&all->lock);
    for (int64_t end = begin + GL_LOOK_NS; !is_reached(wait) && gl_now() < end;)
        sched_yield();
    pthread_mutex_lock(&all->lock);
    while (!is_reached(wait)) { /* [look] */
        const int64_t left = begin + ns - gl_now();
        if (left <= 0)
            break;
        if (wait->mark)
            wait->mark->is_awaited = 1;
        else if (wait->count < queue->wanted)
            queue->wanted = wait->count;
        sleep_on(&queue->finished, &all->lock, left); /* [sleep] */
    }
    pthread_setcancelstate(cancels, NULL);
    return is_reached(wait);
}

int gl_wait_locked(const struct gl_wait *given, int64_t ns, struct gl_queue *own)
{
    struct gl_wait wait = *given;
    if (wait.mark && !wait.mark->is_passed)
        wait.queue = wait.mark->queue;
    if (!wait.queue || is_reached(&wait)) {
        if (own)
            end_wait(own);
        return 1;
    }
    if (own && leads_to(wait.queue, own)) { /* [circle] */
        end_wait(own);
        return -1;
    }
    wait.queue->users++;
    if (wait.mark)
        gl_use_mark(wait.mark);
    if (own)
        begin_wait(own, &wait); /* [wait] */
    const int is_over = slept(&wait, ns);
    if (own && is_over)
        end_wait(own);
    if (wait.mark)
        gl_drop_mark(wait.mark);
    gl_drop_queue(wait.queue);
    return is_over;
}

/* --- without --- */

int gridlane_queue_wait(struct gl_queues *all, struct gl_queue *queue, struct gl_mark *mark,
                        uint64_t target, int64_t ns, struct gl_queue *own)
{
    const struct gl_wait wait = { queue, mark, target };
    pthread_mutex_lock(&all->lock);
    const int is_over = gl_wait_locked(&wait, ns, own);
    pthread_mutex_unlock(&all->lock);
    return is_over;
}

void gridlane_queue_end_wait(struct gl_queue *own)
{
    struct gl_queues *all = own->all;
    pthread_mutex_lock(&all->lock);
    end_wait(own); /* [end wait] */
    pthread_mutex_unlock(&all->lock);
}

int gridlane_queue_begin_wait(struct gl_queue *own, struct gl_queue *other)
{
    const struct gl_wait wait = { other, NULL, UINT64_MAX };
    pthread_mutex_lock(&own->all->lock);
    const int may_wait = !leads_to(other, own); /* [circle of turn] */
    if (may_wait)
        begin_wait(own, &wait); /* [begin wait] */
    pthread_mutex_unlock(&own->all->lock);
    return may_wait;
}

struct gl_queue *gridlane_queues_turn(struct gl_queues *all)
{
    pthread_mutex_lock(&all->lock);
    if (!all->turn)
        all->turn = gl_new_queue(all); /* [turn] */
    struct gl_queue *turn = all->turn;
    pthread_mutex_unlock(&all->lock);
    return turn;
}

struct gl_queue *gridlane_queue_waits_for(struct gl_queue *queue)
{
    pthread_mutex_lock(&queue->all->lock);
    const struct gl_wait *wait = &queue->waits_for;
    struct gl_queue *other = wait->queue && !is_reached(wait) ? wait->queue : NULL;
    pthread_mutex_unlock(&queue->all->lock);
    return other;
}

struct gl_queue *gridlane_queue_of(struct gl_queues *all, const struct gl_mark *mark)
{
    pthread_mutex_lock(&all->lock);
    struct gl_queue *queue = mark->queue;
    pthread_mutex_unlock(&all->lock);
    return queue;
}

int gl_wait_for_all(struct gl_queues *all, int64_t ns)
{
    const int64_t begin = gl_now();
    int cancels;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancels);
    for (int64_t end = begin + GL_LOOK_NS; gl_unfinished_of_all(all) && gl_now() < end;)
        sched_yield();
    pthread_mutex_lock(&all->lock);
    all->waiting++;
    for (int64_t left = 1; all->unfinished && left > 0;) {
        left = begin + ns - gl_now();
        if (left > 0)
            sleep_on(&all->idle, &all->lock, left);
    }
    all->waiting--;
    const int is_idle = !all->unfinished;
    pthread_mutex_unlock(&all->lock);
    pthread_setcancelstate(cancels, NULL);
    return is_idle;
}
