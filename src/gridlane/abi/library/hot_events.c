/* Events without Python: a handle for each, and the functions of stubs. The event itself is in
 * native/queue_events.c, also for Python. C records it at once or behind the work of a queue, and
 * answers calls about it, unless its last recording is in a capture. */
#include "hot_order.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCKING = 1, NO_TIMING = 2 };
static const int64_t PATIENCE = 2000000; /* ns */

/* --- with the lock --- */

/* The place of an event, or the end of its bucket. */
static struct event **place_of(uint64_t handle)
{
    struct event **place = &gl_order()->events[gl_bucket(handle)];
    while (*place && (*place)->handle != handle)
        place = &(*place)->next;
    return place;
}

/* Add an event, with the caller's use of it; false without memory. */
static int add_event(const struct event *event)
{
    struct gl_order *all = gl_order();
    struct event *made = all->spare_event ? all->spare_event : malloc(sizeof *made);
    if (!made)
        return 0;
    if (made == all->spare_event)
        all->spare_event = made->next;
    *made = *event;
    *place_of(event->handle) = made;
    return 1;
}

static void take_out(struct event **place)
{
    struct event *event = *place;
    *place = event->next;
    gl_drop_event(event->event);
    event->next = gl_order()->spare_event;
    gl_order()->spare_event = event;
}

/* An event of this thread's context, or null. */
static struct event *known(const struct gl_thread *me, uint64_t handle)
{
    struct event *found = *place_of(handle);
    return found && found->context == me->context ? found : NULL;
}

/* The code of a query of a recording: -1 where Python must start a thread for it. */
static int code_of(const struct event *event)
{
    const struct gl_mark *mark = gl_mark_of(event->event);
    return !mark ? 0 : gl_is_served(mark->queue) ? GL_NOT_READY : -1;
}

/* One that C may answer for. */
static struct event *answered(const struct gl_thread *me, uint64_t handle)
{
    struct event *found = known(me, handle);
    return found && !found->event->is_captured ? found : NULL;
}

/* --- functions that Python calls --- */

/* Add an event that Python made; returns whether there was memory for it. */
static int add(uint64_t handle, uint64_t context, uint32_t flags, struct gl_event *event)
{
    const struct event made = { handle, context, event, flags, 1, NULL };
    if (gl_process.forked)
        return 0;
    gl_lock_order();
    const int is_added = add_event(&made);
    event->users += (uint32_t)is_added;
    gl_unlock_order();
    return is_added;
}

/* Python adopts an event that C made: returns it, with one more use, and its context and flags;
 * null if there is none. Fork: also called in the child. */
static struct gl_event *adopt(uint64_t handle, uint64_t *told)
{
    struct gl_event *event = NULL;
    gl_lock_order();
    struct event *found = *place_of(handle);
    if (found) {
        found->is_known = 1;
        event = found->event;
        event->users++;
        told[0] = found->context;
        told[1] = found->flags;
    }
    gl_unlock_order();
    return event;
}

/* Python ends an event: no thread finds it any more. */
static void withdraw(uint64_t handle)
{
    gl_lock_order();
    struct event **place = place_of(handle);
    if (*place)
        take_out(place);
    gl_unlock_order();
}

const struct gl_events gl_events = { add, adopt, withdraw };

void gl_end_events(uint64_t context)
{
    struct gl_order *all = gl_order();
    gl_lock_order();
    for (unsigned n = 0; n < GL_BUCKETS; n++)
        for (struct event **place = &all->events[n]; *place;) {
            if ((*place)->context == context)
                take_out(place);
            else
                place = &(*place)->next;
        }
    gl_unlock_order();
}

/* --- functions that stubs call --- */

int gl_new_event(void *made, uint32_t flags)
{
    struct gl_thread *me = gl_me();
    if (!made || flags & ~(BLOCKING | NO_TIMING) || !gl_knows(me, GL_READY))
        return 0;
    struct gl_event *event = gridlane_event();
    if (!event)
        return 0;
    gl_lock_order();
    /* Lock order: the end of a context changes the number first, then takes this lock. */
    uint64_t handle = gl_knows(me, GL_READY) ? gl_new_handle() : 0;
    const struct event record = { handle, me->context, event, flags, 0, NULL };
    if (!handle || !add_event(&record)) {
        gl_drop_event(event);
        handle = 0;
    }
    gl_unlock_order();
    if (handle)
        memcpy(made, &handle, sizeof handle);
    return handle != 0;
}

