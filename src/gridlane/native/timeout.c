/* The time limit of launches, of GRIDLANE_TIMEOUT.
 *
 * A launch writes its beginning and its context into its thread's record. A thread of its own
 * checks the records: it stops a launch that has lasted longer as Ctrl-C does, and signals all
 * threads that are in it. The first of these that is in the kernel's code writes the place of its
 * instruction into the context.
 *
 * A beginning is 0 where no launch is timed, and -1 while the checking thread stops the launch, for
 * whose end the launch waits: its context ends with it. Kernels of programs in C are stopped as
 * well, so the signal's handler is installed in these too. */
#include "pool.h"

#include <sched.h>

enum { LONGEST_TICK = 50000000, SHORTEST_TICK = 1000000, SHARE = 8 }; /* checks in a limit's time */

int64_t gl_limit;
static int32_t is_watched; /* by a thread of this process */

/* End the timing of a record; its beginning. */
static int64_t hold(struct gl_record *record)
{
    for (;;) {
        int64_t start = GL_LOAD(record->start, ACQUIRE);
        if (start == -1)
            sched_yield();
        else if (__atomic_compare_exchange_n(&record->start, &start, 0, 0, __ATOMIC_ACQ_REL,
                                             __ATOMIC_ACQUIRE))
            return start;
    }
}

struct gl_kept gl_begin_timed(struct gl_record *record, struct gl_context *context)
{
    if (!GL_LOAD(is_watched, RELAXED))
        gl_start_watch();
    const int64_t outer = hold(record);
    const struct gl_kept kept = { outer, record->timed };
    record->timed = context;
    GL_STORE(record->start, (int64_t)gl_elapsed(), RELEASE);
    return kept;
}

void gl_end_timed(struct gl_record *record, const struct gl_kept *kept)
{
    hold(record);
    record->timed = kept->timed;
    GL_STORE(record->start, kept->start, RELEASE);
}

static void stop_if_late(struct gl_record *record, int64_t time)
{
    int64_t start = GL_LOAD(record->start, ACQUIRE);
    if (start <= 0 || time - start <= gl_limit)
        return;
    if (!__atomic_compare_exchange_n(&record->start, &start, -1, 0, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return;
    gl_end_launch(record->timed, GL_TIMED_OUT);
    gl_signal_all(record->timed);
    GL_STORE(record->start, 0, RELEASE);
}

static void *watch(void *unused)
{
    const uint64_t tick = gl_max((uint64_t)gl_limit / SHARE, SHORTEST_TICK);
    for (;;) {
        gl_nap(gl_min(tick, LONGEST_TICK));
        if (!gl_handler_is_ours())
            continue;
        const int64_t time = (int64_t)gl_elapsed();
        for (struct gl_record *each = GL_LOAD(gl_records, ACQUIRE); each; each = each->next)
            stop_if_late(each, time);
    }
    return unused;
}

void gl_start_watch(void)
{
    if (!__atomic_exchange_n(&is_watched, 1, __ATOMIC_ACQ_REL))
        gl_start_thread(NULL, watch, NULL);
}

void gl_set_limit(int64_t limit)
{
    gl_limit = limit;
    is_watched = 0;
}
