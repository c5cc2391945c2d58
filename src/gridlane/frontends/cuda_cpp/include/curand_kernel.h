// Random numbers in kernels.
#pragma once
#define CURAND_KERNEL_H_

#include "curand.h"
#include "curand_philox4x32_x.h"
#include "curand_mrg32k3a.h"
#include "curand_sobol.h"
#include "curand_xorwow.h"

// --- numbers above 0, up to and with 1

GRIDLANE_CONST float gridlane_uniform(unsigned x) { return x * 2.3283064e-10f + 1.1641532e-10f; }
GRIDLANE_CONST double gridlane_uniform_double(unsigned x, unsigned y)
{
    unsigned long long bits = x ^ (unsigned long long)y << 21;
    return bits * 1.1102230246251565e-16 + 5.5511151231257827e-17;
}

// --- pairs of normal numbers: Box and Muller

GRIDLANE_DEVICE float2 gridlane_normals(unsigned x, unsigned y)
{
    float u = x * 2.3283064e-10f + 1.1641532e-10f;
    float v = y * 1.46291807e-9f + 7.31459036e-10f;  // 2 pi / 2^32
    float s = ::sqrtf(-2.0f * ::logf(u));
    return {s * ::sinf(v), s * ::cosf(v)};
}
GRIDLANE_DEVICE double2 gridlane_normals_double(double u, double v)
{
    double s = __nvvm_sqrt_rn_d(-2.0 * __nv_log(u));
    return {s * sinpi(2.0 * v), s * cospi(2.0 * v)};
}

// A double takes two numbers of XORWOW and one of Philox, a pair of normal doubles four of each.
GRIDLANE_DEVICE double curand_uniform_double(curandStateXORWOW *s)
{
    unsigned x = curand(s);
    return gridlane_uniform_double(x, curand(s));
}
GRIDLANE_DEVICE double2 curand_normal2_double(curandStateXORWOW *s)
{
    double u = curand_uniform_double(s);
    return gridlane_normals_double(u, curand_uniform_double(s));
}
GRIDLANE_DEVICE double curand_uniform_double(curandStatePhilox4_32_10 *s)
{
    return curand(s) * 2.3283064365386963e-10 + 2.3283064365386963e-10;
}
GRIDLANE_DEVICE double2 curand_normal2_double(curandStatePhilox4_32_10 *s)
{
    uint4 x = curand4(s);
    return gridlane_normals_double(gridlane_uniform_double(x.x, x.y),
                                   gridlane_uniform_double(x.z, x.w));
}

// The second number of a pair is kept for the next call of the same kind.
#define GRIDLANE_PAIRED(kind, suffix, pair)                                                    \
    if (s->boxmuller_flag##suffix == kind) {                                                   \
        s->boxmuller_flag##suffix = 0;                                                         \
        return s->boxmuller_extra##suffix;                                                     \
    }                                                                                          \
    auto two = pair;                                                                           \
    s->boxmuller_flag##suffix = kind;                                                          \
    s->boxmuller_extra##suffix = two.y;                                                        \
    return two.x;

#define GRIDLANE_WORDS(State)                                                                  \
    GRIDLANE_DEVICE float curand_uniform(State *s) { return gridlane_uniform(curand(s)); }     \
    GRIDLANE_DEVICE float2 curand_normal2(State *s)                                            \
    {                                                                                          \
        unsigned x = curand(s);                                                                \
        return gridlane_normals(x, curand(s));                                                 \
    }
