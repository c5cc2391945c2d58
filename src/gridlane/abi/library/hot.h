/* Calls that C answers alone: the most frequent ones, in the states in which they succeed.
 *
 * Python's state of contexts, devices and errors is the truth. Python publishes to a thread what C
 * may answer, with the numbers of core/epochs.py from before Python read its state. The answer is
 * valid while the numbers are unchanged. The work of streams is in the queues of native/queue.h. A
 * call that fails, or whose state C does not have, enters Python. */
#ifndef GRIDLANE_HOT_H
#define GRIDLANE_HOT_H

#include "bridge.h"
#include "queue.h"

enum { /* what a thread has; see hot.py */
    GL_KNOWS_DEVICE = 1,
    GL_KNOWS_CONTEXT = 2,
    GL_NO_ERROR = 4, /* the runtime's last error is none */
    GL_READY = 8,    /* the current context accepts work, on a device whose memory C can access */
    GL_QUIET = 16,   /* streams have no error, and none refuses; asked of the queues */
    GL_IDLE = 32,    /* a wait for finished work has no other duty */
    GL_UNCAPTURED = 64, /* no stream is captured or left; asked of the queues */
    GL_ALLOCATES = 128, /* the device's memory is the system's, without a limit */
    GL_OF_POOLS = GL_IDLE, /* valid for one number of "pools" */
    GL_OF_QUEUES = GL_QUIET | GL_UNCAPTURED
};

/* The state that Python published to a thread. Each library has its own copy and requests it. */
struct gl_thread {
    uint64_t state, pools; /* the numbers */
    uint64_t context; /* the handle of the current one, or 0 */
    uint64_t own;     /* the handle of this thread's default stream in it, or 0: Python makes it */
    int32_t device;
    int32_t chosen; /* the device for which cudaSetDevice changes nothing, or -1 */
    uint32_t knows;
    uint32_t asks; /* the state was old: request a new one after the call that Python answers */
};

extern __thread struct gl_thread gl_thread;

/* Ahead of Python: publish this thread's state; note that it uses the first device. Each returns
 * whether C may answer. */
int gl_ready_tells(void);
int gl_ready_uses(unsigned what);

static inline int gl_is_old(uint64_t mine, const uint64_t *number)
{
    return mine != __atomic_load_n(number, __ATOMIC_ACQUIRE);
}

/* This thread's state. A function gets it once: its address is a call in a library. */
static inline struct gl_thread *gl_me(void)
{
    struct gl_thread *me = &gl_thread;
    __asm__("" : "+r"(me)); /* else the compiler calls again rather than keep it */
    return me;
}

static inline int gl_knows(struct gl_thread *me, unsigned what)
{
    if (!me->state || gl_is_old(me->state, &gl_process.state) ||
        (what & GL_OF_POOLS && gl_is_old(me->pools, &gl_process.pools))) {
        if (!gl_ready_tells()) {
            me->asks = 1;
            return 0;
        }
    }
    if (what & (GL_OF_QUEUES | GL_IDLE)) {
        const struct gl_queues *all = gl_process.queues; /* where a thread knows anything */
        if (__atomic_load_n(&all->refusals, __ATOMIC_ACQUIRE) ||
            (what & GL_QUIET && __atomic_load_n(&all->failed, __ATOMIC_ACQUIRE)))
            return 0;
        what &= ~(unsigned)GL_OF_QUEUES;
    }
    return (me->knows & what) == what ||
           (me->state == GL_AHEAD && what & (GL_READY | GL_KNOWS_DEVICE) &&
            gl_ready_uses(what));
}

/* Each returns whether it did the work of CUDA's function. */
static inline int gl_get_device(int *made)
{
    struct gl_thread *me = gl_me();
    if (!made || !gl_knows(me, GL_KNOWS_DEVICE))
        return 0;
    *made = me->device;
    return 1;
}

static inline int gl_get_context(void **made)
{
    struct gl_thread *me = gl_me();
    if (!made || !gl_knows(me, GL_KNOWS_CONTEXT))
        return 0;
    *made = (void *)(uintptr_t)me->context;
    return 1;
}

/* --- memory --- */

/* Functions that Python calls; see hot_memory.c. */
struct gl_memory {
    int (*begin)(uint64_t *told);
    void (*end_context)(uint64_t context);
    void (*take_turn)(void);
    int (*try_turn)(void);
    void (*give_turn)(void);
    void (*move_context)(uint64_t from, uint64_t to);
};

extern const struct gl_memory gl_memory;

/* Note what C uses ahead of Python. Python makes it later. */
enum { GL_DRIVER_AHEAD = 1, GL_CONTEXT_AHEAD = 2 };
void gl_use_ahead(unsigned what);

/* Acquire the default stream's lock. Returns 0 if this thread holds it already. Lock order: it also
 * returns 0 rather than wait while this thread holds the GIL, which the holder's work may need. */
int gl_take_turn(void);
int gl_try_turn(void);
void gl_give_turn(void);

/* Whether the default stream's work may run now because streams have none. Waits a while for
 * their work. */
