#include "shared.h"

static __device__ int own = 1;

static __device__ __noinline__ int helper(int value)
{
    return value + own;
}

extern "C" __global__ void plain(int *out)
{
    int i = threadIdx.x;
    out[i] = helper(i) + 10 * with_helper(i) + 1000 * scaled(i) + doubled(i);
}

extern "C" __global__ void variables(int *out)
{
    int i = threadIdx.x;
    atomicAdd(&counter, 1);
    __syncthreads();
    out[i] = factors[i % 4] + (i == 0 ? *where_counter : 0);
}

extern "C" __global__ void by_address(int *out)
{
    int i = threadIdx.x;
    out[i] = operations[i % 3](i);
}

extern "C" __global__ void shapes(int *out)
{
    int i = threadIdx.x;
    __align__(16) char room[32];
    Shape *shape = shape_of(room, i % 2, i, 3);
    out[i] = 10 * shape->area() + shape->corners();
}

extern "C" __global__ void recursive(int *out)
{
    int i = threadIdx.x;
    out[i] = is_even(i) + 2 * is_odd(i);
}

template <class T>
__global__ void times(T *x, T factor)
{
    x[threadIdx.x] *= factor;
}

__device__ bool is_even(int n)
{
    return n == 0 || is_odd(n - 1);
}
