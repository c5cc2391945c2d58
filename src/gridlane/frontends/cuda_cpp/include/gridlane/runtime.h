// Included before every source: what nvcc declares without an include.
#pragma once

#define __CUDACC__ 1
#ifdef GRIDLANE_PROGRAM  // whole programs, with the API of the libraries that they run on
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#else
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 8
#endif
#define __CUDACC_VER_BUILD__ 0

#include "gridlane/guards.h"
#include "gridlane/qualifiers.h"

#include "gridlane/libdevice.h"
#include "gridlane/mathematics.h"

// C23's function of this name is in no C library that programs count on; CUDA has its own.
#define rsqrt gridlane_c_rsqrt
#define __DECL_SIMD_gridlane_c_rsqrt
#define __DECL_SIMD_gridlane_c_rsqrtf
#define __DECL_SIMD_gridlane_c_rsqrtl
#define __DECL_SIMD_gridlane_c_rsqrtf16
#define __DECL_SIMD_gridlane_c_rsqrtf32
#define __DECL_SIMD_gridlane_c_rsqrtf64
#define __DECL_SIMD_gridlane_c_rsqrtf128
#define __DECL_SIMD_gridlane_c_rsqrtf32x
#define __DECL_SIMD_gridlane_c_rsqrtf64x
#define __DECL_SIMD_gridlane_c_rsqrtf128x
#include <assert.h>
#include <limits.h>
#include <math.h>  // the global names too
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>
#include <utility>
#undef rsqrt
#if __has_include(<__algorithm/min.h>)
// Programs count on std::min and std::max without <algorithm>, as other C++ libraries have them.
#include <__algorithm/max.h>
#include <__algorithm/min.h>
#endif

#include "gridlane/vectors.h"
#include "gridlane/builtins.h"
#include "gridlane/mathematics_more.h"
#include "gridlane/integers.h"
#include "gridlane/conversions.h"
#include "gridlane/rounding.h"
#include "gridlane/memory.h"
#include "gridlane/threads.h"
#include "gridlane/clusters.h"
#include "gridlane/warps.h"
#include "gridlane/atomics.h"
#include "gridlane/atomic_builtins.h"
#include "gridlane/simd.h"
#include "gridlane/dpx.h"
#include "gridlane/language.h"
#ifdef GRIDLANE_PROGRAM
#define GRIDLANE_VECTOR_TYPES
#include <cuda_runtime.h>
#else  // kernels alone: a program passes with its main in it, of which nothing is compiled
#define __CUDA_RUNTIME_H__
#define CUDART_VERSION 12080
#define CUDA_VERSION 12080
#define __CUDART_API_VERSION CUDART_VERSION
#include "gridlane/library_types.h"
#include "cuda_runtime_api.h"
#include "gridlane/host_forms.h"
extern "C" cudaError_t cudaConfigureCall(dim3 grid, dim3 block, size_t shared = 0,
                                         cudaStream_t stream = 0);  // what <<<>>> calls
#endif
#ifndef GRIDLANE_MANAGED
extern "C" unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0,
                                                cudaStream_t stream = 0);  // what <<<>>> calls
#endif
#ifdef __CLANG_RDC__
#include "gridlane/launches.h"
#endif
#ifdef GRIDLANE_TEXTURES  // they take time, and few programs need them
#include "gridlane/textures.h"
#include "gridlane/surfaces.h"
#endif
// CUDA 12 has no such names, which programs may give to others.
#ifdef GRIDLANE_TEXTURE_REFERENCES
#include "gridlane/texture_references.h"
#endif
