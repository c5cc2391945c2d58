// binary16 and bfloat16.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void pairs(const __half2 *x, const __half2 *y, __half2 *z)
{
    int i = threadIdx.x;
    __half2 v = __hfma2(x[i], y[i], __float2half2_rn(0.5f));
    v = __hadd2(v, __hmul2(x[i], x[i]));
    z[i] = __hsub2(__hmax2(v, y[i]), __hmin2(x[i], y[i]));
}

extern "C" __global__ void brains(const __nv_bfloat16 *x, __nv_bfloat16 *y, float *z)
{
    int i = threadIdx.x;
    y[i] = __hfma(x[i], x[i], __float2bfloat16(1.0f));
    z[i] = __bfloat162float(__hadd(x[i], x[i])) + __bfloat162float(__hneg(x[i]))
        + (x[i] > __float2bfloat16(0.f) ? 1.f : 0.f);
}

extern "C" __global__ void brain_pairs(const __nv_bfloat162 *x, __nv_bfloat162 *y)
{
    int i = threadIdx.x;
    y[i] = __hmul2(__hadd2(x[i], x[31 - i]), __habs2(x[i]));
}

extern "C" __global__ void half_functions(const __half *x, float *y)
{
    int i = threadIdx.x;
    __half v = x[i];
    y[i] = __half2float(hexp(v)) + __half2float(hlog(v)) + __half2float(hsqrt(v))
        + __half2float(hrcp(v)) + __half2float(hfloor(v)) + __half2float(hsin(v))
        + __half2float(hceil(v)) + __half2float(hrint(v)) + __half2float(htrunc(v));
}

extern "C" __global__ void half_integers(const __half *x, const int *n, int *y, __half *z)
{
    int i = threadIdx.x;
    y[i] = __half2int_rn(x[i]) + __half2int_rz(x[i]) + __half2int_ru(x[i]) + __half2short_rn(x[i])
        + __half2uint_rz(__habs(x[i]));
    z[i] = __hadd(__int2half_rn(n[i]), __ushort2half_rn(n[i] & 255));
}

extern "C" __global__ void half_order(const __half *x, const __half *y, int *z)
{
    int i = threadIdx.x;
    z[i] = __hlt(x[i], y[i]) + 2 * __hge(x[i], y[i]) + 4 * __hisnan(x[i]) + 8 * __heq(x[i], y[i])
        + 16 * __hbeq2(__half2half2(x[i]), __half2half2(y[i])) + 32 * (__hmax(x[i], y[i]) > y[i]);
}

extern "C" __global__ void half_sum(const __half *x, float *total, int n)
{
    float sum = 0;
    for (int i = threadIdx.x; i < n / 2; i += blockDim.x) {
        float2 pair = __half22float2(((const __half2 *)x)[i]);
        sum += pair.x + pair.y;
    }
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(~0u, sum, d);
    if (threadIdx.x == 0)
        *total = sum;
}

extern "C" __global__ void half_atomics(__half *x, __half2 *y)
{
    atomicAdd(&x[threadIdx.x & 3], __float2half(0.5f));
    atomicAdd(&y[threadIdx.x & 1], __floats2half2_rn(1.0f, 0.25f));
}

extern "C" __global__ void half_shuffles(const __half *x, __half *y)
{
    y[threadIdx.x] = __hadd(__shfl_xor_sync(~0u, x[threadIdx.x], 3), __ldg(&x[threadIdx.x]));
}
