/* The hybrid logical clock: S. Kulkarni and others, "Logical physical clocks", 2014.

   `physical` is the largest time seen, in nanoseconds since 1970; `logical` counts events of that
   time. A node whose own time goes back counts on, so that its timestamps never do. */
#include <time.h>

#include "engine.h"

uint64_t gl_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t gl_elapsed(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
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

/* The host's clock, ticked for so many events. */
gl_clock gl_host_clock(gl_engine *engine, uint64_t events)
{
    gl_clock clock;
    pthread_mutex_lock(&engine->clock_mutex);
    gl_clock_tick(&engine->clock, gl_now());
    clock = engine->clock;
    engine->clock.logical += events - 1;
    pthread_mutex_unlock(&engine->clock_mutex);
    return clock;
}

void gl_host_merge(gl_engine *engine, const gl_clock *seen)
{
    pthread_mutex_lock(&engine->clock_mutex);
    gl_clock_merge(&engine->clock, seen, gl_now(), engine->drift);
    pthread_mutex_unlock(&engine->clock_mutex);
}
