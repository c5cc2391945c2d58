// The functions of <cmath> that take numbers apart or give integers. mathematics.h includes this
// inside the namespace of the C++ library's own.

#define GRIDLANE_TO_INTEGER(T, name, rounded)                                         \
    GRIDLANE_CONST T name(float x) { return (T)rounded##f(x); }                       \
    GRIDLANE_CONST T name(double x) { return (T)rounded(x); }                         \
    template <typename A, typename gridlane_when<__is_integral(A)>::type = 0>         \
    GRIDLANE_CONST T name(A x) { return (T)rounded((double)x); }
GRIDLANE_TO_INTEGER(long, lrint, __builtin_rint)
GRIDLANE_TO_INTEGER(long long, llrint, __builtin_rint)
GRIDLANE_TO_INTEGER(long, lround, __nv_round)
GRIDLANE_TO_INTEGER(long long, llround, __nv_round)
#undef GRIDLANE_TO_INTEGER

GRIDLANE_DEVICE double frexp(double x, int *exponent)
{
    long long bits = __builtin_bit_cast(long long, x);
    int field = (int)(bits >> 52 & 0x7ff), shift = 0;
    if (field == 0 && x != 0.0) {
        bits = __builtin_bit_cast(long long, x * 18014398509481984.0);  // 2^54
        field = (int)(bits >> 52 & 0x7ff), shift = 54;
    }
    if (x == 0.0 || field == 0x7ff)
        return *exponent = 0, x;
    *exponent = field - 1022 - shift;
    return __builtin_bit_cast(double, (bits & ~(0x7ffll << 52)) | 1022ll << 52);
}
GRIDLANE_DEVICE float frexp(float x, int *exponent) { return (float)frexp((double)x, exponent); }
template <typename A, typename gridlane_when<__is_integral(A)>::type = 0>
GRIDLANE_DEVICE double frexp(A x, int *exponent) { return frexp((double)x, exponent); }

GRIDLANE_DEVICE double modf(double x, double *whole)
{
    *whole = __builtin_trunc(x);
    return __builtin_copysign(__builtin_isinf(x) ? 0.0 : x - *whole, x);
}
GRIDLANE_DEVICE float modf(float x, float *whole)
{
    *whole = __builtin_truncf(x);
    return __builtin_copysignf(__builtin_isinf(x) ? 0.0f : x - *whole, x);
}

GRIDLANE_CONST int ilogb(float x) { return __nv_ilogbf(x); }
GRIDLANE_CONST int ilogb(double x) { return __nv_ilogb(x); }
GRIDLANE_CONST float logb(float x) { return __nv_logbf(x); }
GRIDLANE_CONST double logb(double x) { return __nv_logb(x); }
template <typename A, typename gridlane_when<__is_integral(A)>::type = 0>
GRIDLANE_CONST int ilogb(A x) { return ilogb((double)x); }
template <typename A, typename gridlane_when<__is_integral(A)>::type = 0>
GRIDLANE_CONST double logb(A x) { return logb((double)x); }

GRIDLANE_CONST float scalbln(float x, long n)
{
    return __nv_ldexpf(x, n > 100000 ? 100000 : n < -100000 ? -100000 : (int)n);
}
GRIDLANE_CONST double scalbln(double x, long n)
{
    return __nv_ldexp(x, n > 100000 ? 100000 : n < -100000 ? -100000 : (int)n);
}

// The remainder of the quotient that is rounded to the nearest even.
GRIDLANE_DEVICE double remquo(double x, double y, int *quotient)
{
    double ax = __builtin_fabs(x), ay = __builtin_fabs(y);
    int count = 0;
    *quotient = 0;
    if (!(ay > 0.0) || !__builtin_isfinite(x) || __builtin_isnan(y))
        return __builtin_nan("");
    if (__builtin_isinf(y))
        return x;
    if (ay < 1e307)
        ax = __nv_fmod(ax, 8.0 * ay);
    if (ay < 2e307 && ax >= 4.0 * ay)
        ax -= 4.0 * ay, count += 4;
    if (ay < 4e307 && ax >= 2.0 * ay)
        ax -= 2.0 * ay, count += 2;
    if (ax >= ay)
        ax -= ay, count += 1;
    double rest = ay - ax;  // exact, as ax is at least half of ay where it matters
    bool up = ax > rest || (ax == rest && (count & 1));
    if (up)
        ax -= ay, count += 1;
    *quotient = __builtin_signbit(x) != __builtin_signbit(y) ? -(count & 7) : count & 7;
    return __builtin_signbit(x) ? -ax : ax;
}
GRIDLANE_DEVICE float remquo(float x, float y, int *quotient)
{
    return (float)remquo((double)x, (double)y, quotient);
}
GRIDLANE_CONST float remainder(float x, float y) { return __nv_remainderf(x, y); }
GRIDLANE_CONST double remainder(double x, double y) { return __nv_remainder(x, y); }
template <typename A, typename B, typename R = typename gridlane_promoted<A, B>::type>
GRIDLANE_CONST R remainder(A x, B y) { return remainder((R)x, (R)y); }
template <typename A, typename B, typename R = typename gridlane_promoted<A, B>::type>
GRIDLANE_DEVICE R remquo(A x, B y, int *quotient) { return remquo((R)x, (R)y, quotient); }
