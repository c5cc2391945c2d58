/* Events of default streams, without Python. Python hands an event over whose work is done, or that
 * was never recorded, and takes it back before it looks at it again. Meanwhile C records it where
 * the default stream has nothing to wait for, and answers what is asked of it.
 */
#include "hot.h"

#include <stdlib.h>
#include <time.h>

enum { BUCKETS = 256, TIMED = 1, RECORDED = 2, BY_C = 4 };

struct event {
    struct event *next;
    uint64_t handle, context, state; /* the number of the state for which it was handed over */
    int64_t time;                    /* when it was recorded, in ns of CLOCK_MONOTONIC */
    uint32_t what;
};

static struct event *events[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all that is here */

/* Where an event is, or the end of its bucket; with the lock. */
static struct event **place_of(uint64_t handle)
{
    struct event **place = &events[handle / 16 % BUCKETS];
    while (*place && (*place)->handle != handle)
        place = &(*place)->next;
    return place;
}

/* Python hands an event over that it does not have here: whether there was memory for it. */
static int offer(uint64_t handle, uint64_t context, uint64_t state, int64_t time, uint32_t what)
{
    struct event *made = gl_process.forked ? NULL : calloc(1, sizeof *made);
    if (!made)
        return 0;
    *made = (struct event){ NULL, handle, context, state, time, what };
    pthread_mutex_lock(&lock);
    *place_of(handle) = made;
    pthread_mutex_unlock(&lock);
    return 1;
}

/* Python takes an event back: whether C recorded it, and when. */
static int take(uint64_t handle, int64_t *time)
{
    if (gl_process.forked) /* from a thread that may have held the lock */
        return 0;
    pthread_mutex_lock(&lock);
    struct event **place = place_of(handle), *found = *place;
    int is_new = found && found->what & BY_C;
    if (found) {
        *time = found->time;
        *place = found->next;
    }
    pthread_mutex_unlock(&lock);
    free(found);
    return is_new;
}

const struct gl_events gl_events = { offer, take };

/* An event that C may answer for this thread, which knows its state; with the lock. */
static struct event *known(uint64_t handle)
{
    struct event *found = *place_of(handle);
    const struct gl_thread *me = &gl_thread;
    return found && found->state == me->state && found->context == me->context ? found : NULL;
}

/* What an event has, and when it was recorded; 0 with "is_known" 0 where Python has to say. */
static uint32_t look(uint64_t handle, int64_t *time, int *is_known)
{
    pthread_mutex_lock(&lock);
    const struct event *found = known(handle);
    uint32_t what = found ? found->what : 0;
    *time = found ? found->time : 0;
    *is_known = found != NULL;
    pthread_mutex_unlock(&lock);
    return what;
}

int gl_record(uint64_t handle, const void *stream)
{
    struct timespec now;
    int64_t time;
    int is_known;
    if (!gl_is_default(stream) || !gl_knows(GL_READY | GL_QUIET))
        return 0;
    look(handle, &time, &is_known);
    if (!is_known || !gl_take_turn()) /* behind what other threads do there */
        return 0;
    pthread_mutex_lock(&lock);
    struct event *found = gl_knows(GL_READY | GL_QUIET) ? known(handle) : NULL;
    if (found) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        found->time = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
        found->what |= RECORDED | BY_C;
    }
    pthread_mutex_unlock(&lock);
    gl_give_turn();
    return found != NULL;
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
    if (gl_knows(GL_READY | GL_IDLE))
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

int gl_query_default(const void *stream)
{
    if (!gl_is_default(stream) || !gl_knows(GL_READY | GL_IDLE) || !gl_try_turn())
        return 0;
    gl_give_turn();
    return 1;
}

/* After Python answered a call about events: it may hand them over. */
void gl_after_events(gl_caller *call, const struct gl_slot *slot, const uint64_t *arguments)
{
    static struct gl_slot offering = { "hot:offer_event", 0, 0 };
    const int first = slot->hot == GL_OF_TWO_EVENTS, count = first ? 2 : 1;
    if (slot->hot != GL_OF_EVENT && slot->hot != GL_OF_TWO_EVENTS)
        return;
    for (int n = 0; n < count; n++) {
        const uint64_t words[] = { (uintptr_t)&gl_events, arguments[first + n] };
        call(&offering, words, 2);
    }
}
