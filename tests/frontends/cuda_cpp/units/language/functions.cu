#include "shared.h"

__device__ int total = 5;
__device__ float table[3] = {1, 2, 4};
static __device__ int one = 10, two = 20;
static __device__ int *pair[2] = {&one, &two};

__device__ void Counter::add(int n)
{
    value += n + total;
}

__device__ int *picked(int i)
{
    return pair[i % 2];
}

namespace ns {
__device__ int value = 9;
namespace {
__device__ int hidden = 4;
}
__device__ int inner(int x)
{
    return x + hidden + square(2);
}
}

__device__ Large changed(int n, Large other)
{
    other.a[0] = n;
    other.d += n;
    return other;
}

__device__ Letter mixed(
    Letter e, bool b, char c, short s, float f, double d, unsigned long long u)
{
    return (Letter)((int)e + b + c + s + (int)(f + d) + (int)(u >> 40));
}
