#include "common.h"
#include <cassert>
__global__ void check(int n) { assert(threadIdx.x < n); }
int main()
{
    check<<<1, 8>>>(8);
    CHECK(cudaDeviceSynchronize());
    check<<<1, 8>>>(3);
    EXPECT(cudaDeviceSynchronize() == cudaErrorAssert);
    EXPECT(cudaGetLastError() == cudaErrorAssert);
    int *x;
    EXPECT(cudaMalloc(&x, 16) == cudaErrorAssert); /* it stays */
    CHECK(cudaDeviceReset());
    CHECK(cudaMalloc(&x, 16));
    puts("well");
}
