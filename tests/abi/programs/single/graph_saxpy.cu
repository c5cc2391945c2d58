#include <cuda_runtime.h>
#include <stdio.h>
#include <vector>
__global__ void saxpy(int n, float a, const float *x, float *y) { for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] += a * x[i]; }
#define CHECK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { printf("%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorName(e_)); return 1; } } while (0)
int main()
{
    int n = 1000;
    std::vector<float> x(n, 2.0f), y(n, 1.0f);
    float *dx, *dy;
    cudaStream_t s;
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaMallocAsync(&dx, n * sizeof(float), s));
    CHECK(cudaMallocAsync((void **)&dy, n * sizeof(float), s));
    CHECK(cudaStreamSynchronize(s));
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    CHECK(cudaMemcpyAsync(dx, x.data(), n * sizeof(float), cudaMemcpyHostToDevice, s));
    CHECK(cudaMemsetAsync(dy, 0, n * sizeof(float), s));
    for (int i = 1; i <= 3; i++) saxpy<<<4, 64, 0, s>>>(n, (float)i, dx, dy);
    CHECK(cudaMemcpyAsync(y.data(), dy, n * sizeof(float), cudaMemcpyDeviceToHost, s));
    CHECK(cudaStreamEndCapture(s, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, NULL, NULL, 0));
    size_t nodes = 0;
    CHECK(cudaGraphGetNodes(graph, NULL, &nodes));
    for (int i = 0; i < 5; i++) CHECK(cudaGraphLaunch(exec, s));
    CHECK(cudaStreamSynchronize(s));
    int wrong = nodes != 6;
    for (float v : y) wrong += v != 12.0f;
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFreeAsync(dx, s));
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(4);
    config.blockDim = 64;
    config.stream = s;
    CHECK(cudaLaunchKernelEx(&config, saxpy, n, 1.0f, (const float *)dy, dy));
    float a = 2;
    void *arguments[] = {&n, &a, &dy, &dy};
    CHECK(cudaLaunchKernel(saxpy, dim3(2), dim3(32), arguments, 0, s));
    CHECK(cudaMemcpyAsync(y.data(), dy, n * sizeof(float), cudaMemcpyDefault, s));
    CHECK(cudaStreamSynchronize(s));
    for (float v : y) wrong += v != 72.0f;
    puts(wrong ? "FAIL" : "PASS");
    return wrong;
}
