// Included before every source: what nvcc declares without an include.
#pragma once

#define __CUDACC__ 1
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 8
#define __CUDACC_VER_BUILD__ 0

#include "gridlane/qualifiers.h"

#include "gridlane/libdevice.h"
#include "gridlane/mathematics.h"

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
#if __has_include(<__algorithm/min.h>)
// Programs count on std::min and std::max without <algorithm>, as other C++ libraries have them.
#include <__algorithm/max.h>
#include <__algorithm/min.h>
#endif

#include "gridlane/vectors.h"
#include "gridlane/builtins.h"
#include "gridlane/mathematics_more.h"
#include "gridlane/bessel.h"
#include "gridlane/integers.h"
#include "gridlane/conversions.h"
#include "gridlane/rounding.h"
#include "gridlane/memory.h"
#include "gridlane/threads.h"
#include "gridlane/warps.h"
#include "gridlane/atomics.h"
#include "gridlane/simd.h"
#include "gridlane/dpx.h"
#include "gridlane/language.h"
#include "gridlane/host.h"
#include "gridlane/texture_host.h"
#ifdef GRIDLANE_TEXTURES  // they take time, and few programs need them
#include "gridlane/textures.h"
#include "gridlane/surfaces.h"
#endif
#ifdef GRIDLANE_TEXTURE_REFERENCES  // CUDA 12 has no such names, which programs may give to others
#include "gridlane/texture_references.h"
#endif
#include "gridlane/host_more.h"
#include "gridlane/host_rare.h"
