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
    asm volatile("trap;");
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

// The number that chooses the work of a graph's node is at the address that is its handle.
GRIDLANE_DEVICE void cudaGraphSetConditional(unsigned long long handle, unsigned value)
{
    *(volatile unsigned *)handle = value;
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

// What the C++ library calls where the host throws: the kernel fails.
#ifdef _LIBCPP_BEGIN_NAMESPACE_STD
_LIBCPP_BEGIN_NAMESPACE_STD
#define GRIDLANE_THROWS(name, ...) \
    __device__ __attribute__((noreturn)) inline void __throw_##name(__VA_ARGS__) { ::abort(); }
GRIDLANE_THROWS(out_of_range, const char *) GRIDLANE_THROWS(length_error, const char *)
GRIDLANE_THROWS(invalid_argument, const char *) GRIDLANE_THROWS(overflow_error, const char *)
GRIDLANE_THROWS(bad_optional_access) GRIDLANE_THROWS(bad_variant_access)
#undef GRIDLANE_THROWS
_LIBCPP_END_NAMESPACE_STD
#endif
