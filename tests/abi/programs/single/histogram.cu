#include <cstdio>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime_api.h>
#define HIST_SIZE 256
typedef unsigned int uint;
__global__ void histo_kernel(unsigned char *buffer, long size, unsigned int *histo)
{
    __shared__ unsigned int temp[HIST_SIZE];
    temp[threadIdx.x] = 0;
    __syncthreads();
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    int stride = blockDim.x * gridDim.x;
    while (i < size) {
        atomicAdd(&temp[buffer[i]], 1);
        i += stride;
    }
    __syncthreads();
    atomicAdd(&(histo[threadIdx.x]), temp[threadIdx.x]);
}
int main(void)
{
    const long SIZE = 1 << 18;
    unsigned char *buffer;
    if (cudaHostAlloc((void **)&buffer, SIZE, cudaHostAllocDefault) != cudaSuccess) return 1;
    unsigned seed = 12345;
    for (long i = 0; i < SIZE; i++) buffer[i] = (seed = seed * 1664525u + 1013904223u) >> 24;
    cudaDeviceProp prop;
    cudaGetDeviceProperties(&prop, 0);
    int blocks = prop.multiProcessorCount;
    unsigned char *dev_buffer;
    unsigned int *dev_histo;
    cudaMalloc((void **)&dev_buffer, SIZE);
    cudaMemcpy(dev_buffer, buffer, SIZE, cudaMemcpyHostToDevice);
    cudaMalloc((void **)&dev_histo, HIST_SIZE * sizeof(int));
    cudaMemset(dev_histo, 0, HIST_SIZE * sizeof(int));
    histo_kernel<<<blocks * 2, HIST_SIZE>>>(dev_buffer, SIZE, dev_histo);
    uint histo[HIST_SIZE];
    cudaMemcpy(histo, dev_histo, HIST_SIZE * sizeof(int), cudaMemcpyDeviceToHost);
    for (long i = 0; i < SIZE; i++) histo[buffer[i]]--;
    int wrong = 0;
    for (int i = 0; i < HIST_SIZE; i++) wrong += histo[i] != 0;
    cudaFreeHost(buffer);
    printf("%s\n", wrong ? "FAIL" : "PASS");
    return wrong;
}
