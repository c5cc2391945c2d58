/* The thread pool of the CPU device: its layouts and what its files share.
 *
 * A launch is one call and holds no Python lock. A context is laid out as in core/cpu_abi.py, which
 * generated code reads; tests/native compares the two. */
#ifndef GRIDLANE_NATIVE_POOL_H
#define GRIDLANE_NATIVE_POOL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
/* The checked longjmp takes the stack of a signal's handler for a frame that has ended. */
#undef _FORTIFY_SOURCE

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "threads.h"

enum {
    GL_ARENA_ALIGN = 64,
    GL_SPINS = 50000, /* pauses before a worker parks: about a millisecond. Waking a parked thread
                         was seen to take milliseconds where the system had put its core to sleep,
                         so launches in a row must not park */
    GL_SMALL_WORK = 40000, /* a grid of less work runs on the caller: waking a worker costs more */
    GL_TAKE_WORK = 60000,  /* the least work to take at once */
    GL_MOST_STACK = 256 << 10, /* bytes of the largest arena on the stack; larger ones are allocated */
    GL_OWN_SHARES = 8, /* the parts of what is left in a range of which its owner takes one, */
    GL_OTHERS_SHARES = 2, /* and a thread that has no units left */
    GL_TICK = 60000000, /* ns between two checks: a kernel stops within two of these after Ctrl-C */
    GL_IDLE_TICKS = 20, /* checks without a launch before the monitor parks */
    GL_FAULT_STACK = 1 << 16, /* bytes */
    GL_NUMBERS = 10, /* the most numbers of a kernel's error */
    GL_REPORT = 15,  /* the i64 of a launch's report; launch_all writes one more */
    GL_ASK = -1,     /* the number of a print that asks for the allocations */
};

/* Why a launch ends early. The error code of a launch is the negative, but of GL_FAILED the
 * kernel's own. */
enum { GL_STOPPED = 1, GL_NO_MEMORY = 2, GL_FAULTED = 3, GL_TIMED_OUT = 4, GL_FAILED = 5 };

struct gl_context;
struct gl_pool;

/* Runs the blocks "first" to "last" - 1 of the grid. */
typedef void gl_entry(const void *params, struct gl_context *context, int64_t first, int64_t last,
                      void *arena);

/* One per loaded kernel. A cluster is what a worker takes as one block, and has the dynamic shared
 * memory of each of its blocks. */
struct gl_plan_of_kernel {
    gl_entry *entry;
    struct gl_pool *pool;
    int64_t arena; /* bytes of scratch and static shared memory */
    int64_t work;  /* of a block, in rough operations */
    void *print;   /* the Python function that prints */
    uint64_t code, code_end; /* 0 if they are not known */
    uint64_t cluster;        /* blocks, or 0 */
};

/* One per launch, on the caller's stack. */
struct gl_context {
    int32_t x, y, z, shared; /* the grid; bytes of dynamic shared memory */
    int32_t error, thread;   /* 0 while there is no error */
    int64_t block;
    void (*print)(int32_t site, void *cells);
    int32_t stop, unused; /* not 0: why the launch ends */
    void *function;       /* of Python, for "print" */
    int64_t unused2;
    /* The Python exception that stopped the launch: type, value, traceback. Of a fault: the offset
     * of the instruction in the code, and the address that it used. Of a launch whose time is
     * over: one more than the offset of an instruction, or 0. */
    union {
        void *exception[3];
        uint64_t place[3];
    } why;
    int64_t numbers[GL_NUMBERS]; /* of the kernel's error */
    const uint64_t *allocations; /* their table; null while nobody asked; see cpu_ranges.py */
    void (*fail)(struct gl_context *, int32_t code, int32_t thread, int64_t block, const void *);
    _Bool (*find)(struct gl_context *, uint64_t address, uint64_t bytes, uint64_t *range);
};

/* One for each thread: bits 0 to 31 the next unit, bits 32 up the unit beyond the last one. */
struct gl_range {
    _Alignas(64) uint64_t word;
};

/* The state word is bit 0: a job is open; bits 1 to 31: workers in it, times 2; bits 32 up: number
 * of the job. The fields of a job are written only while it is closed and empty, so a worker that
 * has joined may read them. */
enum { GL_OPEN = 1, GL_WORKER = 2, GL_JOB_SHIFT = 32 };
#define GL_INSIDE UINT64_C(0xfffffffe)

struct gl_pool {
    uint64_t state;
    _Alignas(64) uint64_t ranges; /* of the job: how many */
    uint64_t total, least; /* blocks; the least units to take at once */
    const struct gl_plan_of_kernel *plan;
    const void *params;
    struct gl_context *context;
    uint64_t arena; /* bytes */
    uint64_t unit;  /* blocks of a unit */
    uint32_t parked; /* workers that sleep */
    int32_t lock;    /* whether a launch has the job */
    uint32_t workers, beside; /* "beside": launches at the same time, on their own threads */
    int32_t wanted;           /* workers that the first large launch starts */
    int64_t started; /* workers */
    _Alignas(64) pthread_mutex_t mutex;
    _Alignas(64) pthread_cond_t wake;
    _Alignas(64) struct gl_range range[];
};

/* The stack frame of a thread that runs blocks. */
struct gl_frame {
    struct gl_context *context;
    const struct gl_plan_of_kernel *plan;
    jmp_buf back;
};

/* One per thread that runs kernels; a later thread reuses it when that ends. Records are never
 * freed: a signal's handler or the monitor may read any. */
