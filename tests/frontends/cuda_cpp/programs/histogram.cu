// Counts of bytes and of floats: private counters in shared memory, then one atomic for each.
#include <stdint.h>
#include <stdlib.h>

constexpr int BINS = 64;

__global__ void count_bytes(const uint8_t *data, unsigned int *bins, size_t size)
{
    __shared__ unsigned int own[BINS];
    for (int i = threadIdx.x; i < BINS; i += blockDim.x)
        own[i] = 0;
    __syncthreads();
    const uchar4 *words = reinterpret_cast<const uchar4 *>(data);
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < size / 4; i += blockDim.x * gridDim.x) {
        uchar4 w = words[i];
        atomicAdd_block(&own[w.x >> 2], 1u);
        atomicAdd_block(&own[w.y >> 2], 1u);
        atomicAdd_block(&own[w.z >> 2], 1u);
        atomicAdd_block(&own[w.w >> 2], 1u);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < BINS; i += blockDim.x)
        if (own[i])
            atomicAdd(bins + i, own[i]);
}

// The largest float by its bits: for numbers above 0 their order is that of the integers.
__global__ void extremes(const float *data, int *largest, int *smallest, unsigned *ticks, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicMax(largest, __float_as_int(data[i]));
        atomicMin(smallest, __float_as_int(data[i]));
        atomicInc(ticks, 9u);
        atomicSub((int *)(ticks + 1), 2);
        atomicOr(ticks + 2, 1u << (i & 31));
        atomicXor(ticks + 3, 1u << (i & 15));
    }
}

// Sums of double by compare and swap, as programs for old GPUs have it.
__device__ double add(double *address, double value)
{
    unsigned long long int *words = (unsigned long long int *)address;
    unsigned long long int old = *words, assumed;
    do {
        assumed = old;
        old = atomicCAS(words, assumed,
                        __double_as_longlong(value + __longlong_as_double(assumed)));
    } while (assumed != old);
    return __longlong_as_double(old);
}

__global__ void sum(const double *data, double *result, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        add(result, data[i]);
}

int main(void)
{
    uint8_t *data;
    unsigned int *bins;
    cudaMallocManaged(&data, 4096);
    cudaMallocManaged(&bins, BINS * sizeof(unsigned int));
    cudaMemset(bins, 0, BINS * sizeof(unsigned int));
    count_bytes<<<dim3(4), dim3(64), 0, cudaStreamDefault>>>(data, bins, 4096);
    return cudaDeviceSynchronize() == cudaSuccess ? EXIT_SUCCESS : EXIT_FAILURE;
}
