#include "common.h"
__global__ void say(int n) { printf("thread %d of %d: %s %.2f\n", threadIdx.x, n, "text", n / 4.0); }
int main()
{
    say<<<1, 2>>>(3);
    CHECK(cudaDeviceSynchronize());
    puts("well");
}
