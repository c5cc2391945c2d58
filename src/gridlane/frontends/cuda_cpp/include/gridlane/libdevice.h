// Functions that the reader of the PTX knows by the names of libdevice.
#pragma once

#define GRIDLANE_EXTERN extern "C" __device__ __attribute__((const, nothrow))
#define GRIDLANE_ONE(name)                         \
    GRIDLANE_EXTERN float __nv_##name##f(float);   \
    GRIDLANE_EXTERN double __nv_##name(double);
#define GRIDLANE_TWO(name)                                \
    GRIDLANE_EXTERN float __nv_##name##f(float, float);   \
    GRIDLANE_EXTERN double __nv_##name(double, double);

GRIDLANE_ONE(sin) GRIDLANE_ONE(cos) GRIDLANE_ONE(tan)
GRIDLANE_ONE(asin) GRIDLANE_ONE(acos) GRIDLANE_ONE(atan)
GRIDLANE_ONE(sinh) GRIDLANE_ONE(cosh) GRIDLANE_ONE(tanh)
GRIDLANE_ONE(asinh) GRIDLANE_ONE(acosh) GRIDLANE_ONE(atanh)
GRIDLANE_ONE(exp) GRIDLANE_ONE(exp2) GRIDLANE_ONE(exp10) GRIDLANE_ONE(expm1)
GRIDLANE_ONE(log) GRIDLANE_ONE(log2) GRIDLANE_ONE(log10) GRIDLANE_ONE(log1p)
GRIDLANE_ONE(cbrt) GRIDLANE_ONE(rsqrt) GRIDLANE_ONE(round)
GRIDLANE_ONE(erf) GRIDLANE_ONE(erfc) GRIDLANE_ONE(tgamma) GRIDLANE_ONE(lgamma)
GRIDLANE_TWO(pow) GRIDLANE_TWO(atan2) GRIDLANE_TWO(hypot) GRIDLANE_TWO(fmod)
GRIDLANE_TWO(nextafter)
GRIDLANE_EXTERN float __nv_ldexpf(float, int);
GRIDLANE_EXTERN double __nv_ldexp(double, int);
