// MRG32k3a in a kernel, beside a host that names the libraries.
#include <cublas_v2.h>
#include <cufft.h>
#include <curand.h>
#include <curand_kernel.h>
#include <cusolverDn.h>
#include <cusparse.h>
#include <cstdio>

extern "C" __global__ void words(unsigned *out, double *doubles, unsigned long long seed,
                                 unsigned long long subsequence, unsigned long long offset)
{
    curandStateMRG32k3a_t state;
    int i = threadIdx.x;
    curand_init(seed, subsequence + i, offset, &state);
    for (int n = 0; n < 3; n++)
        out[5 * i + n] = curand(&state);
    skipahead(12345678901ull, &state);
    out[5 * i + 3] = curand(&state);
    skipahead_sequence(3, &state);
    out[5 * i + 4] = curand(&state);
    doubles[i] = curand_uniform_double(&state);
}

extern "C" __global__ void numbers(unsigned *counts, float *normals, double mean)
{
    curandStateMRG32k3a state;
    curand_init(5, threadIdx.x, 0, &state);
    counts[threadIdx.x] = curand_poisson(&state, mean);
    normals[threadIdx.x] = curand_normal(&state);
}

extern "C" __global__ void turned(cufftComplex *z)
{
    z[threadIdx.x] = cuCmulf(z[threadIdx.x], make_cuComplex(0, 1));
}

int main()
{
    cublasHandle_t blas;
    if (cublasCreate(&blas) != CUBLAS_STATUS_SUCCESS)
        return 1;
    const float one = 1, zero = 0;
    float *a = nullptr;
    cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_T, 4, 4, 4, &one, a, 4, a, 4, &zero, a, 4);
    curandGenerator_t generator;
    curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_MRG32K3A);
    curandGenerateUniform(generator, a, 100);
    cufftHandle plan;
    cufftPlan1d(&plan, 128, CUFFT_C2C, 1);
    cusparseHandle_t sparse;
    cusparseCreate(&sparse);
    cusolverDnHandle_t solver;
    cusolverDnCreate(&solver);
    printf("%d\n", cublasDestroy(blas));
}
