#include "common.h"
__global__ void more(int *x, int by) { x[threadIdx.x] += by; }
static int called;
static void host_function(void *data) { *(int *)data += 1; }
static void callback(cudaStream_t, cudaError_t status, void *data)
{
    if (status == cudaSuccess)
        *(int *)data += 10;
}
int main()
{
    cudaStream_t first, second;
    cudaEvent_t event, end;
    CHECK(cudaStreamCreate(&first));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&event));
    CHECK(cudaEventCreate(&end));
    int *host, *x;
    CHECK(cudaMallocHost(&host, 64 * sizeof *host));
    CHECK(cudaMalloc(&x, 64 * sizeof *x));
    CHECK(cudaMemsetAsync(x, 0, 64 * sizeof *x, first));
    for (int n = 1; n <= 10; n++)
        more<<<1, 64, 0, first>>>(x, n);
    CHECK(cudaEventRecord(event, first));
    CHECK(cudaStreamWaitEvent(second, event, 0));
    more<<<1, 64, 0, second>>>(x, 100);
    CHECK(cudaMemcpyAsync(host, x, 64 * sizeof *x, cudaMemcpyDeviceToHost, second));
    CHECK(cudaLaunchHostFunc(second, host_function, &called));
    CHECK(cudaStreamAddCallback(second, callback, &called, 0));
    CHECK(cudaEventRecord(end, second));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaStreamSynchronize(second));
    float ms = -1;
    CHECK(cudaEventElapsedTime(&ms, event, end));
    EXPECT(ms >= 0 && called == 11);
    for (int i = 0; i < 64; i++)
        EXPECT(host[i] == 155);
    CHECK(cudaStreamDestroy(first));
    CHECK(cudaStreamDestroy(second));
    CHECK(cudaEventDestroy(event));
    CHECK(cudaEventDestroy(end));
    CHECK(cudaFreeHost(host));
    CHECK(cudaFree(x));
    EXPECT(cudaFree(x) == cudaErrorInvalidValue);
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    puts("well");
}
