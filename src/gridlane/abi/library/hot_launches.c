/* Launches of kernels that were launched before. Python leaves a plan of each, by which C packs the
 * parameters and runs the grid. A plan is valid for one function, block shape and context, while
 * the number "code" is unchanged. Python frees no plan that a launch uses. */
#include "hot.h"

#include <errno.h>
#include <fenv.h>
#include <string.h>

enum { BUCKETS = 1024, MOST_BYTES = 4096, REPORT = 15 };

static struct gl_plan *plans[BUCKETS]; /* per library: each has the plans of its own launches */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The launch for which this thread requested a plan. */
static __thread struct {
    uint64_t function, stream;
    uint32_t api, block[3], is_asked, is_planned;
} missed;

static unsigned bucket_of(uint64_t function, const uint32_t *block)
{
    uint64_t mixed = function / 16 + 31 * block[0] + 1009 * block[1] + 7919 * block[2];
    return (unsigned)(mixed ^ mixed / BUCKETS) % BUCKETS;
}

static void add_plan(struct gl_plan *plan)
{
    pthread_mutex_lock(&lock);
    struct gl_plan **bucket = &plans[bucket_of(plan->function, plan->block)];
    plan->next = *bucket;
    *bucket = plan;
    pthread_mutex_unlock(&lock);
}

/* Withdraw a plan from later launches; "users" counts those that still use it. */
static void remove_plan(struct gl_plan *plan)
{
    pthread_mutex_lock(&lock);
    struct gl_plan **place = &plans[bucket_of(plan->function, plan->block)];
    while (*place && *place != plan)
        place = &(*place)->next;
    if (*place)
        *place = plan->next;
    pthread_mutex_unlock(&lock);
}

const struct gl_launches gl_launches = { add_plan, remove_plan, gl_ready_names };

/* A plan with one more use, which nobody frees before its release; null if there is none. */
static struct gl_plan *used_plan(uint32_t api, uint64_t function, const uint32_t *block)
{
    struct gl_thread *me = gl_me();
    uint64_t code = __atomic_load_n(&gl_process.code, __ATOMIC_ACQUIRE);
    pthread_mutex_lock(&lock);
    struct gl_plan *plan = plans[bucket_of(function, block)];
    while (plan && (plan->function != function || plan->code != code || plan->api != api ||
                    plan->context != me->context ||
                    memcmp(plan->block, block, sizeof plan->block)))
        plan = plan->next;
    if (plan)
        __atomic_add_fetch(&plan->users, 1, __ATOMIC_ACQ_REL);
    pthread_mutex_unlock(&lock);
    return plan;
}

int gl_has_plan(uint32_t api, uint64_t function, const uint32_t *block)
{
    struct gl_plan *plan = used_plan(api, function, block);
    if (plan)
        __atomic_sub_fetch(&plan->users, 1, __ATOMIC_ACQ_REL);
    return plan != NULL;
}

/* Pack the parameters; false where Python must report what is wrong with them. */
int gl_pack(const struct gl_plan *plan, void **arguments, uint8_t *made)
{
    if (plan->parameters && !arguments)
        return 0;
    for (uint32_t n = 0; n < plan->parameters; n++)
        if (!arguments[n])
            return 0;
    memcpy(made, plan->constants, plan->bytes);
    for (uint32_t n = 0; n < plan->pieces; n++) {
        const struct gl_piece *each = &plan->piece[n];
        memcpy(made + each->to, (const char *)arguments[each->argument] + each->from, each->size);
    }
    return 1;
}

static int fits(const struct gl_plan *plan, const uint32_t *grid, size_t shared)
{
    for (int n = 0; n < 3; n++)
        if (!grid[n] || grid[n] > plan->most_grid[n])
            return 0;
    return shared <= plan->most_shared;
}

/* Launch with the default stream's lock held, and release it. */
static int run(struct gl_plan *plan, const uint32_t *grid, const uint8_t *params, size_t shared)
{
    static struct gl_slot failed = { "hot:failed", 0, 0 };
    int64_t report[REPORT] = { 0 };
    int error = errno, cancels;
    fenv_t floats;
    fegetenv(&floats);
    fesetenv(FE_DFL_ENV); /* as gl_enter does */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancels);
    int code = plan->launch(plan->native, params, grid[0], grid[1], grid[2], (uint32_t)shared,
                            report);
    gl_give_turn();
    pthread_setcancelstate(cancels, NULL);
    fesetenv(&floats);
    errno = error;
    if (!code)
        return 0;
    const uint64_t words[] = { (uintptr_t)plan, (uint64_t)(int64_t)code, (uintptr_t)report,
                               grid[0], grid[1] };
    return (int)gl_enter(&failed, words, 5);
}

/* The request to Python after a launch. */
static void note_missed(uint32_t api, uint64_t function, const uint32_t *block, const void *stream,
                        int is_planned)
{
    missed.is_asked = 1;
    missed.is_planned = is_planned;
    missed.api = api;
    missed.function = function;
    missed.stream = (uintptr_t)stream;
    memcpy(missed.block, block, sizeof missed.block);
}

/* The code of a launch, or -1 if Python must do it. */
int gl_launch(uint32_t api, uint64_t function, const uint32_t *grid, const uint32_t *block,
              void **arguments, size_t shared, const void *stream)
{
    struct gl_thread *me = gl_me();
    int here = gl_is_default(stream); /* its work runs on the caller */
    if (!(here ? gl_is_quiet(me, GL_READY) : gl_knows(me, GL_READY)) ||
        (me->state != GL_AHEAD && !gl_told_all())) {
        note_missed(api, function, block, stream, 0);
        return -1;
    }
    if (!here && me->state == GL_AHEAD)
        return -1;
    struct gl_plan *plan = used_plan(api, function, block);
    if (!plan && gl_ready_plan(api, function, block))
        plan = used_plan(api, function, block);
    if (!plan) {
        note_missed(api, function, block, stream, 0);
        return -1;
    }
    _Alignas(64) uint8_t params[MOST_BYTES];
    int code = -1;
    /* Lock order: a kernel that prints takes the GIL, in whatever thread its blocks run. */
    int usable = plan->usable && plan->bytes <= MOST_BYTES && fits(plan, grid, shared);
    if (usable && !here) {
        if (gl_append(me, plan, stream, grid, arguments, shared))
            return 0; /* the item owns the plan's use from now on */
        note_missed(api, function, block, stream, 1);
    } else if (usable && gl_pack(plan, arguments, params) && !gl_holds_python() && gl_take_turn())
        code = run(plan, grid, params, shared);
    __atomic_sub_fetch(&plan->users, 1, __ATOMIC_ACQ_REL);
    return code;
}

/* After a launch by Python: request its plan. Returns whether it was requested. */
int gl_learn(gl_caller *call, uint64_t code)
{
    static struct gl_slot slot = { "hot:learn", 0, 0 };
    if (!missed.is_asked)
        return 0;
    missed.is_asked = 0;
    if (code)
        return 0;
    if (gl_has_plan(missed.api, missed.function, missed.block))
        missed.is_planned = 1;
    if (missed.is_planned)
        return 0;
    const uint64_t words[] = { (uintptr_t)&gl_launches, missed.api, missed.function,
                               missed.block[0], missed.block[1], missed.block[2] };
    call(&slot, words, 6);
    return 1;
}

__attribute__((weak)) int gl_told_all(void)
{
    return 1;
}
