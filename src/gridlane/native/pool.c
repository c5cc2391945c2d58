/* The workers of the CPU device, and a launch.
 *
 * A worker joins a job by a compare-and-swap that adds 2 to the state word while the job is open;
 * the launcher closes the job when no block is left and waits until nobody is in it. A second
 * launch at the same time, from another thread, finds the lock taken and runs its grid itself; a
 * worker less joins the job for each of those, so that there are no more threads than cores.
 * Workers spin a while for the next job, then park.
 *
 * The names in brackets are the steps of tests/native/model/jobs.py. */
#include "pool.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct gl_plan_of_kernel) == 64, "a plan");
_Static_assert(sizeof(struct gl_context) == 192, "a context");
_Static_assert(sizeof(struct gl_range) == 64, "a range");
_Static_assert(offsetof(struct gl_context, stop) == 40, "what leaving reads");

__attribute__((noinline)) static void on_stack(const struct gl_run *run, uint64_t bytes)
{
    char room[bytes + GL_ARENA_ALIGN];
    gl_run_blocks(run, room + -(uintptr_t)room % GL_ARENA_ALIGN);
}

/* Run blocks with an arena: on the stack, or in memory of its own where it is large. */
static void with_arena(const struct gl_run *run, uint64_t bytes)
{
    if (bytes <= GL_MOST_STACK) {
        on_stack(run, bytes);
        return;
    }
    void *arena = aligned_alloc(GL_ARENA_ALIGN, (bytes + 63) & ~UINT64_C(63));
    if (!arena) {
        gl_end_launch(run->context, GL_NO_MEMORY);
        return;
    }
    gl_run_blocks(run, arena);
    free(arena);
}

/* Sleep until a job is open whose number is another than "seen". */
static void park(struct gl_pool *pool, uint64_t seen)
{
    gl_park(&pool->parked, &pool->mutex); /* [park] */
    for (;;) {
        const uint64_t state = GL_LOAD(pool->state, SEQ_CST); /* [look] */
        if (state >> GL_JOB_SHIFT != seen && state & GL_OPEN)
            break;
        pthread_cond_wait(&pool->wake, &pool->mutex); /* [sleep] */
    }
    gl_rise(&pool->parked, &pool->mutex); /* [rise] */
}

/* Wait for a job, and join it; its number. A worker for which the job had no room, or that has just
 * left it, has seen it. */
