// Sobol's sequences in the order of Gray's code, of 32 and of 64 bits, as they are and scrambled:
// a number is the sum of the direction vectors at the bits of its place, without carries.
#pragma once

typedef unsigned curandDirectionVectors32_t[32];
typedef unsigned long long curandDirectionVectors64_t[64];

template <typename T> struct gridlane_sobol {
    T i, x, c;  // the place, the number there, that of place 0
    T direction_vectors[sizeof(T) * 8];
};
struct curandStateSobol32 : gridlane_sobol<unsigned> {};
struct curandStateSobol64 : gridlane_sobol<unsigned long long> {};
struct curandStateScrambledSobol32 : gridlane_sobol<unsigned> {};
struct curandStateScrambledSobol64 : gridlane_sobol<unsigned long long> {};
typedef curandStateSobol32 curandStateSobol32_t;
typedef curandStateSobol64 curandStateSobol64_t;
typedef curandStateScrambledSobol32 curandStateScrambledSobol32_t;
typedef curandStateScrambledSobol64 curandStateScrambledSobol64_t;

template <typename T> GRIDLANE_DEVICE void gridlane_skip(gridlane_sobol<T> *s, T n)
{
    s->i += n;
    T gray = s->i ^ s->i >> 1, made = s->c;
    for (int k = 0; k < (int)sizeof(T) * 8; k++)
        made ^= gray >> k & 1 ? s->direction_vectors[k] : T(0);
    s->x = made;
}
template <typename T>
GRIDLANE_DEVICE void gridlane_start(const T *vectors, T first, T offset, gridlane_sobol<T> *s)
{
    s->i = 0, s->c = first;
    for (int k = 0; k < (int)sizeof(T) * 8; k++)
        s->direction_vectors[k] = vectors[k];
    gridlane_skip(s, offset);
}
// The next number differs by one vector: that of the lowest bit of the place that is 0.
template <typename T> GRIDLANE_DEVICE T gridlane_next(gridlane_sobol<T> *s)
{
    T made = s->x;
    int bit = __ffsll((long long)~(unsigned long long)s->i) - 1;
    s->x ^= s->direction_vectors[bit < 0 || bit >= (int)sizeof(T) * 8 ? 0 : bit];
    s->i++;
    return made;
}

// --- numbers above 0, up to and with 1; normal numbers by the inverse of the distribution

GRIDLANE_CONST float gridlane_real(unsigned x) { return x * 2.3283064e-10f + 1.1641532e-10f; }
GRIDLANE_CONST float gridlane_real(unsigned long long x) { return gridlane_real((unsigned)(x >> 32)); }
GRIDLANE_CONST double gridlane_real_double(unsigned x)
{
    return x * 2.3283064365386963e-10 + 2.3283064365386963e-10;
}
GRIDLANE_CONST double gridlane_real_double(unsigned long long x)
{
    return (x >> 11) * 1.1102230246251565e-16 + 5.5511151231257827e-17;
}
// The upper half is that of the lower, so that numbers near 1 are as exact as those near 0.
GRIDLANE_DEVICE float gridlane_quantile(unsigned x)
{
    bool upper = x > 0x80000000u;
    float size = 1.4142135f * erfcinvf(2.0f * gridlane_real(upper ? ~x : x));
    return upper ? size : -size;
}
GRIDLANE_DEVICE float gridlane_quantile(unsigned long long x)
{
    return gridlane_quantile((unsigned)(x >> 32));
}
GRIDLANE_DEVICE double gridlane_quantile_double(unsigned x)
{
    bool upper = x > 0x80000000u;
    double p = (upper ? ~x : x) * 2.3283064365386963e-10 + 1.1641532182693481e-10;
    double size = 1.4142135623730951 * erfcinv(2.0 * p);
    return upper ? size : -size;
}
GRIDLANE_DEVICE double gridlane_quantile_double(unsigned long long x)
{
    bool upper = x >> 11 > 1ull << 52;
    double size = 1.4142135623730951 * erfcinv(2.0 * gridlane_real_double(upper ? ~x : x));
    return upper ? size : -size;
}

