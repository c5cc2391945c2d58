// What C's library has on the device: memory, texts to the host, assertions.
#pragma once

extern "C" {
// clang makes vprintf of it.
__device__ int printf(const char *format, ...);
__device__ int vprintf(const char *format, const char *arguments);
__device__ void *malloc(size_t bytes);
__device__ void free(void *p);
__device__ __attribute__((noreturn)) void __assertfail(
    const char *message, const char *file, unsigned line, const char *function, size_t width);
}

// What the assert of the C library calls.
#ifdef __GLIBC__
static inline __device__ __attribute__((noreturn)) void __assert_fail(
    const char *message, const char *file, unsigned line, const char *function)
{
    __assertfail(message, file, line, function, 1);
}
#else
static inline __device__ __attribute__((noreturn)) void __assert_fail(
    const char *message, const char *file, int line, const char *function)
{
    __assertfail(message, file, (unsigned)line, function, 1);
}
#endif
static inline __device__ __attribute__((noreturn)) void abort()
{
    __nvvm_exit();
    __builtin_unreachable();
}

GRIDLANE_DEVICE void *memcpy(void *to, const void *from, size_t bytes)
{
    return __builtin_memcpy(to, from, bytes);
}
GRIDLANE_DEVICE void *memmove(void *to, const void *from, size_t bytes)
{
    return __builtin_memmove(to, from, bytes);
}
GRIDLANE_DEVICE void *memset(void *to, int byte, size_t bytes)
{
    return __builtin_memset(to, byte, bytes);
}

inline __device__ void *operator new(size_t bytes) { return malloc(bytes); }
inline __device__ void *operator new[](size_t bytes) { return malloc(bytes); }
inline __device__ void operator delete(void *p) noexcept { free(p); }
inline __device__ void operator delete[](void *p) noexcept { free(p); }
inline __device__ void operator delete(void *p, size_t) noexcept { free(p); }
inline __device__ void operator delete[](void *p, size_t) noexcept { free(p); }
inline __device__ void *operator new(size_t, void *p) noexcept { return p; }
inline __device__ void *operator new[](size_t, void *p) noexcept { return p; }
inline __device__ void operator delete(void *, void *) noexcept {}
inline __device__ void operator delete[](void *, void *) noexcept {}
