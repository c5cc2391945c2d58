// The functions of CUDA's mathematics that <cmath> lacks, or that return more than a number; those
// of the device come from the ones above.
#pragma once

// --- the smaller and the larger, on both sides

#define GRIDLANE_EXTREMES(T)                                       \
    GRIDLANE_BOTH T min(T x, T y) { return y < x ? y : x; }        \
    GRIDLANE_BOTH T max(T x, T y) { return x < y ? y : x; }
GRIDLANE_EXTREMES(int)
GRIDLANE_EXTREMES(unsigned)
GRIDLANE_EXTREMES(long)
GRIDLANE_EXTREMES(unsigned long)
GRIDLANE_EXTREMES(long long)
GRIDLANE_EXTREMES(unsigned long long)
#undef GRIDLANE_EXTREMES
// Of a number and a NaN the number.
GRIDLANE_BOTH float min(float x, float y) { return __builtin_fminf(x, y); }
GRIDLANE_BOTH float max(float x, float y) { return __builtin_fmaxf(x, y); }
GRIDLANE_BOTH double min(double x, double y) { return __builtin_fmin(x, y); }
GRIDLANE_BOTH double max(double x, double y) { return __builtin_fmax(x, y); }
#define GRIDLANE_MIXED(A, B, R)                                    \
    GRIDLANE_BOTH R min(A x, B y) { return min((R)x, (R)y); }      \
    GRIDLANE_BOTH R max(A x, B y) { return max((R)x, (R)y); }      \
    GRIDLANE_BOTH R min(B x, A y) { return min((R)x, (R)y); }      \
    GRIDLANE_BOTH R max(B x, A y) { return max((R)x, (R)y); }
GRIDLANE_MIXED(int, unsigned, unsigned)
GRIDLANE_MIXED(long, unsigned long, unsigned long)
GRIDLANE_MIXED(long long, unsigned long long, unsigned long long)
GRIDLANE_MIXED(float, double, double)
#undef GRIDLANE_MIXED
GRIDLANE_BOTH unsigned umin(unsigned x, unsigned y) { return min(x, y); }
GRIDLANE_BOTH unsigned umax(unsigned x, unsigned y) { return max(x, y); }
GRIDLANE_BOTH long long llmin(long long x, long long y) { return min(x, y); }
GRIDLANE_BOTH long long llmax(long long x, long long y) { return max(x, y); }
GRIDLANE_BOTH unsigned long long ullmin(unsigned long long x, unsigned long long y) { return min(x, y); }
GRIDLANE_BOTH unsigned long long ullmax(unsigned long long x, unsigned long long y) { return max(x, y); }

GRIDLANE_CONST long labs(long x) { return x < 0 ? -x : x; }
GRIDLANE_CONST long long llabs(long long x) { return x < 0 ? -x : x; }

// --- one number of one

GRIDLANE_CONST long lrintf(float x) { return ::lrint(x); }
GRIDLANE_CONST long long llrintf(float x) { return ::llrint(x); }
GRIDLANE_CONST long lroundf(float x) { return ::lround(x); }
GRIDLANE_CONST long long llroundf(float x) { return ::llround(x); }
GRIDLANE_DEVICE float frexpf(float x, int *exponent) { return ::frexp(x, exponent); }
GRIDLANE_DEVICE float modff(float x, float *whole) { return ::modf(x, whole); }
GRIDLANE_DEVICE int ilogbf(float x) { return ::ilogb(x); }
GRIDLANE_DEVICE float logbf(float x) { return ::logb(x); }
GRIDLANE_CONST float scalblnf(float x, long n) { return ::scalbln(x, n); }
GRIDLANE_DEVICE float remquof(float x, float y, int *quotient) { return ::remquo(x, y, quotient); }
GRIDLANE_DEVICE float remainderf(float x, float y) { return ::remainder(x, y); }

GRIDLANE_CONST float rsqrtf(float x) { return __nv_rsqrtf(x); }
GRIDLANE_CONST double rsqrt(double x) { return __nv_rsqrt(x); }
GRIDLANE_CONST float rsqrt(float x) { return __nv_rsqrtf(x); }
GRIDLANE_CONST float rcbrtf(float x) { return (float)(1.0 / __nv_cbrt((double)x)); }
GRIDLANE_CONST double rcbrt(double x) { return 1.0 / __nv_cbrt(x); }
GRIDLANE_CONST float rcbrt(float x) { return rcbrtf(x); }
GRIDLANE_CONST float exp10f(float x) { return __nv_exp10f(x); }
GRIDLANE_CONST double exp10(double x) { return __nv_exp10(x); }
GRIDLANE_CONST float exp10(float x) { return __nv_exp10f(x); }

