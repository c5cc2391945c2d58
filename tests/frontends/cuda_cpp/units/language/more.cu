#include "shared.h"

static __device__ float sum(float a, float b)
{
    return a + b;
}

static __device__ float difference(float a, float b)
{
    return a - b;
}

__constant__ Operation operations[2] = {sum, difference};
static __device__ int one = 100;
namespace {
__device__ int hidden = 40;
}

extern "C" __global__ void other(int *out)
{
    Twice<int> twice{4};
    out[0] = hidden + one + seen(1);
    out[1] = twice.get() + square(3);
}