static uint64_t join(struct gl_pool *pool, uint64_t seen)
{
    uint64_t spins = 0;
    for (;;) {
        uint64_t state = GL_LOAD(pool->state, ACQUIRE); /* [spin] */
        const uint64_t number = state >> GL_JOB_SHIFT;
        if (state & GL_OPEN && number != seen) {
            const uint64_t inside = (state & GL_INSIDE) >> 1;
            if (inside + GL_LOAD(pool->beside, RELAXED) >= pool->workers) {
                seen = number; /* no spinning: threads are as many as cores without this one */
                spins = GL_SPINS + 1;
                continue;
            }
            if (__atomic_compare_exchange_n(&pool->state, &state, state + GL_WORKER, 0,
                                            __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) /* [join] */
                return number;
        } else if (spins > GL_SPINS) {
            park(pool, seen);
            spins = 0;
            continue;
        }
        gl_pause();
        spins++;
    }
}

static void *worker(void *argument)
{
    struct gl_pool *pool = argument;
    const uint64_t slot = (uint64_t)GL_ADD(pool->started, 1, RELAXED) + 1;
    struct gl_record *record = gl_own_record();
    for (uint64_t seen = 0;;) {
        seen = join(pool, seen);
        const struct gl_run run = {
            .plan = pool->plan, .params = pool->params, .context = pool->context, .pool = pool,
            .total = pool->total, .record = record, .slot = slot,
        };
        with_arena(&run, pool->arena);                                  /* [work] */
        __atomic_fetch_sub(&pool->state, GL_WORKER, __ATOMIC_ACQ_REL); /* [leave] */
    }
    return NULL;
}

/* Start the workers, once; their number. Several launches may begin at once. */
static int32_t start_workers(struct gl_pool *pool)
{
    int32_t made = 0;
    pthread_mutex_lock(&pool->mutex);
    while (made < pool->wanted && !gl_start_thread(NULL, worker, pool))
        made++;
    if (pool->wanted)
        GL_STORE(pool->workers, (uint32_t)made, RELEASE);
    GL_STORE(pool->wanted, 0, RELAXED);
    pthread_mutex_unlock(&pool->mutex);
    return (int32_t)GL_LOAD(pool->workers, ACQUIRE);
}

static int has_workers(struct gl_pool *pool)
{
    return GL_LOAD(pool->workers, ACQUIRE) ||
           (GL_LOAD(pool->wanted, RELAXED) && start_workers(pool));
}

size_t gridlane_bytes(int32_t threads)
{
    return sizeof(struct gl_pool) + (size_t)threads * sizeof(struct gl_range);
}

int32_t gridlane_start(struct gl_pool *pool, int32_t workers, uint64_t main, int64_t limit)
{
    const int is_first = gl_start_stopping(main, limit);
    memset(pool, 0, sizeof *pool);
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pool->wanted = workers;
    return is_first ? start_workers(pool) : workers;
}

static void open_job(const struct gl_run *run, uint64_t arena)
{
    struct gl_pool *pool = run->pool;
    const uint64_t threads = (uint64_t)pool->workers + 1;
    const uint64_t worth = GL_TAKE_WORK / ((uint64_t)run->plan->work + 1);
    const uint64_t fair = run->total / (threads * GL_OWN_SHARES);
    gl_divide(pool, run->total, threads);
    pool->total = run->total;
    pool->least = gl_max(gl_min(fair, worth), 1);
    pool->plan = run->plan;
    pool->params = run->params;
    pool->context = run->context;
    pool->arena = arena;
    const uint64_t number = (GL_LOAD(pool->state, RELAXED) >> GL_JOB_SHIFT) + 1;
    GL_STORE(pool->state, number << GL_JOB_SHIFT | GL_OPEN, SEQ_CST); /* [open] */
    gl_unpark(&pool->parked, &pool->mutex, &pool->wake, 1); /* [any parked], [wake] */
}

/* Wait until all workers have left. Those that entered a stopped launch too late for its signal are
 * signalled here. */
static void close_job(struct gl_pool *pool, struct gl_context *context)
{
    __atomic_fetch_and(&pool->state, ~(uint64_t)GL_OPEN, __ATOMIC_ACQ_REL); /* [close] */
    for (unsigned spins = 1; GL_LOAD(pool->state, ACQUIRE) & GL_INSIDE; spins++) { /* [empty] */
        gl_pause();
        if (spins % 1024)
            continue;
        sched_yield();
        if (GL_LOAD(context->stop, ACQUIRE))
            gl_signal_all(context);
    }
}

static void run_grid(struct gl_run *run, uint64_t arena)
{
    struct gl_pool *pool = run->pool;
    const int is_small = run->total * (uint64_t)run->plan->work <= GL_SMALL_WORK;
    if (is_small || run->total <= 1 || !has_workers(pool)) {
        run->alone = 1;
        with_arena(run, arena);
    } else if (__atomic_exchange_n(&pool->lock, 1, __ATOMIC_ACQUIRE)) { /* [lock] */
        run->alone = 1;
        GL_ADD(pool->beside, 1, RELAXED);
        with_arena(run, arena);
        GL_ADD(pool->beside, -1, RELAXED);
    } else {
        open_job(run, arena);
        with_arena(run, arena);
        close_job(pool, run->context);
        GL_STORE(pool->lock, 0, RELEASE); /* [unlock] */
    }
}

/* The error code of a launch that has ended; the report of one that failed. */
static int32_t report_of(struct gl_context *context, int64_t *report)
{
    const int32_t stop = GL_LOAD(context->stop, ACQUIRE);
    const int32_t code = stop && stop != GL_FAILED ? -stop : context->error;
    if (!code)
        return 0;
    memcpy(report, &context->thread, sizeof context->thread);
    report[1] = context->block;
    memcpy(report + 2, &context->why, sizeof context->why);
    memcpy(report + 5, context->numbers, sizeof context->numbers);
    return code;
}

int32_t gridlane_launch(const struct gl_plan_of_kernel *plan, const void *params, int32_t x,
                        int32_t y, int32_t z, int32_t shared, int64_t *report)
{
    _Alignas(64) struct gl_context context = {
        .x = x, .y = y, .z = z, .shared = shared, .print = gl_print, .function = plan->print,
        .fail = gl_fail, .find = gl_find,
    };
    struct gl_record *record = gl_own_record();
    struct gl_kept kept;
    gl_count_launch(record);
    const int is_timed = gl_limit != 0;
    if (is_timed)
        kept = gl_begin_timed(record, &context);
    const uint64_t cluster = gl_max(plan->cluster, 1);
    const uint64_t blocks = (uint64_t)(uint32_t)x * (uint32_t)y * (uint32_t)z;
    struct gl_run run = {
        .plan = plan, .params = params, .context = &context, .pool = plan->pool,
        .total = blocks / cluster, .record = record,
    };
    run_grid(&run, (uint64_t)plan->arena + (uint32_t)shared * cluster + GL_ARENA_ALIGN);
    if (is_timed)
        gl_end_timed(record, &kept);
    return report_of(&context, report);
}

int32_t gridlane_launch_all(const struct gl_one_launch *launches, uint32_t count, int64_t *report)
{
    for (uint32_t n = 0; n < count; n++) {
        const struct gl_one_launch *each = &launches[n];
        const int32_t code = gridlane_launch(each->plan, each->params, each->x, each->y, each->z,
                                             each->shared, report);
        if (code) {
            report[GL_REPORT] = n;
            return code;
        }
    }
    return 0;
}
