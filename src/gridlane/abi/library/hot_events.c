/* Events without Python. C makes them. Python adopts one at the first call about it that C does not
 * answer, offers it to C after that call, and takes it back before it reads it again. In between C
 * records it, at once or behind the work of a queue, and answers calls about it. */
#include "hot_order.h"

#include <stdlib.h>
#include <string.h>

enum {
    TIMED = 1,
    RECORDED = 2,
    BY_C = 4,
    KNOWN = 8 /* Python has it */
};
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

static void add(struct event *event)
{
    *place_of(event->handle) = event;
}

static void take_out(struct event **place)
{
    struct event *event = *place;
    *place = event->next;
    if (event->mark)
        gl_drop_mark(event->mark);
    free(event);
}

/* An event that C may record for this thread; null if there is none or the context is another. */
static struct event *known(uint64_t handle)
{
    struct event *found = *place_of(handle);
    return found && found->context == gl_thread.context ? found : NULL;
}

/* Store the time of a passed mark. */
static void settle(struct event *event)
{
    if (event->mark && gl_is_passed(event->mark)) {
        event->time = event->mark->time;
        gl_drop_mark(event->mark);
        event->mark = NULL;
    }
}

/* An event; its mark is not null until the recording is done. Or null. */
static struct event *answered(uint64_t handle)
{
    struct event *found = known(handle);
    if (found)
        settle(found);
    return found;
}

/* --- functions that Python calls --- */

enum { NOTHING, DONE, BEHIND }; /* how C recorded an event */

/* Python offers an event that C does not have; returns whether there was memory for it. */
static int offer(uint64_t handle, uint64_t context, struct gl_mark *mark, uint32_t what)
{
    struct event *made = gl_process.forked ? NULL : calloc(1, sizeof *made);
    if (!made)
        return 0;
    *made = (struct event){ NULL, handle, context, mark, 0, what | KNOWN, 0 };
    gl_lock_order();
    if (mark)
        gl_use_mark(mark);
    add(made);
    gl_unlock_order();
    return 1;
}

/* Python takes an event back; returns how C recorded it, and when, or by which mark. Fork: also
 * called in the child. */
static int take(uint64_t handle, uint64_t *told)
{
    int how = NOTHING;
    gl_lock_order();
    struct event **place = place_of(handle), *found = *place;
    if (found && found->what & BY_C) {
        settle(found);
        how = found->mark ? BEHIND : DONE;
        told[0] = found->mark ? (uintptr_t)found->mark : (uint64_t)found->time;
        found->mark = NULL; /* Python owns this use from now on */
    }
    if (found)
        take_out(place);
    gl_unlock_order();
    return how;
}

/* Python adopts an event that C made, as one that it offered: returns whether it exists, with its
 * context and flags. */
static int adopt(uint64_t handle, uint64_t *told)
{
    gl_lock_order();
    struct event *found = *place_of(handle);
    if (found) {
        found->what |= KNOWN;
        told[0] = found->context;
        told[1] = found->flags;
    }
    gl_unlock_order();
    return found != NULL;
}

const struct gl_events gl_events = { offer, take, adopt };

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
    if (!made || flags & ~(BLOCKING | NO_TIMING) || !gl_knows(GL_READY))
        return 0;
    struct event *event = calloc(1, sizeof *event);
    if (!event)
        return 0;
    event->context = gl_thread.context;
    event->flags = flags;
    event->what = flags & NO_TIMING ? 0 : TIMED;
    gl_lock_order();
    /* Lock order: the end of a context changes the number first, then takes this lock. */
    uint64_t handle = gl_knows(GL_READY) ? gl_new_handle() : 0;
    if (handle) {
        event->handle = handle;
        add(event);
    }
    gl_unlock_order();
    if (handle)
        memcpy(made, &handle, sizeof handle);
    else
        free(event);
    return handle != 0;
}

int gl_end_event(uint64_t handle)
{
    if (!gl_knows(GL_READY))
        return 0;
    gl_lock_order();
    const struct event *found = gl_knows(GL_READY) ? known(handle) : NULL;
    int done = found && (!(found->what & KNOWN) || gl_note_ended(handle));
    if (done)
        take_out(place_of(handle));
    gl_unlock_order();
    return done;
}

