// Pi, and the price of an option, by random numbers of each thread's own.
#include <cstdio>
#include <curand_kernel.h>

__global__ void setup(curandStatePhilox4_32_10_t *states, unsigned long long seed)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    curand_init(seed, i, 0, &states[i]);
}

__global__ void inside(curandStatePhilox4_32_10_t *states, unsigned *counts, int tries)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    curandStatePhilox4_32_10_t local = states[i];
    unsigned count = 0;
    for (int n = 0; n < tries; n++) {
        float x = curand_uniform(&local), y = curand_uniform(&local);
        if (x * x + y * y <= 1.0f)
            count++;
    }
    counts[i] = count;
    states[i] = local;
}

__global__ void words(unsigned *out, unsigned long long seed, unsigned long long offset, int each)
{
    curandStatePhilox4_32_10_t state;
    int i = threadIdx.x;
    curand_init(seed, 7 * i, offset, &state);
    for (int n = 0; n < each; n++)
        out[i * each + n] = curand(&state);
    uint4 four = curand4(&state);
    out[blockDim.x * each + i] = four.x ^ four.y ^ four.z ^ four.w;
}

__global__ void option(float *values, float price, float strike, float rate, float spread, int steps)
{
    curandState state;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    curand_init(42ULL, i, 0, &state);
    float s = price;
    for (int n = 0; n < steps; n++)
        s *= expf(rate + spread * curand_normal(&state));
    values[i] = fmaxf(s - strike, 0.0f);
}

// Words of XORWOW, straight on and by skips.
__global__ void skips(unsigned *out, int far)
{
    curandState a, b;
    curand_init(1234, threadIdx.x, 0, &a);
    for (int n = 0; n < far; n++)
        curand(&a);
    curand_init(1234, threadIdx.x, far, &b);
    out[2 * threadIdx.x] = curand(&a);
    out[2 * threadIdx.x + 1] = curand(&b);
}

int main()
{
    curandStatePhilox4_32_10_t *states;
    cudaMalloc(&states, 1024 * sizeof(*states));
    setup<<<8, 128>>>(states, 1);
    printf("%d\n", (int)cudaDeviceSynchronize());
}
