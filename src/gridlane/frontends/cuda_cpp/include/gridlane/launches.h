// The runtime in kernels (dynamic parallelism), in relocatable code as nvcc wants it.
// CUDA C++ Programming Guide, "CUDA Dynamic Parallelism", "API Reference".
#pragma once

extern "C" {
// What <<<>>> in a kernel calls.
__device__ void *cudaGetParameterBuffer(size_t alignment, size_t bytes);
__device__ cudaError_t cudaLaunchDevice(void *kernel, void *parameters, dim3 grid, dim3 block,
                                        unsigned shared, cudaStream_t stream);

__device__ cudaError_t cudaGetLastError();
__device__ cudaError_t cudaPeekAtLastError();
__device__ const char *cudaGetErrorString(cudaError_t error);
__device__ const char *cudaGetErrorName(cudaError_t error);
__device__ cudaError_t cudaStreamCreateWithFlags(cudaStream_t *made, unsigned flags);
__device__ cudaError_t cudaStreamDestroy(cudaStream_t stream);
__device__ cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                           unsigned flags);
__device__ cudaError_t cudaEventCreateWithFlags(cudaEvent_t *made, unsigned flags);
__device__ cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
__device__ cudaError_t cudaEventDestroy(cudaEvent_t event);
__device__ cudaError_t cudaMalloc(void **p, size_t bytes);
__device__ cudaError_t cudaFree(void *p);
__device__ cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                                       cudaMemcpyKind kind, cudaStream_t stream);
__device__ cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t stream);
}
#define cudaStreamTailLaunch ((cudaStream_t)3)
#define cudaStreamFireAndForget ((cudaStream_t)4)
