/* CUDA's runtime for C and C++ of the host: the functions, and what C++ has beside them. */
#pragma once

#define __CUDA_RUNTIME_H__

#include "vector_types.h"

#include "cuda_runtime_api.h"
#include "gridlane/library_types.h"

#ifndef __CUDACC__
#define GRIDLANE_BOTH static inline
#define __host__
#define __device__
#define __global__
#define __shared__
#define __constant__
#define __managed__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#endif

static inline struct cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth)
{
    struct cudaExtent v = { width, height, depth };
    return v;
}
static inline struct cudaPos make_cudaPos(size_t x, size_t y, size_t z)
{
    struct cudaPos v = { x, y, z };
    return v;
}
static inline struct cudaPitchedPtr make_cudaPitchedPtr(void *p, size_t pitch, size_t width,
                                                        size_t height)
{
    struct cudaPitchedPtr v = { p, pitch, width, height };
    return v;
}

#ifdef __cplusplus
#include "gridlane/defaults.h"
#include "gridlane/old_forms.h"
#include "gridlane/templates.h"
#endif