struct gl_record {
    uint64_t thread;
    struct gl_frame *frame; /* while the thread is in a kernel; null while a kernel calls Python */
    struct gl_record *next;
    uint64_t begun; /* launches */
    int32_t asked, taken; /* whether a stop is requested; whether a thread has the record */
    struct gl_context *context; /* of its launch */
    void *stack;                /* of its handlers of faults, or null */
    int64_t start; /* ns, of a launch that has a limit; 0: none, -1: the watch stops it now */
    struct gl_context *timed;
};

/* Functions of Python, in the order of cpu_native.py. The core does not include Python.h: it serves
 * programs that have no Python. */
struct gl_python {
    int (*ensure)(void);
    void (*release)(int);
    int (*check_signals)(void);
    void (*fetch)(void **, void **, void **);
    void *(*number)(long long);
    void *(*call)(void *, ...);
    void (*drop)(void *);
};

#define GL_LOAD(place, order) __atomic_load_n(&(place), __ATOMIC_##order)
#define GL_STORE(place, value, order) __atomic_store_n(&(place), (value), __ATOMIC_##order)
#define GL_ADD(place, value, order) __atomic_fetch_add(&(place), (value), __ATOMIC_##order)

#pragma GCC visibility push(hidden)

/* --- what Python and C programs call --- */

extern struct gl_python gridlane_python;

/* The bytes of a pool of so many threads, the launching one included. */
size_t gridlane_bytes(int32_t threads);

/* Start, or begin anew in the child of a fork, where the first launches start the threads: a child
 * that launches nothing ends with its own threads. The number of workers. "main" is Python's main
 * thread, 0 in a program whose signals are its own; "limit" the ns of a launch, 0 for any time. */
int32_t gridlane_start(struct gl_pool *pool, int32_t workers, uint64_t main, int64_t limit);

/* Launch; the error code, 0 for none. The report: 0 i32 thread, 8 i64 block, 16 why (three i64),
 * 40 the numbers of the kernel's error. */
int32_t gridlane_launch(const struct gl_plan_of_kernel *plan, const void *params, int32_t x,
                        int32_t y, int32_t z, int32_t shared, int64_t *report);

struct gl_one_launch {
    const struct gl_plan_of_kernel *plan;
    const void *params;
    int32_t x, y, z, shared;
};

/* Launch one after the other; the error code of the first that fails, whose number is behind its
 * report. */
int32_t gridlane_launch_all(const struct gl_one_launch *launches, uint32_t count, int64_t *report);

/* Ask the launch of a thread to stop; 0 takes the wish back. The thread must be alive. */
void gridlane_stop(uint64_t thread, int32_t wish);

/* --- shares.c --- */

void gl_divide(struct gl_pool *pool, uint64_t total, uint64_t threads);
uint64_t gl_take_any(struct gl_pool *pool, uint64_t slot);

/* --- records.c --- */

extern struct gl_record *gl_records; /* the first */
extern struct gl_record *gl_main_record;
extern uint64_t gl_main_thread;

struct gl_record *gl_this_record(void); /* of the caller; null if it has none */
struct gl_record *gl_own_record(void);
void gl_begin_records(void);
void gl_forget_records(void);

struct gl_run {
    const struct gl_plan_of_kernel *plan;
    const void *params;
    struct gl_context *context;
    struct gl_pool *pool;
    uint64_t total;
    struct gl_record *record;
    uint64_t slot;
    int alone; /* runs the whole grid; else what it takes */
};
void gl_run_blocks(const struct gl_run *run, void *arena);

/* --- leaving.c --- */

int gl_end_launch(struct gl_context *context, int32_t reason);
void gl_signal_all(struct gl_context *context);
void gl_signal_if_ours(struct gl_context *context);
void gl_unblock(int number);
_Noreturn void gl_leave(struct gl_record *record, struct gl_frame *frame);
_Noreturn void gl_leave_handler(struct gl_record *record, struct gl_frame *frame, int number);

/* --- stop.c --- */

int gl_start_stopping(uint64_t main, int64_t limit); /* whether it is the process's first time */
void gl_count_launch(struct gl_record *record);
void gl_print(int32_t site, void *cells);
int gl_handler_is_ours(void);

/* --- faults.c --- */

void gl_begin_fault_stack(struct gl_record *record);
void gl_end_fault_stack(struct gl_record *record);
void gl_catch_faults(void);
void gl_note_place(struct gl_frame *frame, void *ucontext);

/* --- checks.c --- */

void gl_fail(struct gl_context *context, int32_t code, int32_t thread, int64_t block,
             const void *numbers);
_Bool gl_find(struct gl_context *context, uint64_t address, uint64_t bytes, uint64_t *range);

/* --- timeout.c --- */

extern int64_t gl_limit; /* ns; 0 for any time */

/* The launch that a thread was in before, whose kernel called Python. */
struct gl_kept {
    int64_t start;
    struct gl_context *timed;
};
struct gl_kept gl_begin_timed(struct gl_record *record, struct gl_context *context);
void gl_end_timed(struct gl_record *record, const struct gl_kept *kept);
void gl_start_watch(void);
void gl_set_limit(int64_t limit); /* no other thread of this process uses it yet */

#pragma GCC visibility pop

static inline uint64_t gl_min(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

static inline uint64_t gl_max(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

static inline uint64_t gl_self(void)
{
    return (uint64_t)(uintptr_t)pthread_self();
}

#endif