int gl_is_quiet(struct gl_thread *me, unsigned knows);

/* Whether a wait for all work is over. */
int gl_wait(void);

int gl_allocate(void *made, size_t size);
int gl_free(uint64_t address);
int gl_allocate_large(void *made, size_t size);
int gl_free_large(uint64_t address);
int gl_copy(const void *to, const void *from, size_t size, int kind, const void *stream);
int gl_copy_to_device(uint64_t to, const void *from, size_t size, const void *stream);
int gl_copy_to_host(const void *to, uint64_t from, size_t size, const void *stream);
int gl_copy_within(uint64_t to, uint64_t from, size_t size, const void *stream);
int gl_copy_between(uint64_t to, uint64_t from, size_t size, const void *stream);
int gl_fill(uint64_t to, uint32_t value, size_t count, size_t width, const void *stream);

/* --- events --- */

/* Functions that Python calls; see hot_events.c. */
struct gl_events {
    int (*add)(uint64_t handle, uint64_t context, uint32_t flags, struct gl_event *event);
    struct gl_event *(*adopt)(uint64_t handle, uint64_t *told);
    void (*withdraw)(uint64_t handle);
};

extern const struct gl_events gl_events;

int gl_new_event(void *made, uint32_t flags);
int gl_end_event(uint64_t handle);
int gl_record(uint64_t handle, const void *stream);
int gl_query_event(uint64_t handle); /* the code, or -1 */
int gl_wait_event(uint64_t handle);
int gl_elapsed_time(float *made, uint64_t first, uint64_t last); /* the code, or -1 */
int gl_follow(const void *stream, uint64_t handle, unsigned flags);
int gl_synchronize(const void *stream);
int gl_query(const void *stream); /* the code, or -1 */

/* --- launches --- */

enum { GL_DRIVER, GL_RUNTIME }; /* the API that a plan's function belongs to */

/* A part of a parameter, and its offset in the block of the code. */
struct gl_piece {
    uint32_t argument, from, to, size;
};

/* How a function is launched. Python makes and frees it; see hot_launches.py. */
struct gl_plan {
    uint64_t function, context, code;
    uint32_t api, block[3];
    uint32_t usable, parameters, pieces, bytes;
    uint32_t most_grid[3], most_shared;
    gl_launcher *launch;
    void *native;
    const struct gl_piece *piece;
    const uint8_t *constants; /* the block without the parameters */
    struct gl_plan *next;
    uint32_t users;
};

/* Functions that Python calls; see hot_order.c. */
struct gl_streams {
    int (*add)(uint64_t handle, uint64_t context, struct gl_queue *queue);
    struct gl_queue *(*adopt)(uint64_t handle, uint64_t *told);
    void (*withdraw)(uint64_t handle);
    uint64_t (*first_ended)(void);
    void (*forget_ended)(uint64_t handle);
    const uint32_t *(*ended_count)(void);
};

extern const struct gl_streams gl_streams;

/* The keys of the files of a kernel and its device, and their inputs; see ready.h. */
struct gl_ready_names {
    uint8_t device[32], kernel[32];
    const char *environment, *package;
};

/* Functions that Python calls. */
struct gl_launches {
    void (*add_plan)(struct gl_plan *plan);
    void (*remove_plan)(struct gl_plan *plan);
    int (*ready_names)(uint64_t function, const uint32_t *block, struct gl_ready_names *made);
};

extern const struct gl_launches gl_launches;

/* Functions of a process that is ahead of Python; see ready.c. */
int gl_begin_ahead(void);
int gl_ready_count(int *made);
int gl_ready_chooses(int32_t device);
int gl_ready_names(uint64_t function, const uint32_t *block, struct gl_ready_names *made);
int gl_ready_plan(uint32_t api, uint64_t function, const uint32_t *block);
int gl_has_plan(uint32_t api, uint64_t function, const uint32_t *block);
void gl_ready_forget(void);

int gl_pack(const struct gl_plan *plan, void **arguments, uint8_t *made);
int gl_append(struct gl_thread *me, struct gl_plan *plan, const void *stream, const uint32_t *grid,
              void **arguments, size_t shared);

int gl_new_stream(void *made, uint32_t flags, int32_t priority);
int gl_end_stream(const void *stream);
int gl_do(const void *stream, const struct gl_move *move, int waits);
int gl_is_done(struct gl_thread *me, const void *stream, int waits, int *is_known);

int gl_launch(uint32_t api, uint64_t function, const uint32_t *grid, const uint32_t *block,
              void **arguments, size_t shared, const void *stream);
int gl_learn(gl_caller *call, uint64_t code);

/* Whether Python has every kernel that the program registered, and none that it withdrew. */
int gl_told_all(void);

/* CUDA's handles of default streams. The second is the calling thread's, a stream of its own. */
#define GL_LEGACY ((void *)0)
#define GL_OF_THREAD ((void *)2)

/* Whether a stream is the legacy default one, whose work runs on the caller. */
static inline int gl_is_default(const void *stream)
{
    return (uintptr_t)stream < (uintptr_t)GL_OF_THREAD;
}

#endif
