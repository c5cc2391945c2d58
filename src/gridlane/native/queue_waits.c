/* Waits for marks and for queues: polling, then sleep; and waits that would not end.
 *
 * The names in brackets are the steps of tests/native/model/queues.py. */
#include "queue.h"

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
    const uint64_t begin = gl_elapsed(), until = begin + (uint64_t)ns;
    queue->place_of_wait = gl_place();
    pthread_mutex_unlock(&all->lock);
    while (!is_reached(wait) && gl_elapsed() < begin + GL_LOOK_NS)
        sched_yield();
    pthread_mutex_lock(&all->lock);
    while (!is_reached(wait) && gl_elapsed() < until) { /* [look] */
        if (wait->mark)
            wait->mark->is_awaited = 1;
        else if (wait->count < queue->wanted)
            queue->wanted = wait->count;
        gl_cond_wait(&queue->finished, &all->lock, until); /* [sleep] */
    }
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
    const uint64_t begin = gl_elapsed(), until = begin + (uint64_t)ns;
    while (gl_unfinished_of_all(all) && gl_elapsed() < begin + GL_LOOK_NS)
        sched_yield();
    pthread_mutex_lock(&all->lock);
    all->waiting++;
    while (all->unfinished && gl_elapsed() < until)
        gl_cond_wait(&all->idle, &all->lock, until);
    all->waiting--;
    const int is_idle = !all->unfinished;
    pthread_mutex_unlock(&all->lock);
    return is_idle;
}
