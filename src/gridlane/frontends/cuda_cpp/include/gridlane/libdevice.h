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

// Written in the Python dialect.
GRIDLANE_ONE(sinpi) GRIDLANE_ONE(cospi)
GRIDLANE_ONE(erfinv) GRIDLANE_ONE(erfcinv) GRIDLANE_ONE(erfcx)
GRIDLANE_ONE(normcdf) GRIDLANE_ONE(normcdfinv)
GRIDLANE_ONE(j0) GRIDLANE_ONE(j1) GRIDLANE_ONE(y0) GRIDLANE_ONE(y1)
GRIDLANE_ONE(cyl_bessel_i0) GRIDLANE_ONE(cyl_bessel_i1)
GRIDLANE_ONE(logb) GRIDLANE_TWO(rhypot) GRIDLANE_TWO(remainder)
GRIDLANE_EXTERN int __nv_ilogbf(float);
GRIDLANE_EXTERN int __nv_ilogb(double);
GRIDLANE_EXTERN float __nv_jnf(int, float);
GRIDLANE_EXTERN double __nv_jn(int, double);
GRIDLANE_EXTERN float __nv_ynf(int, float);
GRIDLANE_EXTERN double __nv_yn(int, double);
GRIDLANE_EXTERN float __nv_norm3df(float, float, float);
GRIDLANE_EXTERN double __nv_norm3d(double, double, double);
GRIDLANE_EXTERN float __nv_rnorm3df(float, float, float);
GRIDLANE_EXTERN double __nv_rnorm3d(double, double, double);
GRIDLANE_EXTERN float __nv_norm4df(float, float, float, float);
GRIDLANE_EXTERN double __nv_norm4d(double, double, double, double);
GRIDLANE_EXTERN float __nv_rnorm4df(float, float, float, float);
GRIDLANE_EXTERN double __nv_rnorm4d(double, double, double, double);
