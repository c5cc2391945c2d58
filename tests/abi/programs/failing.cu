// Launches that fail, in a program that mostly asks for no errors; the first argument says which.
#include <cassert>
#include <cstdio>
#include <cstring>

__global__ void fill(int *x) { x[threadIdx.x] = 7; }
__global__ void check(int *x, int n)
{
    int i = threadIdx.x;
    assert(i < n); /* line 10 */
    x[i] = i;
}
namespace mine {
template <class T> __global__ void stop(T *x)
{
    if (threadIdx.x == 5)
        __trap(); /* line 17 */
    x[threadIdx.x] = 1;
}
}
__global__ void unknown(int *x)
{
    asm volatile("cp.mystery.u32 [%0];" ::"l"(x)); /* line 23 */
}

int main(int count, char **words)
{
    const char *mode = words[1];
    int *x;
    cudaMalloc(&x, 4096);
    for (int n = 0; n < 3; n++) {
        if (!strcmp(mode, "shape") || !strcmp(mode, "read"))
            fill<<<1, 4096>>>(x);
        if (!strcmp(mode, "read") && cudaGetLastError() != cudaErrorInvalidConfiguration)
            return 1;
        if (!strcmp(mode, "assert"))
            check<<<1, 32>>>(x, n == 1 ? 9 : 32);
        if (!strcmp(mode, "trap"))
            mine::stop<<<1, 4>>>(x), mine::stop<<<n + 1, n * 4 + 4>>>(x);
        if (!strcmp(mode, "unknown"))
            unknown<<<1, 1>>>(x);
    }
    cudaError_t error = cudaDeviceSynchronize();
    if (!strcmp(mode, "assert"))
        printf("%s\n", cudaGetErrorName(error));
}