/* Note that an event was recorded behind a mark, or at once. */
static void set_recorded(struct event *event, struct gl_mark *mark)
{
    if (event->mark)
        gl_drop_mark(event->mark);
    event->mark = mark;
    event->time = mark ? 0 : gl_now();
    event->what |= RECORDED | BY_C;
}

/* Record behind the work of other threads on a default stream. */
static int record_here(uint64_t handle)
{
    const unsigned knows = GL_READY | GL_QUIET;
    if (!gl_is_quiet(GL_READY) || !gl_take_turn())
        return 0;
    gl_lock_order();
    struct event *event = known(handle);
    const int done = event && gl_knows(knows);
    if (done)
        set_recorded(event, NULL);
    gl_unlock_order();
    gl_give_turn();
    return done;
}

/* Record behind the work of a queue; the caller holds the lock. */
static int record_behind(struct event *event, struct gl_queue *queue)
{
    struct gl_mark *mark = NULL;
    if (gl_unfinished_of(queue)) {
        mark = gridlane_mark();
        if (!mark || !gl_put_mark(queue, mark, GL_PASS)) {
            free(mark);
            return 0;
        }
    }
    set_recorded(event, mark);
    return 1;
}

int gl_record(uint64_t handle, const void *stream)
{
    if (gl_is_default(stream))
        return record_here(handle);
    if (!gl_knows(GL_READY | GL_UNCAPTURED))
        return 0;
    gl_lock_order();
    struct gl_queue *queue = gl_queue_of(stream);
    struct event *event = known(handle);
    const int done = queue && event && record_behind(event, queue);
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
    const int here = gl_is_default(stream);
    const unsigned knows = GL_READY | GL_UNCAPTURED;
    if (flags || !gl_knows(knows))
        return 0;
    const int may_wait = here && !gl_holds_python(); /* the work may need the GIL */
    gl_lock_order();
    struct gl_queue *queue = here ? NULL : gl_queue_of(stream);
    const struct event *event = answered(handle);
    int done = event && gl_knows(knows) && (here || queue);
    if (done && event->mark)
        done = here ? may_wait && waited_for(event->mark)
                    : gl_put_mark(queue, event->mark, GL_FOLLOW);
    gl_unlock_order();
    return done && gl_knows(knows); /* a context fails before the marks behind that pass */
}

int gl_query_event(uint64_t handle)
{
    if (!gl_knows(GL_READY | GL_UNCAPTURED))
        return -1;
    gl_lock_order();
    const struct event *event = answered(handle);
    const int code = !event ? -1 : event->mark ? GL_NOT_READY : 0;
    gl_unlock_order();
    return gl_knows(GL_READY) ? code : -1; /* as in gl_follow */
}

/* Wait for a short time; Python continues a longer wait, which can be interrupted. */
int gl_wait_event(uint64_t handle)
{
    if (!gl_knows(GL_READY | GL_UNCAPTURED | GL_IDLE))
        return 0;
    const int may_wait = !gl_holds_python(); /* the work may need the GIL */
    gl_lock_order();
    const struct event *event = answered(handle);
    const int done = event && (!event->mark ||
                               (may_wait && waited_for(event->mark)));
    gl_unlock_order();
    return done && gl_knows(GL_READY); /* as in gl_follow */
}

int gl_elapsed(float *made, uint64_t first, uint64_t last)
{
    int code = -1;
    if (!made || !gl_knows(GL_READY | GL_UNCAPTURED))
        return -1;
    gl_lock_order();
    const struct event *start = answered(first), *end = answered(last);
    if (start && end && !(~(start->what & end->what) & (TIMED | RECORDED)))
        code = start->mark || end->mark ? GL_NOT_READY : 0;
    if (!code)
        *made = (float)((double)(end->time - start->time) / 1e6);
    gl_unlock_order();
    return code;
}

/* Called after Python answered a call about events: it may offer them to C. */
void gl_after_events(gl_caller *call, const struct gl_slot *slot, const uint64_t *arguments)
{
    static struct gl_slot offering = { "hot:offer_event", 0, 0 };
    for (int n = 0; n < 4; n++)
        if (slot->hot & GL_EVENT(n))
            call(&offering, &arguments[n], 1);
}
