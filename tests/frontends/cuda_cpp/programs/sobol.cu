// Sobol's sequences, and numbers of Philox by fours.
#include <curand_kernel.h>

template <typename S, typename W> __device__ void drawn(S s, W *words, double *reals)
{
    words[0] = curand(&s), words[1] = curand(&s);
    reals[0] = curand_uniform(&s), reals[1] = curand_uniform_double(&s);
    reals[2] = curand_normal(&s), reals[3] = curand_normal_double(&s);
    reals[4] = curand_log_normal(&s, 0.5f, 0.25f), reals[5] = curand_poisson(&s, 3.5);
    reals[6] = curand_poisson(&s, 900.0), reals[7] = curand_poisson(&s, 5000.0);
    skipahead(1001, &s);
    words[2] = curand(&s);
}
__global__ void narrow(curandDirectionVectors32_t *vectors, unsigned *words, double *reals)
{
    int i = threadIdx.x;
    curandStateSobol32_t plain;
    curandStateScrambledSobol32_t scrambled;
    curand_init(vectors[i], 1000 * i, &plain);
    curand_init(vectors[i], 77777u * i, 1000 * i, &scrambled);
    drawn(plain, words + 6 * i, reals + 16 * i);
    drawn(scrambled, words + 6 * i + 3, reals + 16 * i + 8);
}
__global__ void wide(curandDirectionVectors64_t *vectors, unsigned long long *words, double *reals)
{
    int i = threadIdx.x;
    curandStateSobol64_t plain;
    curandStateScrambledSobol64_t scrambled;
    curand_init(vectors[i], 1000 * i, &plain);
    curand_init(vectors[i], 77777 * i, 1000 * i, &scrambled);
    drawn(plain, words + 6 * i, reals + 16 * i);
    drawn(scrambled, words + 6 * i + 3, reals + 16 * i + 8);
}

__global__ void fours(double *out)
{
    curandStatePhilox4_32_10_t s, t;
    curand_init(5, threadIdx.x, 2, &s);
    t = s;
    float4 n = curand_normal4(&s), l = curand_log_normal4(&t, 0.1f, 0.2f);
    double4 d = curand_normal4_double(&s);
    uint4 p = curand_poisson4(&t, 5000.0);
    double *row = out + threadIdx.x * 16;
    row[0] = n.x, row[1] = n.y, row[2] = n.z, row[3] = n.w;
    row[4] = l.x, row[5] = l.y, row[6] = l.z, row[7] = l.w;
    row[8] = d.x, row[9] = d.y, row[10] = d.z, row[11] = d.w;
    row[12] = p.x, row[13] = p.y, row[14] = p.z, row[15] = p.w;
}

__global__ void by_tables(curandState *s, curandDiscreteDistribution_t d, unsigned *out)
{
    *out = curand_discrete(s, d);
}
