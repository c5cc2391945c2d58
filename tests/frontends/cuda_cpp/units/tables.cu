#include "shared.h"

__constant__ int factors[4] = {2, 3, 5, 7};

static __device__ int squared(int value) { return value * value; }

__device__ Operation operations[3] = {scaled, with_helper, squared};

__device__ int scaled(int value)
{
    return doubled(value) + factors[value % 4];
}

template <class T>
__global__ void plus(T *x, T more)
{
    x[threadIdx.x] += more;
}
