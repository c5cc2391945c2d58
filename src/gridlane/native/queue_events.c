/* Events: the last recording of each.
 *
 * The names in brackets are the steps of tests/native/model/queues.py. */
#include "queue.h"

#include <stdlib.h>
#include <string.h>

/* --- with the lock --- */

void gl_drop_event(struct gl_event *event)
{
    if (--event->users)
        return;
    if (event->mark)
        gl_drop_mark(event->mark);
    free(event);
}

/* A mark and the item that passes it; null without memory. */
static struct gl_item *new_passing(struct gl_mark **mark)
{
    struct gl_item *item = NULL;
    if ((*mark = gridlane_mark()) &&
        !(item = gridlane_item(GL_PASS, GL_ITEM_ALWAYS, (uintptr_t)*mark)))
        free(*mark);
    return item;
}

int gl_record_event(struct gl_event *event, struct gl_queue *queue) /* [record] */
{
    struct gl_mark *mark = NULL;
    int needs_worker = 0;
    if (queue && gl_unfinished_of(queue)) {
        struct gl_item *item = new_passing(&mark);
        if (!item)
            return -1;
        gl_use_mark(mark);
        needs_worker = gl_put(queue, item);
    }
    if (event->mark)
        gl_drop_mark(event->mark);
    event->mark = mark;
    event->time = mark ? 0 : (int64_t)gl_elapsed();
    event->is_recorded = 1;
    event->is_captured = 0;
    return needs_worker;
}

struct gl_mark *gl_mark_of(struct gl_event *event) /* [look at event] */
{
    struct gl_mark *mark = event->mark;
    if (!mark || !gl_is_passed(mark))
        return mark;
    event->time = mark->time;
    event->mark = NULL;
    gl_drop_mark(mark);
    return NULL;
}

/* --- without --- */

struct gl_event *gridlane_event(void)
{
    struct gl_event *made = malloc(sizeof *made); /* calloc of glibc's does not reuse memory soon */
    if (made) {
        memset(made, 0, sizeof *made);
        made->users = 1;
    }
    return made;
}

void gridlane_event_release(struct gl_queues *all, struct gl_event *event)
{
    pthread_mutex_lock(&all->lock);
    gl_drop_event(event);
    pthread_mutex_unlock(&all->lock);
}

int gridlane_event_record(struct gl_queues *all, struct gl_event *event, struct gl_queue *queue)
{
    pthread_mutex_lock(&all->lock);
    const int needs_worker = gl_record_event(event, queue);
    pthread_mutex_unlock(&all->lock);
    return needs_worker;
}

struct gl_mark *gridlane_event_mark(struct gl_queues *all, struct gl_event *event)
{
    pthread_mutex_lock(&all->lock);
    struct gl_mark *mark = gl_mark_of(event);
    if (mark)
        gl_use_mark(mark);
    pthread_mutex_unlock(&all->lock);
    return mark;
}

int64_t gridlane_event_time(struct gl_queues *all, struct gl_event *event)
{
    pthread_mutex_lock(&all->lock);
    const struct gl_mark *mark = gl_mark_of(event);
    const int64_t time = !event->is_recorded ? -1 : mark ? 0 : event->time;
    pthread_mutex_unlock(&all->lock);
    return time;
}

void gridlane_event_capture(struct gl_queues *all, struct gl_event *event)
{
    pthread_mutex_lock(&all->lock);
    event->is_captured = 1;
    pthread_mutex_unlock(&all->lock);
}