GRIDLANE_WORDS(curandStatePhilox4_32_10)
GRIDLANE_WORDS(curandStateXORWOW)
#undef GRIDLANE_WORDS
GRIDLANE_DEVICE double curand_uniform_double(curandStateMRG32k3a *s)
{
    return curand_MRG32k3a(s) * 2.3283065498378288e-10;
}
GRIDLANE_DEVICE float curand_uniform(curandStateMRG32k3a *s)
{
    return (float)curand_uniform_double(s);
}
GRIDLANE_DEVICE float2 curand_normal2(curandStateMRG32k3a *s)
{
    float u = curand_uniform(s), v = curand_uniform(s) * 6.2831855f;
    float size = ::sqrtf(-2.0f * ::logf(u));
    return {size * ::sinf(v), size * ::cosf(v)};
}
GRIDLANE_DEVICE double2 curand_normal2_double(curandStateMRG32k3a *s)
{
    double u = curand_uniform_double(s);
    return gridlane_normals_double(u, curand_uniform_double(s));
}

// Knuth's method for a small mean, and the sum of several of them; rounded normal numbers for a mean
// above 4000. Between 64 and 4000 the numbers are not those of cuRAND.
#define GRIDLANE_GENERATOR(State)                                                              \
    GRIDLANE_DEVICE float2 curand_log_normal2(State *s, float mean, float stddev)              \
    {                                                                                          \
        float2 two = curand_normal2(s);                                                        \
        return {::expf(mean + stddev * two.x), ::expf(mean + stddev * two.y)};                 \
    }                                                                                          \
    GRIDLANE_DEVICE double2 curand_log_normal2_double(State *s, double mean, double stddev)    \
    {                                                                                          \
        double2 two = curand_normal2_double(s);                                                \
        return {__nv_exp(mean + stddev * two.x), __nv_exp(mean + stddev * two.y)};             \
    }                                                                                          \
    GRIDLANE_DEVICE float curand_normal(State *s)                                              \
    {                                                                                          \
        GRIDLANE_PAIRED(1, , curand_normal2(s))                                                \
    }                                                                                          \
    GRIDLANE_DEVICE float curand_log_normal(State *s, float mean, float stddev)                \
    {                                                                                          \
        GRIDLANE_PAIRED(2, , curand_log_normal2(s, mean, stddev))                              \
    }                                                                                          \
    GRIDLANE_DEVICE double curand_normal_double(State *s)                                      \
    {                                                                                          \
        GRIDLANE_PAIRED(1, _double, curand_normal2_double(s))                                  \
    }                                                                                          \
    GRIDLANE_DEVICE double curand_log_normal_double(State *s, double mean, double stddev)      \
    {                                                                                          \
        GRIDLANE_PAIRED(2, _double, curand_log_normal2_double(s, mean, stddev))                \
    }                                                                                          \
    __device__ inline unsigned curand_poisson(State *s, double mean)                           \
    {                                                                                          \
        if (mean > 4000.0)                                                                     \
            return (unsigned)(::sqrt(mean) * curand_normal_double(s) + mean + 0.5);            \
        unsigned count = 0;                                                                    \
        for (double part; mean > 0.0; mean -= part) {                                          \
            part = mean < 64.0 ? mean : 32.0;                                                  \
            for (float p = ::expf((float)part) * curand_uniform(s); p > 1.0f; count++)         \
                p *= curand_uniform(s);                                                        \
        }                                                                                      \
        return count;                                                                          \
    }
GRIDLANE_GENERATOR(curandStatePhilox4_32_10)
GRIDLANE_GENERATOR(curandStateXORWOW)
GRIDLANE_GENERATOR(curandStateMRG32k3a)
#undef GRIDLANE_GENERATOR
#undef GRIDLANE_PAIRED

