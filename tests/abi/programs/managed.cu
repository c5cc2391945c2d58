#include "common.h"
__managed__ int shared_count = 3;
__global__ void more(int *x)
{
    x[threadIdx.x] += shared_count;
    __syncthreads();
    if (!threadIdx.x)
        shared_count = 9;
}
int main()
{
    int *x;
    CHECK(cudaMallocManaged(&x, 32 * sizeof *x));
    for (int i = 0; i < 32; i++)
        x[i] = i;
    shared_count += 4;
    more<<<1, 32>>>(x);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 32; i++)
        EXPECT(x[i] == i + 7);
    EXPECT(shared_count == 9);
    CHECK(cudaFree(x));
    puts("well");
}
