/* Events where streams have no work, without Python. C makes them; Python gets one at the first call
 * about it that C does not answer, hands it over when its work is done, or when it was never recorded,
 * and takes it back before it looks at it again. Meanwhile C records it where the stream has nothing
 * to do, and answers what is asked of it.
 */
#include "hot_lanes.h"

#include <stdlib.h>
#include <string.h>

enum { TIMED = 1, RECORDED = 2, BY_C = 4, KNOWN = 8 /* to Python */ };
enum { BLOCKING = 1, NO_TIMING = 2 };

/* --- with the lock --- */

/* Where an event is, or the end of its bucket. */
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
    free(event);
}

/* An event that C may answer for this thread, which knows its state; or null. */
static struct event *known(uint64_t handle)
{
    struct event *found = *place_of(handle);
    return found && found->context == gl_thread.context ? found : NULL;
}

/* --- what Python calls --- */

/* Python hands an event over that it does not have here: whether there was memory for it. */
static int offer(uint64_t handle, uint64_t context, int64_t time, uint32_t what)
{
    struct event *made = gl_process.forked ? NULL : calloc(1, sizeof *made);
    if (!made)
        return 0;
    *made = (struct event){ NULL, handle, context, time, what | KNOWN, 0 };
    gl_lock_order();
    add(made);
    gl_unlock_order();
    return 1;
}

/* Python takes an event back: whether C recorded it, and when. Also in the child of a fork. */
static int take(uint64_t handle, int64_t *time)
{
    gl_lock_order();
    struct event **place = place_of(handle), *found = *place;
    int is_new = found && found->what & BY_C;
    if (found) {
        *time = found->time;
        take_out(place);
    }
    gl_unlock_order();
    return is_new;
}

/* Python has an event that C made from now on, as one that it has handed over: whether there is one,
 * with its context and flags. */
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

/* --- what the stubs call --- */

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
    /* Who ends a context changes the number first, and takes the lock then. */
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

/* What an event has, and when it was recorded; 0 with "is_known" 0 where Python has to say. */
static uint32_t look(uint64_t handle, int64_t *time, int *is_known)
{
    gl_lock_order();
    const struct event *found = known(handle);
    uint32_t what = found ? found->what : 0;
    *time = found ? found->time : 0;
    *is_known = found != NULL;
    gl_unlock_order();
    return what;
}

/* Record an event where the stream has nothing to do, which is a default one without a lane; with
 * the lock. */
static int record_now(struct event *event, struct lane *lane, unsigned knows)
{
    struct timespec now;
    if (!event || (lane && !gl_is_settled(lane)) || !gl_knows(knows))
        return 0;
    clock_gettime(CLOCK_MONOTONIC, &now);
    event->time = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    event->what |= RECORDED | BY_C;
    return 1;
}

/* Behind what other threads do there. */
static int record_here(uint64_t handle)
{
    const unsigned knows = GL_READY | GL_QUIET;
    if (!gl_knows(knows) || !gl_take_turn())
        return 0;
    gl_lock_order();
    int done = record_now(known(handle), NULL, knows);
    gl_unlock_order();
    gl_give_turn();
    return done;
}

int gl_record(uint64_t handle, const void *stream)
{
    const unsigned knows = GL_READY | GL_UNCAPTURED;
    if (gl_is_default(stream))
        return record_here(handle);
    if (!gl_knows(knows))
        return 0;
    gl_lock_order();
    struct lane *lane = gl_lane_of((uintptr_t)stream);
    int done = lane && record_now(known(handle), lane, knows);
    gl_unlock_order();
    return done;
}

int gl_query_event(uint64_t handle)
{
    int64_t time;
    int is_known = 0;
    if (gl_knows(GL_READY | GL_UNCAPTURED))
        look(handle, &time, &is_known);
    return is_known;
}

int gl_wait_event(uint64_t handle)
{
    int64_t time;
    int is_known = 0;
    if (gl_knows(GL_READY | GL_UNCAPTURED | GL_IDLE))
        look(handle, &time, &is_known);
    return is_known;
}

int gl_elapsed(float *made, uint64_t first, uint64_t last)
{
    int64_t start, end;
    int is_known;
    if (!made || !gl_knows(GL_READY | GL_UNCAPTURED))
        return 0;
    uint32_t both = look(first, &start, &is_known) & look(last, &end, &is_known);
    if (~both & (TIMED | RECORDED))
        return 0;
    *made = (float)((double)(end - start) / 1e6);
    return 1;
}

int gl_synchronize(const void *stream)
{
    return gl_is_default(stream) ? gl_wait() : gl_is_done(stream, 1);
}

int gl_query(const void *stream)
{
    if (!gl_is_default(stream))
        return gl_is_done(stream, 0);
    if (!gl_knows(GL_READY | GL_QUIET | GL_IDLE) || !gl_try_turn())
        return 0;
    gl_give_turn();
    return 1;
}

/* After Python answered a call about events: it may hand them over. */
void gl_after_events(gl_caller *call, const struct gl_slot *slot, const uint64_t *arguments)
{
    static struct gl_slot offering = { "hot:offer_event", 0, 0 };
    for (int n = 0; n < 4; n++)
        if (slot->hot & GL_EVENT(n))
            call(&offering, &arguments[n], 1);
}