// The count at whose sum of probabilities a number is reached: from the mean, down or up.
static inline __device__ unsigned gridlane_poisson(double u, double mean)
{
    double count = __builtin_floor(mean);
    double p = __nv_exp(count * __nv_log(mean) - mean - __nv_lgamma(count + 1.0)), sum = 0.0;
    double each = p;
    for (double k = count; each > sum * 1e-17; k -= 1.0)
        sum += each, each *= k / mean;
    while (count > 0.0 && u <= sum - p)
        sum -= p, p *= count / mean, count -= 1.0;
    while (u > sum && p > 1e-300)
        count += 1.0, p *= mean / count, sum += p;
    return (unsigned)count;
}

#define GRIDLANE_SEQUENCE(State, T)                                                              \
    template <typename N_> GRIDLANE_DEVICE void skipahead(N_ n, State *s)                        \
    {                                                                                            \
        gridlane_skip<T>(s, (T)n);                                                               \
    }                                                                                            \
    GRIDLANE_DEVICE T curand(State *s) { return gridlane_next<T>(s); }                           \
    GRIDLANE_DEVICE float curand_uniform(State *s) { return gridlane_real(curand(s)); }          \
    GRIDLANE_DEVICE double curand_uniform_double(State *s)                                       \
    {                                                                                            \
        return gridlane_real_double(curand(s));                                                  \
    }                                                                                            \
    GRIDLANE_DEVICE float curand_normal(State *s) { return gridlane_quantile(curand(s)); }       \
    GRIDLANE_DEVICE double curand_normal_double(State *s)                                        \
    {                                                                                            \
        return gridlane_quantile_double(curand(s));                                              \
    }                                                                                            \
    GRIDLANE_DEVICE float curand_log_normal(State *s, float mean, float stddev)                  \
    {                                                                                            \
        return ::expf(mean + stddev * curand_normal(s));                                         \
    }                                                                                            \
    GRIDLANE_DEVICE double curand_log_normal_double(State *s, double mean, double stddev)        \
    {                                                                                            \
        return __nv_exp(mean + stddev * curand_normal_double(s));                                \
    }                                                                                            \
    GRIDLANE_DEVICE unsigned curand_poisson(State *s, double mean)                               \
    {                                                                                            \
        if (mean > 4000.0)                                                                       \
            return (unsigned)(__nvvm_sqrt_rn_d(mean) * curand_normal_double(s) + mean + 0.5);    \
        return gridlane_poisson(curand_uniform_double(s), mean);                                 \
    }
#define GRIDLANE_PLAIN(State, T)                                                                 \
    GRIDLANE_SEQUENCE(State, T)                                                                  \
    GRIDLANE_DEVICE void curand_init(const T *vectors, T offset, State *s)                       \
    {                                                                                            \
        gridlane_start<T>(vectors, 0, offset, s);                                                \
    }
#define GRIDLANE_SCRAMBLED(State, T)                                                             \
    GRIDLANE_SEQUENCE(State, T)                                                                  \
    GRIDLANE_DEVICE void curand_init(const T *vectors, T scramble, T offset, State *s)           \
    {                                                                                            \
        gridlane_start<T>(vectors, scramble, offset, s);                                         \
    }
GRIDLANE_PLAIN(curandStateSobol32, unsigned)
GRIDLANE_PLAIN(curandStateSobol64, unsigned long long)
GRIDLANE_SCRAMBLED(curandStateScrambledSobol32, unsigned)
GRIDLANE_SCRAMBLED(curandStateScrambledSobol64, unsigned long long)
#undef GRIDLANE_PLAIN
#undef GRIDLANE_SCRAMBLED
#undef GRIDLANE_SEQUENCE
