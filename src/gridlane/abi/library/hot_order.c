/* State that the streams and events of all libraries of a process share: one lock, handles, and the
 * handles that C ended and Python still has. */
#include "hot_lanes.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t HANDLES = 0x6D0000000000; /* Python's handles begin below; see handles.py */

void gl_begin_condition(pthread_cond_t *made)
{
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(made, &clock);
    pthread_condattr_destroy(&clock);
}

struct gl_order *gl_new_order(void)
{
    struct gl_order *made = aligned_alloc(64, (sizeof *made + 63) / 64 * 64);
    if (made) {
        memset(made, 0, sizeof *made);
        pthread_mutex_init(&made->lock, NULL);
        gl_begin_condition(&made->passed);
        made->handle = HANDLES;
    }
    return made;
}

/* Fork: the caller holds the lock. Threads that waited in the parent do not exist here. */
void gl_begin_in_child(void)
{
    gl_begin_condition(&gl_order()->passed);
    gl_order()->waiting = 0;
}

/* --- with the lock --- */

uint64_t gl_new_handle(void)
{
    return gl_order()->handle += 16;
}

int gl_note_ended(uint64_t handle)
{
    struct gl_order *all = gl_order();
    if (all->ended_count == GL_MOST_ENDED)
        return 0;
    all->ended[all->ended_count] = handle;
    __atomic_store_n(&all->ended_count, all->ended_count + 1, __ATOMIC_RELEASE);
    return 1;
}

/* --- functions that Python calls --- */

/* A handle that C ended and Python has; 0 if there is none. */
uint64_t gl_first_ended(void)
{
    gl_lock_order();
    const uint64_t handle = gl_order()->ended_count ? gl_order()->ended[0] : 0;
    gl_unlock_order();
    return handle;
}

/* Python has ended it as well. */
void gl_forget_ended(uint64_t handle)
{
    struct gl_order *all = gl_order();
    uint32_t kept = 0;
    gl_lock_order();
    for (uint32_t n = 0; n < all->ended_count; n++)
        if (all->ended[n] != handle)
            all->ended[kept++] = all->ended[n];
    __atomic_store_n(&all->ended_count, kept, __ATOMIC_RELEASE);
    gl_unlock_order();
}

const uint32_t *gl_ended_count(void)
{
    return &gl_order()->ended_count;
}

void gl_move_order(uint64_t from, uint64_t to)
{
    struct gl_order *all = gl_order();
    gl_lock_order();
    for (unsigned n = 0; n < GL_BUCKETS; n++) {
        for (struct lane *lane = all->lanes[n]; lane; lane = lane->next)
            lane->context = lane->context == from ? to : lane->context;
        for (struct event *event = all->events[n]; event; event = event->next)
            event->context = event->context == from ? to : event->context;
    }
    gl_unlock_order();
}
