/* How the stubs of CUDA's functions enter gridlane's Python. */
#ifndef GRIDLANE_BRIDGE_H
#define GRIDLANE_BRIDGE_H

#include <stddef.h>
#include <stdint.h>

#define GL_EXPORT __attribute__((visibility("default")))

#ifdef GL_OF_NVRTC
enum { /* nvrtcResult: NVRTC_ERROR_INTERNAL_ERROR */
    GL_NOT_INITIALIZED = 11,
    GL_DEINITIALIZED = 11,
    GL_NO_PYTHON = 11,
    GL_UNKNOWN = 11
};
#else
enum { /* CUresult */
    GL_NOT_INITIALIZED = 3,
    GL_DEINITIALIZED = 4,
    GL_NO_PYTHON = 802,
    GL_UNKNOWN = 999
};
#endif

/* A function of CUDA's, and its callable in Python once it has been called. */
struct gl_slot {
    const char *name;
    void *call;
};

/* A function by the name that programs ask cuGetProcAddress for. */
struct gl_symbol {
    const char *base;
    int since; /* 1000 x major + 10 x minor */
    void *plain;
    void *per_thread; /* its form for the default stream of a thread, or null */
};

/* Call a function with its arguments, each as 64 bits. The error code, or a pointer. */
uint64_t gl_enter(struct gl_slot *slot, const uint64_t *arguments, int count);

/* What a library does in Python before each of its calls; most have nothing to do. */
void gl_before(uint64_t (*enter)(struct gl_slot *, const uint64_t *, int));

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
