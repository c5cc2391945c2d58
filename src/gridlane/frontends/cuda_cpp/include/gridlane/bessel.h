// Bessel functions, the scaled error function, and norms of vectors, in binary64; those of floats
// are rounded from it. Abramowitz and Stegun, Handbook of Mathematical Functions, chapter 9.
#pragma once

struct gridlane_bessel { double j0, j1, y0, y1; };

// J0, J1, Y0, Y1 of 0 < x < 25: J by Miller's recurrence downwards (9.1.46), Y by Neumann's series
// of J (9.1.88).
static inline __device__ gridlane_bessel gridlane_bessel_near(double x)
{
    double above = 0.0, here = 1e-250, sum = 0.0, even = 0.0, odd = 0.0;
    for (int n = ((int)(1.2 * x) + 30) & ~1; n > 0; n--) {  // here is J of n
        int k = n >> 1;
        double with_sign = k & 1 ? -here : here;
        if (!(n & 1))
            sum += here, even += with_sign / k;
        else if (n > 1)
            odd += with_sign * (n / ((double)k * (k + 1)));
        double below = here * (2.0 * n / x) - above;
        above = here, here = below;
        if (__builtin_fabs(here) > 1e200)
            above *= 1e-250, here *= 1e-250, sum *= 1e-250, even *= 1e-250, odd *= 1e-250;
    }
    double scale = 1.0 / (here + 2.0 * sum), j0 = here * scale, j1 = above * scale;
    double log = __nv_log(0.5 * x) + 0.57721566490153286061;
    double y0 = log * j0 - 2.0 * even * scale, y1 = (log - 1.0) * j1 - j0 / x - odd * scale;
    return {j0, j1, 0.63661977236758134308 * y0, 0.63661977236758134308 * y1};
}

// Of x >= 25, by Hankel's expansions (9.2.5 to 9.2.10). The phase is that of x itself, as
// the cosine of x - pi/4 is (cos x + sin x) / sqrt 2.
static inline __device__ void gridlane_bessel_far(double x, int order, double *j, double *y)
{
    double mu = 4.0 * order * order, term = 1.0, p = 1.0, q = 0.0;
    for (int k = 1; k < 40; k++) {
        double odd = 2.0 * k - 1.0, next = term * ((mu - odd * odd) / (8.0 * k * x));
        if (__builtin_fabs(next) >= __builtin_fabs(term) || __builtin_fabs(next) < 1e-18)
            break;
        term = next;
        double with_sign = k & 2 ? -term : term;
        if (k & 1)
            q += with_sign;
        else
            p += with_sign;
    }
    double s = __nv_sin(x), c = __nv_cos(x);
    double cosine = order ? s - c : c + s, sine = order ? -(s + c) : s - c;
    double scale = 0.56418958354775628695 * __nv_rsqrt(x);  // 1 / sqrt(pi x)
    *j = scale * (p * cosine - q * sine);
    *y = scale * (p * sine + q * cosine);
}

static inline __device__ double gridlane_bessel_j(double x, int order)
{
    double a = __builtin_fabs(x), j, y;
    if (__builtin_isnan(x) || __builtin_isinf(x))
        return __builtin_isnan(x) ? x : 0.0;
    if (a < 1e-8)
        return order ? 0.5 * x : 1.0;
    if (a < 25.0) {
        gridlane_bessel made = gridlane_bessel_near(a);
        j = order ? made.j1 : made.j0;
    } else
        gridlane_bessel_far(a, order, &j, &y);
    return order && x < 0.0 ? -j : j;
}
static inline __device__ double gridlane_bessel_y(double x, int order)
{
    double j, y;
    if (!(x > 0.0))
        return x == 0.0 ? -__builtin_inf() : __builtin_nan("");
    if (__builtin_isinf(x))
        return 0.0;
    if (x < 1e-8)
        return order ? -0.63661977236758134308 / x
                     : 0.63661977236758134308 * (__nv_log(0.5 * x) + 0.57721566490153286061);
    if (x < 25.0) {
        gridlane_bessel made = gridlane_bessel_near(x);
        return order ? made.y1 : made.y0;
    }
    gridlane_bessel_far(x, order, &j, &y);
    return y;
}
GRIDLANE_DEVICE double j0(double x) { return gridlane_bessel_j(x, 0); }
GRIDLANE_DEVICE double j1(double x) { return gridlane_bessel_j(x, 1); }
GRIDLANE_DEVICE double y0(double x) { return gridlane_bessel_y(x, 0); }
GRIDLANE_DEVICE double y1(double x) { return gridlane_bessel_y(x, 1); }

