/* The records of threads, and the frames in which they run blocks.
 *
 * A thread leaves a kernel by longjmp, from a signal's handler as well: a kernel owns nothing. Its
 * frame is that of gl_run_blocks, which therefore is never inlined. */
#include "pool.h"

#include <stdlib.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

struct gl_record *gl_records, *gl_main_record;
uint64_t gl_main_thread;
static pthread_key_t key; /* of a thread's record */

/* A thread ends: the next may have its record. */
static void release(void *argument)
{
    struct gl_record *record = argument;
    gl_end_fault_stack(record);
    GL_STORE(record->taken, 0, RELEASE);
}

void gl_begin_records(void)
{
    pthread_key_create(&key, release);
}

/* In the child of a fork: the records of threads that are gone are left alone. */
void gl_forget_records(void)
{
    gl_records = gl_main_record = NULL;
    pthread_setspecific(key, NULL);
}

/* Signal safety: pthread_getspecific of a key among the first reads the thread's own block. */
struct gl_record *gl_this_record(void)
{
    return pthread_getspecific(key);
}

/* A record that a thread has left, or a new one. */
static struct gl_record *unused(void)
{
    struct gl_record *each = GL_LOAD(gl_records, ACQUIRE);
    for (; each; each = each->next) {
        int32_t free_one = 0;
        if (__atomic_compare_exchange_n(&each->taken, &free_one, 1, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED))
            return each;
    }
    struct gl_record *made = calloc(1, sizeof *made);
    if (!made)
        abort(); /* a thread without a record could not leave its kernel */
    made->taken = 1;
    made->next = GL_LOAD(gl_records, RELAXED);
    while (!__atomic_compare_exchange_n(&gl_records, &made->next, made, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED))
        continue;
    return made;
}

__attribute__((noinline)) static struct gl_record *first_record(void)
{
    struct gl_record *made = unused();
    const uint64_t self = gl_self();
    GL_STORE(made->frame, NULL, RELAXED);
    GL_STORE(made->asked, 0, RELAXED);
    GL_STORE(made->thread, self, RELAXED);
    pthread_setspecific(key, made);
    gl_unblock(SIGURG);
    gl_begin_fault_stack(made);
    if (self == gl_main_thread)
        GL_STORE(gl_main_record, made, RELEASE);
    return made;
}

/* The caller's record; made at its first launch. */
struct gl_record *gl_own_record(void)
{
    struct gl_record *known = gl_this_record();
    return known ? known : first_record();
}

/* Run blocks: all of a grid, or those that a thread of a job takes. */
static void run(const struct gl_run *run, void *arena)
{
    const struct gl_plan_of_kernel *plan = run->plan;
    if (run->alone) {
        plan->entry(run->params, run->context, 0, (int64_t)run->total, arena);
        return;
    }
    while (!GL_LOAD(run->context->stop, RELAXED)) {
        const uint64_t taken = gl_take_any(run->pool, run->slot), unit = run->pool->unit;
        if (!taken)
            return;
        const uint64_t first = (taken >> 32) * unit;
        const uint64_t last = gl_min(first + (uint32_t)taken * unit, run->total);
        plan->entry(run->params, run->context, (int64_t)first, (int64_t)last, arena);
    }
}

__attribute__((noinline)) void gl_run_blocks(const struct gl_run *what, void *arena)
{
    struct gl_record *const record = what->record;
    struct gl_context *const outer = record->context; /* its kernel called Python */
    struct gl_frame frame; /* set field by field: an initializer would clear 200 bytes of "back" */
    frame.context = what->context;
    frame.plan = what->plan;
#if defined(__x86_64__)
    const unsigned mode = _mm_getcsr(); /* a kernel may change it, and longjmp leaves it */
#endif
    if (!_setjmp(frame.back)) {
        /* The context first: who signals those in a launch must find a thread that has a frame. */
        GL_STORE(record->context, what->context, RELEASE);
        GL_STORE(record->frame, &frame, SEQ_CST);
        if (!GL_LOAD(what->context->stop, ACQUIRE))
            run(what, arena);
    } else {
#if defined(__x86_64__)
        _mm_setcsr(mode);
#endif
    }
    GL_STORE(record->frame, NULL, RELEASE);
    GL_STORE(record->context, outer, RELEASE);
}
