// Sums of products and a soft maximum in 16 bits.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void axpy(const half2 *x, half2 *y, half a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = __hfma2(__half2half2(a), x[i], y[i]);
}

template <typename H> __global__ void relu_scaled(const H *x, H *y, float scale, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] > H(0.0f) ? H((float)x[i] * scale) : H(0.0f);
}

__global__ void softmax(const __half *x, __half *y, int columns)
{
    const __half *row = x + blockIdx.x * columns;
    float most = -INFINITY, sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += 32)
        most = fmaxf(most, __half2float(row[i]));
    for (int by = 16; by; by /= 2)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, by));
    for (int i = threadIdx.x; i < columns; i += 32)
        sum += expf(__half2float(row[i]) - most);
    for (int by = 16; by; by /= 2)
        sum += __shfl_xor_sync(~0u, sum, by);
    for (int i = threadIdx.x; i < columns; i += 32)
        y[blockIdx.x * columns + i] = __float2half(expf(__half2float(row[i]) - most) / sum);
}

extern "C" __global__ void dot(const __nv_bfloat16 *x, const __nv_bfloat16 *y, float *out, int n)
{
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        sum += __bfloat162float(x[i]) * __bfloat162float(y[i]);
    __shared__ float total;
    if (threadIdx.x == 0)
        total = 0;
    __syncthreads();
    atomicAdd(&total, sum);
    __syncthreads();
    if (threadIdx.x == 0)
        *out = total;
}

__global__ void added(__half *sum, __half2 *pairs, const __half *x, int n)
{
    if (threadIdx.x < n) {
        atomicAdd(sum, x[threadIdx.x]);
        atomicAdd(pairs, __halves2half2(x[threadIdx.x], __float2half(1.0f)));
    }
}