GRIDLANE_DEVICE float4 curand_uniform4(curandStatePhilox4_32_10 *s)
{
    uint4 x = curand4(s);
    return {gridlane_uniform(x.x), gridlane_uniform(x.y), gridlane_uniform(x.z), gridlane_uniform(x.w)};
}
GRIDLANE_DEVICE double2 curand_uniform2_double(curandStatePhilox4_32_10 *s)
{
    uint4 x = curand4(s);
    return {gridlane_uniform_double(x.x, x.y), gridlane_uniform_double(x.z, x.w)};
}
GRIDLANE_DEVICE float4 curand_normal4(curandStatePhilox4_32_10 *s)
{
    uint4 x = curand4(s);
    float2 a = gridlane_normals(x.x, x.y), b = gridlane_normals(x.z, x.w);
    return {a.x, a.y, b.x, b.y};
}
GRIDLANE_DEVICE float4 curand_log_normal4(curandStatePhilox4_32_10 *s, float mean, float stddev)
{
    float4 n = curand_normal4(s);
    return {::expf(mean + stddev * n.x), ::expf(mean + stddev * n.y), ::expf(mean + stddev * n.z),
            ::expf(mean + stddev * n.w)};
}
GRIDLANE_DEVICE double4 curand_uniform4_double(curandStatePhilox4_32_10 *s)
{
    double2 a = curand_uniform2_double(s), b = curand_uniform2_double(s);
    return {a.x, a.y, b.x, b.y};
}
GRIDLANE_DEVICE double4 curand_normal4_double(curandStatePhilox4_32_10 *s)
{
    double2 a = curand_normal2_double(s), b = curand_normal2_double(s);
    return {a.x, a.y, b.x, b.y};
}
GRIDLANE_DEVICE double4 curand_log_normal4_double(curandStatePhilox4_32_10 *s, double mean,
                                                  double stddev)
{
    double2 a = curand_log_normal2_double(s, mean, stddev);
    double2 b = curand_log_normal2_double(s, mean, stddev);
    return {a.x, a.y, b.x, b.y};
}
GRIDLANE_DEVICE uint4 curand_poisson4(curandStatePhilox4_32_10 *s, double mean)
{
    if (mean > 4000.0) {
        double4 n = curand_normal4_double(s);
        double size = ::sqrt(mean), middle = mean + 0.5;
        return {(unsigned)(size * n.x + middle), (unsigned)(size * n.y + middle),
                (unsigned)(size * n.z + middle), (unsigned)(size * n.w + middle)};
    }
    unsigned x = curand_poisson(s, mean), y = curand_poisson(s, mean), z = curand_poisson(s, mean);
    return {x, y, z, curand_poisson(s, mean)};
}

// --- what needs tables of cuRAND's host library, which is not here: a kernel that reaches one of
// these is refused by name, as nothing defines the function

struct curandDiscreteDistribution_st;
typedef curandDiscreteDistribution_st *curandDiscreteDistribution_t;
extern "C" __device__ unsigned curand_discrete_needs_tables_of_the_host(
    void *state, curandDiscreteDistribution_t distribution);
template <typename S_>
GRIDLANE_DEVICE unsigned curand_discrete(S_ *s, curandDiscreteDistribution_t distribution)
{
    return curand_discrete_needs_tables_of_the_host(s, distribution);
}
template <typename S_>
GRIDLANE_DEVICE uint4 curand_discrete4(S_ *s, curandDiscreteDistribution_t distribution)
{
    unsigned x = curand_discrete(s, distribution), y = curand_discrete(s, distribution);
    unsigned z = curand_discrete(s, distribution);
    return {x, y, z, curand_discrete(s, distribution)};
}

struct mtgp32_kernel_params;
typedef mtgp32_kernel_params mtgp32_kernel_params_t;
struct curandStateMtgp32 {
    unsigned s[1024];
    int offset, pIdx;
    mtgp32_kernel_params *k;
};
typedef curandStateMtgp32 curandStateMtgp32_t;
extern "C" __device__ unsigned curand_mtgp32_needs_tables_of_the_host(curandStateMtgp32 *state);
GRIDLANE_DEVICE unsigned curand(curandStateMtgp32 *s)
{
    return curand_mtgp32_needs_tables_of_the_host(s);
}
GRIDLANE_DEVICE float curand_uniform(curandStateMtgp32 *s) { return gridlane_uniform(curand(s)); }
GRIDLANE_DEVICE double curand_uniform_double(curandStateMtgp32 *s) { return curand_uniform(s); }
GRIDLANE_DEVICE float curand_normal(curandStateMtgp32 *s) { return curand_uniform(s); }