int gl_end_event(uint64_t handle)
{
    struct gl_thread *me = gl_me();
    if (!gl_knows(me, GL_READY))
        return 0;
    gl_lock_order();
    const struct event *found = gl_knows(me, GL_READY) ? known(me, handle) : NULL;
    int done = found && (!found->is_known || gl_note_ended(handle));
    if (done)
        take_out(place_of(handle));
    gl_unlock_order();
    return done;
}

/* Record behind the work of other threads on a default stream. */
static int record_here(uint64_t handle)
{
    struct gl_thread *me = gl_me();
    const unsigned knows = GL_READY | GL_QUIET;
    if (!gl_is_quiet(me, GL_READY) || !gl_take_turn())
        return 0;
    gl_lock_order();
    const struct event *event = answered(me, handle);
    const int done = event && gl_knows(me, knows) && !gl_record_event(event->event, NULL);
    gl_unlock_order();
    gl_give_turn();
    return done;
}

int gl_record(uint64_t handle, const void *stream)
{
    struct gl_thread *me = gl_me();
    if (gl_is_default(stream))
        return record_here(handle);
    if (!gl_knows(me, GL_READY | GL_UNCAPTURED))
        return 0;
    gl_lock_order();
    struct gl_queue *queue = gl_queue_of(me, stream);
    const struct event *event = answered(me, handle);
    const int done = queue && event && (!gl_unfinished_of(queue) || gl_has_place(queue)) &&
                     !gl_record_event(event->event, queue);
    gl_unlock_order();
    return done;
}

/* Whether a mark is passed in a short time; the lock is released meanwhile. */
static int waited_for(struct gl_mark *mark)
{
    const struct gl_wait wait = { NULL, mark, 0 };
    return gl_wait_locked(&wait, PATIENCE, NULL);
}

/* Make later work of a stream wait for an event. A default stream waits now: C for a short time,
 * then Python, whose wait can be interrupted. */
int gl_follow(const void *stream, uint64_t handle, unsigned flags)
{
    struct gl_thread *me = gl_me();
    const int here = gl_is_default(stream);
    const unsigned knows = GL_READY | GL_UNCAPTURED;
    if (flags || !gl_knows(me, knows))
        return 0;
    const int may_wait = here && !gl_holds_python(); /* the work may need the GIL */
    gl_lock_order();
    struct gl_queue *queue = here ? NULL : gl_queue_of(me, stream);
    const struct event *event = answered(me, handle);
    struct gl_mark *mark = event ? gl_mark_of(event->event) : NULL;
    int done = event && gl_knows(me, knows) && (here || queue);
    if (done && mark)
        done = here ? may_wait && waited_for(mark)
                    : gl_is_served(mark->queue) && gl_put_mark(queue, mark, GL_FOLLOW);
    gl_unlock_order();
    return done && gl_knows(me, knows); /* a context fails before the marks behind that pass */
}

int gl_query_event(uint64_t handle)
{
    struct gl_thread *me = gl_me();
    if (!gl_knows(me, GL_READY | GL_UNCAPTURED))
        return -1;
    gl_lock_order();
    const struct event *event = answered(me, handle);
    const int code = event ? code_of(event) : -1;
    gl_unlock_order();
    return gl_knows(me, GL_READY) ? code : -1; /* as in gl_follow */
}

/* Wait for a short time; Python continues a longer wait, which can be interrupted. */
int gl_wait_event(uint64_t handle)
{
    struct gl_thread *me = gl_me();
    if (!gl_knows(me, GL_READY | GL_UNCAPTURED | GL_IDLE))
        return 0;
    const int may_wait = !gl_holds_python(); /* the work may need the GIL */
    gl_lock_order();
    const struct event *event = answered(me, handle);
    struct gl_mark *mark = event ? gl_mark_of(event->event) : NULL;
    const int done = event && (!mark || (may_wait && waited_for(mark)));
    gl_unlock_order();
    return done && gl_knows(me, GL_READY); /* as in gl_follow */
}

int gl_elapsed_time(float *made, uint64_t first, uint64_t last)
{
    struct gl_thread *me = gl_me();
    int code = -1;
    if (!made || !gl_knows(me, GL_READY | GL_UNCAPTURED))
        return -1;
    gl_lock_order();
    const struct event *start = answered(me, first), *end = answered(me, last);
    if (start && end && !((start->flags | end->flags) & NO_TIMING) &&
        start->event->is_recorded && end->event->is_recorded) {
        const int first_code = code_of(start), last_code = code_of(end);
        code = first_code < 0 || last_code < 0 ? -1 : first_code | last_code;
    }
    if (!code)
        *made = (float)((double)(end->event->time - start->event->time) / 1e6);
    gl_unlock_order();
    return code;
}
