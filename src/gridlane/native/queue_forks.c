/* The queues of a process, and of the child of its fork. */
#include "pool.h"
#include "queue.h"
#include "space.h"

#include <stdlib.h>
#include <string.h>

const uint32_t gridlane_sizes[GL_SIZES] = {
    GL_INTERFACE,
    sizeof(struct gl_queues),
    sizeof(struct gl_queue),
    sizeof(struct gl_item),
    sizeof(struct gl_mark),
    sizeof(struct gl_event),
    sizeof(struct gl_pool),
    sizeof(struct gl_context),
};

static struct gl_queues *made_here; /* whose forks this copy of the code handles */

/* The child has no worker. It loses the items, and passes the marks among them. Memory that the
 * parent's other threads used then stays. */
static void begin_anew(struct gl_queue *queue) /* [fork] */
{
    queue->lost += gl_unfinished_of(queue);
    if (queue->current && queue->current->kind != GL_CALL) {
        queue->current->next = queue->first;
        queue->first = queue->current;
    }
    for (struct gl_item *item = queue->first, *next; item; item = next) {
        next = item->next;
        if (item->kind == GL_CALL)
            gl_leave_to_python(queue->all, item, item->number);
        else
            gl_free_item(queue->all, item);
    }
    queue->first = queue->current = NULL;
    queue->done = queue->appended;
    queue->wanted = UINT64_MAX;
    queue->users -= (uint32_t)(queue->has_worker + queue->is_held);
    queue->has_worker = queue->lingers = queue->is_held = queue->is_over = 0;
    queue->spinning = 0;
    queue->waits_for = (struct gl_wait){ NULL, NULL, 0 };
    gl_cond_init(&queue->work);
    gl_cond_init(&queue->finished);
}

static void before_fork(void)
{
    pthread_mutex_lock(&made_here->lock);
    gl_lock_space(made_here->space);
}

static void in_parent(void)
{
    gl_unlock_space(made_here->space);
    pthread_mutex_unlock(&made_here->lock);
}

static void in_child(void)
{
    struct gl_queues *all = made_here;
    gl_cond_init(&all->idle);
    all->waiting = 0;
    for (struct gl_queue *queue = all->first; queue; queue = queue->next)
        queue->users++; /* marks may have the last use of another queue */
    for (struct gl_queue *queue = all->first; queue; queue = queue->next)
        begin_anew(queue);
    all->unfinished = 0;
    for (struct gl_queue *queue = all->first, *next; queue; queue = next) {
        next = queue->next;
        gl_drop_queue(queue);
    }
    pthread_mutex_init(&all->space->lock, NULL);
    pthread_mutex_init(&all->lock, NULL);
}

uint64_t gridlane_queue_lost(struct gl_queue *queue)
{
    const uint64_t lost = queue->lost;
    queue->lost = 0;
    return lost;
}

struct gl_queues *gridlane_queues(void)
{
    if (made_here)
        return made_here;
    struct gl_queues *made = aligned_alloc(64, (sizeof *made + 63) / 64 * 64);
    struct gl_space *space = gl_new_space();
    if (!made || !space) {
        free(made);
        free(space);
        return NULL;
    }
    memset(made, 0, sizeof *made);
    made->space = space;
    pthread_mutex_init(&made->lock, NULL);
    gl_cond_init(&made->idle);
    made_here = made;
    gl_at_fork(before_fork, in_parent, in_child);
    return made;
}
