// MRG32k3a: two recurrences modulo primes below 2^32. L'Ecuyer, "Good parameters and implementations
// for combined multiple recursive random number generators", Operations Research 47, 1999.
#pragma once

struct curandStateMRG32k3a {
    unsigned s1[3], s2[3];
    int boxmuller_flag, boxmuller_flag_double;
    float boxmuller_extra;
    double boxmuller_extra_double;
};
typedef curandStateMRG32k3a curandStateMRG32k3a_t;

struct gridlane_mrg { unsigned each[3][3]; };
constexpr unsigned gridlane_mrg_1 = 4294967087u, gridlane_mrg_2 = 4294944443u;
// A step of each recurrence, and 2^76 steps, as matrices.
#define GRIDLANE_MRG_STEP_1 {{{0, 1, 0}, {0, 0, 1}, {gridlane_mrg_1 - 810728u, 1403580u, 0}}}
#define GRIDLANE_MRG_STEP_2 {{{0, 1, 0}, {0, 0, 1}, {gridlane_mrg_2 - 1370589u, 0, 527612u}}}
#define GRIDLANE_MRG_FAR_1                        \
    {{{82758667u, 1871391091u, 4127413238u},      \
      {3672831523u, 69195019u, 1871391091u},      \
      {3672091415u, 3528743235u, 69195019u}}}
#define GRIDLANE_MRG_FAR_2                        \
    {{{1511326704u, 3759209742u, 1610795712u},    \
      {4292754251u, 1511326704u, 3889917532u},    \
      {3859662829u, 4292754251u, 3708466080u}}}

__device__ inline unsigned gridlane_mrg_dot(const unsigned *row, unsigned x, unsigned y, unsigned z,
                                            unsigned m)
{
    unsigned long long sum = (unsigned long long)row[0] * x % m;
    sum += (unsigned long long)row[1] * y % m + (unsigned long long)row[2] * z % m;
    return (unsigned)(sum % m);
}
__device__ inline void gridlane_mrg_squared(gridlane_mrg &a, unsigned m)
{
    gridlane_mrg made;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            made.each[i][j] = gridlane_mrg_dot(a.each[i], a.each[0][j], a.each[1][j], a.each[2][j], m);
    a = made;
}
// The n-th power of a matrix, times a state.
__device__ inline void gridlane_mrg_skip(gridlane_mrg a, unsigned (&s)[3], unsigned m,
                                         unsigned long long n)
{
    for (; n; n >>= 1) {
        if (n & 1) {
            unsigned x = s[0], y = s[1], z = s[2];
            for (int i = 0; i < 3; i++)
                s[i] = gridlane_mrg_dot(a.each[i], x, y, z, m);
        }
        if (n > 1)
            gridlane_mrg_squared(a, m);
    }
}

__device__ inline void skipahead(unsigned long long n, curandStateMRG32k3a *s)
{
    gridlane_mrg_skip(GRIDLANE_MRG_STEP_1, s->s1, gridlane_mrg_1, n);
    gridlane_mrg_skip(GRIDLANE_MRG_STEP_2, s->s2, gridlane_mrg_2, n);
}
// 2^76 numbers each.
__device__ inline void skipahead_subsequence(unsigned long long n, curandStateMRG32k3a *s)
{
    gridlane_mrg_skip(GRIDLANE_MRG_FAR_1, s->s1, gridlane_mrg_1, n);
    gridlane_mrg_skip(GRIDLANE_MRG_FAR_2, s->s2, gridlane_mrg_2, n);
}
// 2^127 numbers each.
__device__ inline void skipahead_sequence(unsigned long long n, curandStateMRG32k3a *s)
{
    gridlane_mrg first = GRIDLANE_MRG_FAR_1, second = GRIDLANE_MRG_FAR_2;
    for (int k = 76; k < 127; k++) {
        gridlane_mrg_squared(first, gridlane_mrg_1);
        gridlane_mrg_squared(second, gridlane_mrg_2);
    }
    gridlane_mrg_skip(first, s->s1, gridlane_mrg_1, n);
    gridlane_mrg_skip(second, s->s2, gridlane_mrg_2, n);
}
#undef GRIDLANE_MRG_STEP_1
#undef GRIDLANE_MRG_STEP_2
#undef GRIDLANE_MRG_FAR_1
#undef GRIDLANE_MRG_FAR_2

__device__ inline void curand_init(unsigned long long seed, unsigned long long subsequence,
                                   unsigned long long offset, curandStateMRG32k3a *s)
{
    unsigned low = (unsigned)seed ^ 0x55555555u, high = (unsigned)(seed >> 32) ^ 0xaaaaaaaau;
    for (int i = 0; i < 3; i++) {
        unsigned long long first = i & 1 ? high : low, second = i & 1 ? low : high;
        s->s1[i] = seed ? (unsigned)(first % gridlane_mrg_1 * 12345 % gridlane_mrg_1) : 12345;
        s->s2[i] = seed ? (unsigned)(second % gridlane_mrg_2 * 12345 % gridlane_mrg_2) : 12345;
    }
    skipahead_subsequence(subsequence, s);
    skipahead(offset, s);
    s->boxmuller_flag = s->boxmuller_flag_double = 0;
    s->boxmuller_extra = 0.0f;
    s->boxmuller_extra_double = 0.0;
}

// From 1 to the first prime.
__device__ inline double curand_MRG32k3a(curandStateMRG32k3a *s)
{
    unsigned long long first = 1403580ull * s->s1[1] + 810728ull * (gridlane_mrg_1 - s->s1[0]);
    unsigned long long second = 527612ull * s->s2[2] + 1370589ull * (gridlane_mrg_2 - s->s2[0]);
    s->s1[0] = s->s1[1], s->s1[1] = s->s1[2], s->s1[2] = (unsigned)(first % gridlane_mrg_1);
    s->s2[0] = s->s2[1], s->s2[1] = s->s2[2], s->s2[2] = (unsigned)(second % gridlane_mrg_2);
    double difference = (double)s->s1[2] - (double)s->s2[2];
    return difference > 0.0 ? difference : difference + (double)gridlane_mrg_1;
}
// Spread over 32 bits.
__device__ inline unsigned curand(curandStateMRG32k3a *s)
{
    return __double2uint_rz(curand_MRG32k3a(s) * 1.000000048662);
}
