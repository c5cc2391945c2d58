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
GRIDLANE_CONST float exp10f(float x) { return __nv_exp10f(x); }
GRIDLANE_CONST double exp10(double x) { return __nv_exp10(x); }
GRIDLANE_CONST float exp10(float x) { return __nv_exp10f(x); }

// The sine of half turns: the angle is reduced exactly before it is multiplied by pi.
GRIDLANE_CONST double sinpi(double x)
{
    double r = x - 2.0 * __builtin_rint(x * 0.5), m = __builtin_fabs(r);
    double y = m > 0.5 ? 1.0 - m : m;
    double s = y > 0.25 ? __nv_cos((0.5 - y) * 3.14159265358979323846)
                        : __nv_sin(y * 3.14159265358979323846);
    return r == 0.0 ? __builtin_copysign(0.0, x) : __builtin_copysign(s, r);
}
GRIDLANE_CONST double cospi(double x)
{
    double m = __builtin_fabs(x - 2.0 * __builtin_rint(x * 0.5));
    double y = 0.5 - m, a = __builtin_fabs(y);
    double s = a > 0.25 ? __nv_cos((0.5 - a) * 3.14159265358979323846)
                        : __nv_sin(a * 3.14159265358979323846);
    return y < 0.0 ? -s : s;
}
GRIDLANE_CONST float sinpif(float x)
{
    float r = x - 2.0f * __builtin_rintf(x * 0.5f), m = __builtin_fabsf(r);
    float y = m > 0.5f ? 1.0f - m : m;
    float s = y > 0.25f ? __nv_cosf((0.5f - y) * 3.14159265f) : __nv_sinf(y * 3.14159265f);
    return r == 0.0f ? __builtin_copysignf(0.0f, x) : __builtin_copysignf(s, r);
}
GRIDLANE_CONST float cospif(float x)
{
    float m = __builtin_fabsf(x - 2.0f * __builtin_rintf(x * 0.5f));
    float y = 0.5f - m, a = __builtin_fabsf(y);
    float s = a > 0.25f ? __nv_cosf((0.5f - a) * 3.14159265f) : __nv_sinf(a * 3.14159265f);
    return y < 0.0f ? -s : s;
}

GRIDLANE_CONST float normcdff(float x)
{
    return (float)(0.5 * __nv_erfc((double)x * -0.70710678118654752440));
}
// Far from 0 the function takes the rounding of its argument many times; its slope there is -2 t
// times itself.
GRIDLANE_CONST double normcdf(double x)
{
    double t = x * -0.70710678118654752440;
    double rest = __builtin_fma(x, -0.70710678118654752440, -t) + x * 4.8336466567264567e-17;
    double y = __nv_erfc(t);
    return 0.5 * (t > 1.0 && y > 0.0 ? __builtin_fma(-2.0 * t * rest, y, y) : y);
}

// --- one number of several

GRIDLANE_CONST float fdividef(float x, float y) { return x / y; }
GRIDLANE_CONST double fdivide(double x, double y) { return x / y; }
GRIDLANE_CONST float rhypotf(float x, float y) { return 1.0f / __nv_hypotf(x, y); }
GRIDLANE_CONST double rhypot(double x, double y) { return 1.0 / __nv_hypot(x, y); }
GRIDLANE_CONST float norm3df(float x, float y, float z)
{
    return __nv_hypotf(__nv_hypotf(x, y), z);
}
GRIDLANE_CONST double norm3d(double x, double y, double z)
{
    return __nv_hypot(__nv_hypot(x, y), z);
}
GRIDLANE_CONST float norm4df(float x, float y, float z, float w)
{
    return __nv_hypotf(__nv_hypotf(x, y), __nv_hypotf(z, w));
}
GRIDLANE_CONST double norm4d(double x, double y, double z, double w)
{
    return __nv_hypot(__nv_hypot(x, y), __nv_hypot(z, w));
}
GRIDLANE_CONST float rnorm3df(float x, float y, float z) { return 1.0f / norm3df(x, y, z); }
GRIDLANE_CONST double rnorm3d(double x, double y, double z) { return 1.0 / norm3d(x, y, z); }
GRIDLANE_CONST float rnorm4df(float x, float y, float z, float w)
{
    return 1.0f / norm4df(x, y, z, w);
}
GRIDLANE_CONST double rnorm4d(double x, double y, double z, double w)
{
    return 1.0 / norm4d(x, y, z, w);
}

GRIDLANE_CONST double nan(const char *) { return __builtin_nan(""); }
GRIDLANE_CONST float nanf(const char *) { return __builtin_nanf(""); }

GRIDLANE_DEVICE void sincosf(float x, float *s, float *c) { *s = ::sinf(x), *c = ::cosf(x); }
GRIDLANE_DEVICE void sincos(double x, double *s, double *c) { *s = __nv_sin(x), *c = __nv_cos(x); }
GRIDLANE_DEVICE void sincos(float x, float *s, float *c) { sincosf(x, s, c); }
GRIDLANE_DEVICE void sincospif(float x, float *s, float *c) { *s = sinpif(x), *c = cospif(x); }
GRIDLANE_DEVICE void sincospi(double x, double *s, double *c) { *s = sinpi(x), *c = cospi(x); }
GRIDLANE_DEVICE void sincospi(float x, float *s, float *c) { sincospif(x, s, c); }

// --- inverse error functions: a first guess, then steps of Halley

GRIDLANE_DEVICE double gridlane_small_erfinv(double y)
{
    double a = __builtin_fabs(y), x = a * 0.88622692545275801;
    for (int i = 0; i < 4; i++) {
        double error = (__nv_erf(x) - a) * 0.88622692545275801 * __nv_exp(x * x);
        x -= error / (1.0 + x * error);
    }
    return __builtin_copysign(x, y);
}
GRIDLANE_DEVICE double erfcinv(double y)
{
    if (y >= 0.5 && y <= 1.5)
        return gridlane_small_erfinv(1.0 - y);  // exact
    if (!(y >= 0.0 && y <= 2.0))
        return __builtin_nan("");
    if (y == 0.0 || y == 2.0)
        return y == 0.0 ? __builtin_inf() : -__builtin_inf();
    double z = y < 1.0 ? y : 2.0 - y;
    double t = __nvvm_sqrt_rn_d(-2.0 * __nv_log(0.5 * z));
    double x = 0.70710678118654752 * (t - (2.30753 + t * 0.27061) / (1.0 + t * (0.99229 + t * 0.04481)));
    for (int i = 0; i < 4; i++) {
        double error = (__nv_erfc(x) - z) * 0.88622692545275801 * __nv_exp(x * x);
        x += error / (1.0 + x * error);
    }
    return y < 1.0 ? x : -x;
}
GRIDLANE_DEVICE double erfinv(double y)
{
    double a = __builtin_fabs(y);
    if (a > 0.5)
        return y > 0.0 ? erfcinv(1.0 - y) : -erfcinv(1.0 + y);
    return a <= 0.5 ? gridlane_small_erfinv(y) : y;
}
GRIDLANE_DEVICE float erfinvf(float y) { return (float)erfinv((double)y); }
GRIDLANE_DEVICE float erfcinvf(float y) { return (float)erfcinv((double)y); }
GRIDLANE_DEVICE double normcdfinv(double y) { return -1.4142135623730950488 * erfcinv(2.0 * y); }
GRIDLANE_DEVICE float normcdfinvf(float y) { return (float)normcdfinv((double)y); }

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
