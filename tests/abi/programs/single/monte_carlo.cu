#include <curand_kernel.h>
#include <cstdio>
#include <cmath>
#define CUDA_CALL(x) do { if ((x) != cudaSuccess) { printf("Error at %s:%d\n", __FILE__, __LINE__); return EXIT_FAILURE; } } while (0)
__global__ void setup_kernel(curandState *state, unsigned long long seed) { int id = threadIdx.x + blockIdx.x * blockDim.x; curand_init(seed, id, 0, &state[id]); }
__global__ void generate_kernel(curandState *state, int n, unsigned int *result)
{
    int id = threadIdx.x + blockIdx.x * blockDim.x;
    unsigned int count = 0;
    curandState localState = state[id];
    for (int i = 0; i < n; i++) {
        float x = curand_uniform(&localState), y = curand_uniform(&localState);
        if (x * x + y * y <= 1.0f) count++;
    }
    state[id] = localState;
    result[id] += count;
}
int main(int argc, char *argv[])
{
    const unsigned int totalThreads = 512;
    unsigned int *devResults, *hostResults = (unsigned int *)calloc(totalThreads, sizeof(int));
    curandState *devStates;
    CUDA_CALL(cudaMalloc((void **)&devResults, totalThreads * sizeof(unsigned int)));
    CUDA_CALL(cudaMemset(devResults, 0, totalThreads * sizeof(unsigned int)));
    CUDA_CALL(cudaMalloc((void **)&devStates, totalThreads * sizeof(curandState)));
    setup_kernel<<<4, 128>>>(devStates, 1234ULL);
    for (int i = 0; i < 3; i++) generate_kernel<<<4, 128>>>(devStates, 100, devResults);
    CUDA_CALL(cudaMemcpy(hostResults, devResults, totalThreads * sizeof(unsigned int), cudaMemcpyDeviceToHost));
    double inside = 0;
    for (unsigned i = 0; i < totalThreads; i++) inside += hostResults[i];
    double pi = 4 * inside / (300.0 * totalThreads);
    bool ok = fabs(pi - M_PI) < 0.02;
    printf("%s\n", ok ? "PASS" : "FAIL");
    return !ok;
}
