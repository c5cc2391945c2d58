/* The hybrid logical clock: S. Kulkarni and others, "Logical physical clocks", 2014.

   `physical` is the largest time seen, in nanoseconds since 1970; `logical` counts events of that
   time.

   A node's own time is the time of day at the engine's start plus the elapsed time. It follows the
   time of day where that jumps ahead, and never goes back: otherwise messages would seem to come
   from a node whose clock is ahead, and deadlines would move. */
#include <time.h>

#include "engine.h"

static _Atomic uint64_t offset; /* of the time of day to the time that elapses */
static _Atomic int64_t shift;   /* of the time of day, for tests */

static uint64_t time_of_day(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec
           + (uint64_t)atomic_load_explicit(&shift, memory_order_relaxed);
}

/* The node's time at one of gl_elapsed. */
static uint64_t time_at(uint64_t elapsed)
{
    uint64_t found = atomic_load_explicit(&offset, memory_order_relaxed);
    if (!found) {
        gl_follow_time();
        found = atomic_load_explicit(&offset, memory_order_relaxed);
    }
    return elapsed + found;
}

uint64_t gl_now(void)
{
    return time_at(gl_elapsed());
}

/* Follow the time of day where it is more than a millisecond ahead. */
void gl_follow_time(void)
{
    uint64_t seen = time_of_day() - gl_elapsed();
    uint64_t found = atomic_load_explicit(&offset, memory_order_relaxed);
    while (seen > found + 1000000u
           && !atomic_compare_exchange_weak_explicit(&offset, &found, seen, memory_order_relaxed,
                                                     memory_order_relaxed))
        ;
}

/* Shift the time of day, for tests. */
void gl_shift_time(int64_t nanoseconds)
{
    atomic_store(&shift, nanoseconds);
}

void gl_clock_tick(gl_clock *clock, uint64_t now)
{
    if (now > clock->physical) {
        clock->physical = now;
        clock->logical = 0;
    } else {
        clock->logical++;
    }
}

/* The clock after a message; 0, or -1 if the message is more than `drift` ahead of this node. */
int gl_clock_merge(gl_clock *clock, const gl_clock *seen, uint64_t now, uint64_t drift)
{
    uint64_t own = clock->physical;
    if (seen->physical > now && seen->physical - now > drift)
        return -1;
    if (now > own && now > seen->physical) {
        clock->physical = now;
        clock->logical = 0;
    } else if (own == seen->physical) {
        clock->logical = (clock->logical > seen->logical ? clock->logical : seen->logical) + 1;
    } else if (own > seen->physical) {
        clock->logical++;
    } else {
        clock->physical = seen->physical;
        clock->logical = seen->logical + 1;
    }
    return 0;
}

/* The host's clock of `events` messages at a time of gl_elapsed. Returns the clock of the first
   one. */
gl_clock gl_host_clock(gl_engine *engine, uint64_t events, uint64_t elapsed)
{
    gl_clock clock;
    pthread_mutex_lock(&engine->clock_mutex);
    gl_clock_tick(&engine->clock, time_at(elapsed));
    clock = engine->clock;
    engine->clock.logical += events - 1;
    pthread_mutex_unlock(&engine->clock_mutex);
    return clock;
}

void gl_host_merge(gl_engine *engine, const gl_clock *seen, uint64_t elapsed)
{
    pthread_mutex_lock(&engine->clock_mutex);
    gl_clock_merge(&engine->clock, seen, time_at(elapsed), engine->drift);
    pthread_mutex_unlock(&engine->clock_mutex);
}