#define GRIDLANE_OF_ONE(name)                                              \
    GRIDLANE_CONST double name(double x) { return __nv_##name(x); }        \
    GRIDLANE_CONST float name(float x) { return __nv_##name##f(x); }       \
    GRIDLANE_CONST float name##f(float x) { return __nv_##name##f(x); }
GRIDLANE_OF_ONE(sinpi) GRIDLANE_OF_ONE(cospi)
GRIDLANE_OF_ONE(erfinv) GRIDLANE_OF_ONE(erfcinv) GRIDLANE_OF_ONE(erfcx)
GRIDLANE_OF_ONE(normcdf) GRIDLANE_OF_ONE(normcdfinv)
GRIDLANE_OF_ONE(j0) GRIDLANE_OF_ONE(j1) GRIDLANE_OF_ONE(y0) GRIDLANE_OF_ONE(y1)
GRIDLANE_OF_ONE(cyl_bessel_i0) GRIDLANE_OF_ONE(cyl_bessel_i1)
#undef GRIDLANE_OF_ONE
GRIDLANE_CONST double jn(int n, double x) { return __nv_jn(n, x); }
GRIDLANE_CONST float jn(int n, float x) { return __nv_jnf(n, x); }
GRIDLANE_CONST float jnf(int n, float x) { return __nv_jnf(n, x); }
GRIDLANE_CONST double yn(int n, double x) { return __nv_yn(n, x); }
GRIDLANE_CONST float yn(int n, float x) { return __nv_ynf(n, x); }
GRIDLANE_CONST float ynf(int n, float x) { return __nv_ynf(n, x); }

// --- one number of several

GRIDLANE_CONST float fdividef(float x, float y) { return x / y; }
GRIDLANE_CONST double fdivide(double x, double y) { return x / y; }
#define GRIDLANE_LENGTHS(T, F)                                                                     \
    GRIDLANE_CONST T rhypot##F(T x, T y) { return __nv_rhypot##F(x, y); }                          \
    GRIDLANE_CONST T norm3d##F(T x, T y, T z) { return __nv_norm3d##F(x, y, z); }                  \
    GRIDLANE_CONST T rnorm3d##F(T x, T y, T z) { return __nv_rnorm3d##F(x, y, z); }                \
    GRIDLANE_CONST T norm4d##F(T x, T y, T z, T w) { return __nv_norm4d##F(x, y, z, w); }          \
    GRIDLANE_CONST T rnorm4d##F(T x, T y, T z, T w) { return __nv_rnorm4d##F(x, y, z, w); }
GRIDLANE_LENGTHS(float, f)
GRIDLANE_LENGTHS(double, )
#undef GRIDLANE_LENGTHS
GRIDLANE_DEVICE double norm(int n, const double *p)
{
    double made = 0.0;
    for (int k = 0; k < n; k++)
        made = __nv_hypot(made, p[k]);
    return made;
}
GRIDLANE_DEVICE double rnorm(int n, const double *p)
{
    double made = norm(n, p);
    if (made != __builtin_inf())
        return 1.0 / made;
    made = 0.0; /* the reciprocal of a length that overflows is a number */
    for (int k = 0; k < n; k++)
        made = __nv_hypot(made, 0x1p-64 * p[k]);
    return 0x1p-64 / made;
}
GRIDLANE_DEVICE double gridlane_norm_of_floats(int n, const float *p)
{
    double made = 0.0;
    for (int k = 0; k < n; k++)
        made = __nv_hypot(made, (double)p[k]);
    return made;
}
GRIDLANE_DEVICE float normf(int n, const float *p) { return (float)gridlane_norm_of_floats(n, p); }
GRIDLANE_DEVICE float rnormf(int n, const float *p)
{
    return (float)(1.0 / gridlane_norm_of_floats(n, p));
}

GRIDLANE_CONST double nan(const char *) { return __builtin_nan(""); }
GRIDLANE_CONST float nanf(const char *) { return __builtin_nanf(""); }

GRIDLANE_DEVICE void sincosf(float x, float *s, float *c) { *s = ::sinf(x), *c = ::cosf(x); }
GRIDLANE_DEVICE void sincos(double x, double *s, double *c) { *s = __nv_sin(x), *c = __nv_cos(x); }
GRIDLANE_DEVICE void sincos(float x, float *s, float *c) { sincosf(x, s, c); }
GRIDLANE_DEVICE void sincospif(float x, float *s, float *c) { *s = sinpif(x), *c = cospif(x); }
GRIDLANE_DEVICE void sincospi(double x, double *s, double *c) { *s = sinpi(x), *c = cospi(x); }
GRIDLANE_DEVICE void sincospi(float x, float *s, float *c) { sincospif(x, s, c); }

// --- quick ones

GRIDLANE_CONST float __sinf(float x) { return __nvvm_sin_approx_f(x); }
GRIDLANE_CONST float __cosf(float x) { return __nvvm_cos_approx_f(x); }
GRIDLANE_CONST float __tanf(float x) { return __sinf(x) / __cosf(x); }
GRIDLANE_CONST float __log2f(float x) { return __nvvm_lg2_approx_f(x); }
GRIDLANE_CONST float __logf(float x) { return __nvvm_lg2_approx_f(x) * 0.6931471805599453f; }
GRIDLANE_CONST float __log10f(float x) { return __nvvm_lg2_approx_f(x) * 0.3010299956639812f; }
GRIDLANE_CONST float __exp2f(float x) { return __nvvm_ex2_approx_f(x); }
GRIDLANE_CONST float __expf(float x) { return __nvvm_ex2_approx_f(x * 1.4426950408889634f); }
GRIDLANE_CONST float __exp10f(float x) { return __nvvm_ex2_approx_f(x * 3.3219280948873623f); }
GRIDLANE_CONST float __powf(float x, float y) { return __exp2f(y * __log2f(x)); }
GRIDLANE_CONST float __fdividef(float x, float y) { return x / y; }
GRIDLANE_CONST float __tanhf(float x) { return __nv_tanhf(x); }
GRIDLANE_CONST float __saturatef(float x) { return __nvvm_saturate_f(x); }
GRIDLANE_DEVICE void __sincosf(float x, float *s, float *c) { *s = __sinf(x), *c = __cosf(x); }

// The host's, which glibc declares: programs call them on both sides.
static inline __host__ float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
static inline __host__ double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
static inline __host__ float rsqrt(float x) { return rsqrtf(x); }
