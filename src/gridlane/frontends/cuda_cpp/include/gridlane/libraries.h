// Names of CUDA's libraries for the host. Their functions take whatever arguments a program gives
// them: absent.h says when they are called.
#pragma once
#include "gridlane/absent.h"
#include "gridlane/library_types.h"
#ifdef __CUDACC__
#include "gridlane/runtime.h"
#else
#include "cuda_runtime.h"
#endif

#define GRIDLANE_ANY(Status, name) \
    template <typename... A_> Status name(const A_ &...) GRIDLANE_STATUS(Status, name)