// Upwards where n < x, else Miller's recurrence downwards from an order where J is tiny.
static inline __device__ double jn(int n, double x)
{
    if (n < 0)
        return __builtin_nan("");
    if (n < 2)
        return gridlane_bessel_j(x, n);
    double a = __builtin_fabs(x), made;
    if (!(a > 0.0) || __builtin_isinf(a))
        return __builtin_isnan(x) ? x : 0.0;
    if (n < a) {
        double below = gridlane_bessel_j(a, 0), here = gridlane_bessel_j(a, 1);
        for (int k = 1; k < n; k++) {
            double above = here * (2.0 * k / a) - below;
            below = here, here = above;
        }
        made = here;
    } else {
        int first = (n + (int)__nvvm_sqrt_rn_d(60.0 * n) + 30) & ~1;
        double above = 0.0, here = 1e-250, sum = 0.0, at = 0.0;
        for (int k = first; k > 0; k--) {
            if (!(k & 1))
                sum += here;
            if (k == n)
                at = here;
            double below = here * (2.0 * k / a) - above;
            above = here, here = below;
            if (__builtin_fabs(here) > 1e200)
                above *= 1e-250, here *= 1e-250, sum *= 1e-250, at *= 1e-250;
        }
        made = at / (here + 2.0 * sum);
    }
    return x < 0.0 && (n & 1) ? -made : made;
}
static inline __device__ double yn(int n, double x)
{
    if (n < 0)
        return __builtin_nan("");
    if (n < 2 || !(x > 0.0) || __builtin_isinf(x))
        return gridlane_bessel_y(x, n < 2 ? n : 0);
    double below = gridlane_bessel_y(x, 0), here = gridlane_bessel_y(x, 1);
    for (int k = 1; k < n && here > -__builtin_inf(); k++) {
        double above = here * (2.0 * k / x) - below;
        below = here, here = above;
    }
    return here;
}

// I0 and I1: the power series (9.6.10) has positive terms alone; far away 9.7.1.
static inline __device__ double gridlane_bessel_i(double x, int order)
{
    double a = __builtin_fabs(x), made;
    if (__builtin_isnan(x))
        return x;
    if (a < 30.0) {
        double square = 0.25 * a * a, term = order ? 0.5 * a : 1.0, sum = term;
        for (int k = 1; term > sum * 1e-18; k++) {
            term *= square / ((double)k * (k + order));
            sum += term;
        }
        made = sum;
    } else {
        double mu = 4.0 * order, term = 1.0, sum = 1.0;
        for (int k = 1; k < 30 && __builtin_fabs(term) > 1e-18; k++) {
            double odd = 2.0 * k - 1.0;
            term *= (odd * odd - mu) / (8.0 * k * a);
            sum += term;
        }
        // In halves, as the exponential alone overflows earlier than the product.
        double half = __nv_exp(0.5 * a);
        made = half * (sum * 0.39894228040143267794 * __nv_rsqrt(a)) * half;
        made = __builtin_isinf(a) ? a : made;
    }
    return order && x < 0.0 ? -made : made;
}
GRIDLANE_DEVICE double cyl_bessel_i0(double x) { return gridlane_bessel_i(x, 0); }
GRIDLANE_DEVICE double cyl_bessel_i1(double x) { return gridlane_bessel_i(x, 1); }

// exp(x * x) * erfc(x); the square's low part is kept. Far away the continued fraction (7.1.14).
static inline __device__ double erfcx(double x)
{
    if (x < 8.0) {
        double square = x * x, low = __builtin_fma(x, x, -square), e = __nv_exp(square);
        return (e + (e < 1e300 ? e * low : 0.0)) * __nv_erfc(x);
    }
    double part = x;
    for (int k = 40; k > 0; k--)
        part = x + 0.5 * k / part;
    return __builtin_isinf(x) ? 0.0 : 0.56418958354775628695 / part;
}

GRIDLANE_DEVICE double norm(int n, const double *p)
{
    double made = 0.0;
    for (int k = 0; k < n; k++)
        made = __nv_hypot(made, p[k]);
    return made;
}
GRIDLANE_DEVICE float normf(int n, const float *p)
{
    double made = 0.0;
    for (int k = 0; k < n; k++)
        made = __nv_hypot(made, (double)p[k]);
    return (float)made;
}
GRIDLANE_DEVICE double rnorm(int n, const double *p) { return 1.0 / norm(n, p); }
GRIDLANE_DEVICE float rnormf(int n, const float *p) { return 1.0f / normf(n, p); }

GRIDLANE_DEVICE float j0f(float x) { return (float)j0((double)x); }
GRIDLANE_DEVICE float j1f(float x) { return (float)j1((double)x); }
GRIDLANE_DEVICE float y0f(float x) { return (float)y0((double)x); }
GRIDLANE_DEVICE float y1f(float x) { return (float)y1((double)x); }
GRIDLANE_DEVICE float jnf(int n, float x) { return (float)jn(n, (double)x); }
GRIDLANE_DEVICE float ynf(int n, float x) { return (float)yn(n, (double)x); }
GRIDLANE_DEVICE float cyl_bessel_i0f(float x) { return (float)cyl_bessel_i0((double)x); }
GRIDLANE_DEVICE float cyl_bessel_i1f(float x) { return (float)cyl_bessel_i1((double)x); }
GRIDLANE_DEVICE float erfcxf(float x) { return (float)erfcx((double)x); }

// --- of a float by the names of doubles

#define GRIDLANE_F(name) GRIDLANE_DEVICE float name(float x) { return name##f(x); }
GRIDLANE_F(j0) GRIDLANE_F(j1) GRIDLANE_F(y0) GRIDLANE_F(y1) GRIDLANE_F(cyl_bessel_i0)
GRIDLANE_F(cyl_bessel_i1) GRIDLANE_F(erfcx) GRIDLANE_F(erfinv) GRIDLANE_F(erfcinv)
GRIDLANE_F(normcdf) GRIDLANE_F(normcdfinv) GRIDLANE_F(rcbrt) GRIDLANE_F(sinpi) GRIDLANE_F(cospi)
#undef GRIDLANE_F
GRIDLANE_DEVICE float jn(int n, float x) { return jnf(n, x); }
GRIDLANE_DEVICE float yn(int n, float x) { return ynf(n, x); }
