/* How the stubs of CUDA's functions enter gridlane's Python. */
#ifndef GRIDLANE_BRIDGE_H
#define GRIDLANE_BRIDGE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#define GL_EXPORT __attribute__((visibility("default")))

#ifdef GL_OF_NVRTC
enum {
    GL_NOT_INITIALIZED = NVRTC_ERROR_INTERNAL_ERROR,
    GL_DEINITIALIZED = NVRTC_ERROR_INTERNAL_ERROR,
    GL_NO_PYTHON = NVRTC_ERROR_INTERNAL_ERROR,
    GL_MISMATCH = NVRTC_ERROR_INTERNAL_ERROR,
    GL_UNKNOWN = NVRTC_ERROR_INTERNAL_ERROR
};
#else
enum {
    GL_NOT_INITIALIZED = CUDA_ERROR_NOT_INITIALIZED,
    GL_DEINITIALIZED = CUDA_ERROR_DEINITIALIZED,
    GL_NO_PYTHON = CUDA_ERROR_SYSTEM_NOT_READY,
    GL_MISMATCH = CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
    GL_NOT_READY = CUDA_ERROR_NOT_READY,
    GL_UNKNOWN = CUDA_ERROR_UNKNOWN
};
#endif

/* A function of CUDA, and its Python callable after the first call. */
struct gl_slot {
    const char *name;
    void *call;
    int hot; /* C answers it alone where it can; gl_after is called after Python's answer */
};

/* State that all libraries with this file share in a process, however they were opened: a unique
 * symbol of ELF. A process initialises one Python, and no child of a fork can use it. */
struct gl_process {
    pthread_mutex_t beginning;
    pthread_t beginner; /* the owner of the lock, while "begins" */
    int begins;
    int begun;  /* the first call was made; from now on a fork finds locks held */
    int forked; /* this process is the child of one that had begun */
    int offers; /* Python publishes what C may answer alone */
    uint64_t state, pools, code; /* the numbers of core/epochs.py */
    struct gl_queues *queues;    /* see native/queue.h */
    void *shared;        /* what the hot functions of all libraries share */
    int ended;           /* the process finalized its own Python, once and for all */
    pthread_key_t ahead; /* thread states that C set ahead of Python; see ready.h */
    int is_keyed;        /* the key exists */
    int entered;         /* Python has been entered, or is about to be */
    uint32_t *unread;    /* launches that failed since the program last read an error, or null */
};

GL_EXPORT extern struct gl_process gl_process;

/* The program reads the error. */
static inline void gl_note_read(void)
{
    uint32_t *unread = __atomic_load_n(&gl_process.unread, __ATOMIC_ACQUIRE);
    if (unread)
        __atomic_store_n(unread, 0, __ATOMIC_RELAXED);
}

/* The number of the state, and of a context, while the process is ahead of Python; see ready.h.
 * Numbers of code are this one and those below. */
#define GL_AHEAD (UINT64_MAX - 1)

/* A function by the name that programs pass to cuGetProcAddress. */
struct gl_symbol {
    const char *base;
    int since; /* 1000 x major + 10 x minor */
    void *plain;
    void *per_thread; /* its form for the default stream of a thread, or null */
};

/* An error of the library's API. */
struct gl_error {
    int number;
    const char *name, *meaning;
};

/* Call a function with its arguments, each as 64 bits. Returns the error code, or a pointer. */
uint64_t gl_enter(struct gl_slot *slot, const uint64_t *arguments, int count);

typedef uint64_t gl_caller(struct gl_slot *, const uint64_t *, int);

/* A hook of the library in Python before each of its calls; null for most libraries. */
void gl_before(gl_caller *enter);

/* A hook after a call of a function that C can answer alone; ``call`` skips the checks of gl_enter.
 * The second one runs at the end of a thread of the program. */
void gl_after(gl_caller *call, uint64_t code);
void gl_forget_thread(void);

/* The addresses through which Python publishes what C may answer alone; null where C answers
 * nothing. */
const void *gl_hot_table(void);

/* Fork: note that state here cannot be used in the child of a fork. The caller holds the lock. */
void gl_note_begun(void);

/* Whether this thread holds the GIL; kernels that print need it. */
int gl_holds_python(void);

static inline uint64_t gl_of_float(float value)
{
    union { float number; uint32_t bits; } cell = { .number = value };
    return cell.bits;
}

static inline uint64_t gl_of_double(double value)
{
    union { double number; uint64_t bits; } cell = { .number = value };
    return cell.bits;
}

#endif
