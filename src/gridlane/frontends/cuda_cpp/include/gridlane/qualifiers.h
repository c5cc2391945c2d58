// The qualifiers of CUDA C++ as clang's attributes.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#ifdef __CUDA_ARCH__
// The annotation tells these from what is merely const, in LLVM's IR; see statics.py.
#define __constant__ __attribute__((constant, annotate("gridlane:constant")))
#else
#define __constant__ __attribute__((constant))
#endif
#if defined(GRIDLANE_MANAGED)
#define __managed__ __attribute__((managed))
#elif defined(GRIDLANE_PROGRAM) && !defined(__CUDA_ARCH__)
#define __managed__                                                                            \
    __attribute__((device, unavailable("__managed__ variables are not linked with -rdc=true")))
#else
#define __managed__ __attribute__((device))  // its memory is the device's
#endif
#define __grid_constant__ __attribute__((grid_constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __cluster_dims__(...) __attribute__((annotate("gridlane:cluster", __VA_ARGS__)))
#define __forceinline__ inline __attribute__((always_inline))
#define __inline_hint__ inline
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __thread__ __thread
#define __cdecl
#define CUDARTAPI
#define CUDART_CB

// __noinline__ is a keyword of clang's CUDA.

// For this folder: functions of the device, of both sides, and operations without memory.
#define GRIDLANE_DEVICE static inline __attribute__((device, always_inline))
#define GRIDLANE_BOTH static inline __attribute__((host, device, always_inline))
#define GRIDLANE_CONST static inline __attribute__((device, always_inline, const))
