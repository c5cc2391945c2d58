// The functions of <cmath> for the device. They are declared where the C++ library has its own for
// the host, before it, so that its using-declarations take both; clang chooses by the caller.
#pragma once

#include <float.h>

// The f-suffixed names are global.
#define GRIDLANE_F(name) \
    GRIDLANE_CONST float name##f(float x) { return __nv_##name##f(x); }
#define GRIDLANE_FF(name) \
    GRIDLANE_CONST float name##f(float x, float y) { return __nv_##name##f(x, y); }

#if defined(__CLANG_GPU_APPROX_TRANSCENDENTALS__) || defined(__CLANG_CUDA_APPROX_TRANSCENDENTALS__)
GRIDLANE_CONST float sinf(float x) { return __nvvm_sin_approx_f(x); }
GRIDLANE_CONST float cosf(float x) { return __nvvm_cos_approx_f(x); }
GRIDLANE_CONST float expf(float x) { return __nvvm_ex2_approx_f(x * 1.4426950408889634f); }
GRIDLANE_CONST float logf(float x) { return __nvvm_lg2_approx_f(x) * 0.6931471805599453f; }
GRIDLANE_CONST float log2f(float x) { return __nvvm_lg2_approx_f(x); }
GRIDLANE_CONST float log10f(float x) { return __nvvm_lg2_approx_f(x) * 0.3010299956639812f; }
GRIDLANE_CONST float tanf(float x) { return __nvvm_sin_approx_f(x) / __nvvm_cos_approx_f(x); }
#else
GRIDLANE_F(sin) GRIDLANE_F(cos) GRIDLANE_F(exp) GRIDLANE_F(log) GRIDLANE_F(log2)
GRIDLANE_F(log10) GRIDLANE_F(tan)
#endif
GRIDLANE_F(asin) GRIDLANE_F(acos) GRIDLANE_F(atan) GRIDLANE_F(sinh) GRIDLANE_F(cosh)
GRIDLANE_F(tanh) GRIDLANE_F(asinh) GRIDLANE_F(acosh) GRIDLANE_F(atanh) GRIDLANE_F(exp2)
GRIDLANE_F(expm1) GRIDLANE_F(log1p) GRIDLANE_F(cbrt) GRIDLANE_F(round) GRIDLANE_F(erf)
GRIDLANE_F(erfc) GRIDLANE_F(tgamma) GRIDLANE_F(lgamma)
GRIDLANE_FF(pow) GRIDLANE_FF(atan2) GRIDLANE_FF(hypot) GRIDLANE_FF(fmod) GRIDLANE_FF(nextafter)
#undef GRIDLANE_F
#undef GRIDLANE_FF

GRIDLANE_CONST float sqrtf(float x) { return __nvvm_sqrt_rn_f(x); }
GRIDLANE_CONST float fabsf(float x) { return __builtin_fabsf(x); }
GRIDLANE_CONST float floorf(float x) { return __builtin_floorf(x); }
GRIDLANE_CONST float ceilf(float x) { return __builtin_ceilf(x); }
GRIDLANE_CONST float truncf(float x) { return __builtin_truncf(x); }
GRIDLANE_CONST float rintf(float x) { return __builtin_rintf(x); }
GRIDLANE_CONST float nearbyintf(float x) { return __builtin_nearbyintf(x); }
GRIDLANE_CONST float fminf(float x, float y) { return __builtin_fminf(x, y); }
GRIDLANE_CONST float fmaxf(float x, float y) { return __builtin_fmaxf(x, y); }
GRIDLANE_CONST float copysignf(float x, float y) { return __builtin_copysignf(x, y); }
GRIDLANE_CONST float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
GRIDLANE_CONST float ldexpf(float x, int n) { return __nv_ldexpf(x, n); }
GRIDLANE_CONST float scalbnf(float x, int n) { return __nv_ldexpf(x, n); }
GRIDLANE_CONST float fdimf(float x, float y) { return x <= y ? 0.0f : x - y; }

GRIDLANE_CONST double gridlane_sqrt(double x) { return __nvvm_sqrt_rn_d(x); }
GRIDLANE_CONST double gridlane_fdim(double x, double y) { return x <= y ? 0.0 : x - y; }

template <typename A> struct gridlane_wide { using type = double; };
template <> struct gridlane_wide<float> { using type = float; };
template <bool> struct gridlane_when {};
template <> struct gridlane_when<true> { using type = int; };
template <typename A, typename B, bool = __is_arithmetic(A) && __is_arithmetic(B)>
struct gridlane_promoted {};
template <typename A, typename B> struct gridlane_promoted<A, B, true> {
    using type = decltype(typename gridlane_wide<A>::type() + typename gridlane_wide<B>::type());
};
template <typename A> struct gridlane_same { static constexpr bool is_float = false; };
template <> struct gridlane_same<float> { static constexpr bool is_float = true; };
template <> struct gridlane_same<double> { static constexpr bool is_float = true; };

#if __has_include(<__config>)
#include <__config>
#endif
#ifdef _LIBCPP_CONSTEXPR_SINCE_CXX20
// What is constexpr in a later C++ is for both sides already, as all that is constexpr.
#if __cplusplus < 202002L
#undef _LIBCPP_CONSTEXPR_SINCE_CXX20
#define _LIBCPP_CONSTEXPR_SINCE_CXX20 __attribute__((host, device))
#endif
#endif
#ifdef _LIBCPP_BEGIN_NAMESPACE_STD
#define GRIDLANE_BEGIN_STD _LIBCPP_BEGIN_NAMESPACE_STD namespace __math {
#define GRIDLANE_END_STD } _LIBCPP_END_NAMESPACE_STD
#else
#define GRIDLANE_BEGIN_STD namespace std {
#define GRIDLANE_END_STD }
#endif

