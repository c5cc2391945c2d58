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

#include "gridlane/host_forms.h"
