// Complex numbers as pairs.
#pragma once
#define CU_COMPLEX_H_
#ifndef __CUDACC__
#include <math.h>
#include "cuda_runtime.h"
#endif

#define GRIDLANE_COMPLEX(C, T, V, f, root)                                                     \
    typedef V C;                                                                               \
    GRIDLANE_BOTH T cuCreal##f(C a) { return a.x; }                                            \
    GRIDLANE_BOTH T cuCimag##f(C a) { return a.y; }                                            \
    GRIDLANE_BOTH C cuConj##f(C a) { return {a.x, -a.y}; }                                     \
    GRIDLANE_BOTH C cuCadd##f(C a, C b) { return {a.x + b.x, a.y + b.y}; }                     \
    GRIDLANE_BOTH C cuCsub##f(C a, C b) { return {a.x - b.x, a.y - b.y}; }                     \
    GRIDLANE_BOTH C cuCmul##f(C a, C b)                                                        \
    {                                                                                          \
        return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};                                 \
    }                                                                                          \
    GRIDLANE_BOTH C cuCfma##f(C a, C b, C c) { return cuCadd##f(cuCmul##f(a, b), c); }         \
    GRIDLANE_BOTH C cuCdiv##f(C a, C b)                                                        \
    {                                                                                          \
        T scale = 1 / ((b.x < 0 ? -b.x : b.x) + (b.y < 0 ? -b.y : b.y));                       \
        T ax = a.x * scale, ay = a.y * scale, bx = b.x * scale, by = b.y * scale;              \
        T size = 1 / (bx * bx + by * by);                                                      \
        return {(ax * bx + ay * by) * size, (ay * bx - ax * by) * size};                       \
    }                                                                                          \
    GRIDLANE_BOTH T cuCabs##f(C a) { return root(a.x, a.y); }
GRIDLANE_COMPLEX(cuFloatComplex, float, float2, f, hypotf)
GRIDLANE_COMPLEX(cuDoubleComplex, double, double2, , hypot)
#undef GRIDLANE_COMPLEX
GRIDLANE_BOTH cuFloatComplex make_cuFloatComplex(float x, float y) { return {x, y}; }
GRIDLANE_BOTH cuDoubleComplex make_cuDoubleComplex(double x, double y) { return {x, y}; }
GRIDLANE_BOTH cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex a) { return {a.x, a.y}; }
GRIDLANE_BOTH cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex a)
{
    return {(float)a.x, (float)a.y};
}
typedef cuFloatComplex cuComplex;
GRIDLANE_BOTH cuComplex make_cuComplex(float x, float y) { return {x, y}; }