GRIDLANE_BEGIN_STD
#define GRIDLANE_F(name, double_one)                                                             \
    GRIDLANE_CONST float name(float x) { return ::name##f(x); }                                     \
    GRIDLANE_CONST double name(double x) { return double_one(x); }                               \
    template <typename A, typename gridlane_when<__is_integral(A)>::type = 0>                 \
    GRIDLANE_CONST double name(A x) { return double_one((double)x); }
#define GRIDLANE_FF(name, double_one)                                                            \
    GRIDLANE_CONST float name(float x, float y) { return ::name##f(x, y); }                         \
    GRIDLANE_CONST double name(double x, double y) { return double_one(x, y); }                  \
    template <typename A, typename B, typename R = typename gridlane_promoted<A, B>::type>    \
    GRIDLANE_CONST R name(A x, B y) { return name((R)x, (R)y); }
GRIDLANE_F(sin, __nv_sin) GRIDLANE_F(cos, __nv_cos) GRIDLANE_F(tan, __nv_tan)
GRIDLANE_F(asin, __nv_asin) GRIDLANE_F(acos, __nv_acos) GRIDLANE_F(atan, __nv_atan)
GRIDLANE_F(sinh, __nv_sinh) GRIDLANE_F(cosh, __nv_cosh) GRIDLANE_F(tanh, __nv_tanh)
GRIDLANE_F(asinh, __nv_asinh) GRIDLANE_F(acosh, __nv_acosh) GRIDLANE_F(atanh, __nv_atanh)
GRIDLANE_F(exp, __nv_exp) GRIDLANE_F(exp2, __nv_exp2) GRIDLANE_F(expm1, __nv_expm1)
GRIDLANE_F(log, __nv_log) GRIDLANE_F(log2, __nv_log2) GRIDLANE_F(log10, __nv_log10)
GRIDLANE_F(log1p, __nv_log1p) GRIDLANE_F(cbrt, __nv_cbrt) GRIDLANE_F(round, __nv_round)
GRIDLANE_F(erf, __nv_erf) GRIDLANE_F(erfc, __nv_erfc) GRIDLANE_F(tgamma, __nv_tgamma)
GRIDLANE_F(lgamma, __nv_lgamma) GRIDLANE_F(sqrt, gridlane_sqrt) GRIDLANE_F(fabs, __builtin_fabs)
GRIDLANE_F(floor, __builtin_floor) GRIDLANE_F(ceil, __builtin_ceil)
GRIDLANE_F(trunc, __builtin_trunc) GRIDLANE_F(rint, __builtin_rint)
GRIDLANE_F(nearbyint, __builtin_nearbyint)
GRIDLANE_FF(pow, __nv_pow) GRIDLANE_FF(atan2, __nv_atan2) GRIDLANE_FF(hypot, __nv_hypot)
GRIDLANE_FF(fmod, __nv_fmod) GRIDLANE_FF(nextafter, __nv_nextafter)
GRIDLANE_FF(fmin, __builtin_fmin) GRIDLANE_FF(fmax, __builtin_fmax)
GRIDLANE_FF(copysign, __builtin_copysign) GRIDLANE_FF(fdim, gridlane_fdim)
#undef GRIDLANE_F
#undef GRIDLANE_FF

GRIDLANE_CONST float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
GRIDLANE_CONST double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
GRIDLANE_CONST float ldexp(float x, int n) { return __nv_ldexpf(x, n); }
GRIDLANE_CONST double ldexp(double x, int n) { return __nv_ldexp(x, n); }
GRIDLANE_CONST float scalbn(float x, int n) { return __nv_ldexpf(x, n); }
GRIDLANE_CONST double scalbn(double x, int n) { return __nv_ldexp(x, n); }
template <typename A, typename B, typename C,
          typename R = decltype(typename gridlane_promoted<A, B>::type() +
                                typename gridlane_wide<C>::type())>
GRIDLANE_CONST R fma(A x, B y, C z) { return fma((R)x, (R)y, (R)z); }
template <typename A, typename gridlane_when<__is_integral(A)>::type = 0>
GRIDLANE_CONST double ldexp(A x, int n) { return __nv_ldexp((double)x, n); }
template <typename A, typename gridlane_when<__is_integral(A)>::type = 0>
GRIDLANE_CONST double scalbn(A x, int n) { return __nv_ldexp((double)x, n); }

GRIDLANE_CONST float abs(float x) { return __builtin_fabsf(x); }
GRIDLANE_CONST double abs(double x) { return __builtin_fabs(x); }
GRIDLANE_CONST int abs(int x) { return x < 0 ? -x : x; }
GRIDLANE_CONST long abs(long x) { return x < 0 ? -x : x; }
GRIDLANE_CONST long long abs(long long x) { return x < 0 ? -x : x; }

#define GRIDLANE_CLASS(name)                                                              \
    GRIDLANE_CONST bool name(float x) { return __builtin_##name(x); }                        \
    GRIDLANE_CONST bool name(double x) { return __builtin_##name(x); }                       \
    template <typename A, typename gridlane_when<__is_integral(A)>::type = 0>          \
    GRIDLANE_CONST bool name(A x) { return __builtin_##name((double)x); }
GRIDLANE_CLASS(isnan) GRIDLANE_CLASS(isinf) GRIDLANE_CLASS(isfinite) GRIDLANE_CLASS(isnormal)
GRIDLANE_CLASS(signbit)
#undef GRIDLANE_CLASS
#include "gridlane/mathematics_parts.h"
GRIDLANE_END_STD
