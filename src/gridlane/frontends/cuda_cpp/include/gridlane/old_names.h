/* What CUDA 12 has, and CUDA 13 has no more: for C and C++. */
#pragma once

#define CUDAAPI
#define CUDA_CB
#ifndef CUDARTAPI
#define CUDARTAPI
#define CUDART_CB
#endif

static inline cudaError_t cudaThreadSynchronize(void) { return cudaDeviceSynchronize(); }
static inline cudaError_t cudaThreadExit(void) { return cudaDeviceReset(); }
static inline cudaError_t cudaThreadSetLimit(enum cudaLimit limit, size_t value)
{
    return cudaDeviceSetLimit(limit, value);
}
static inline cudaError_t cudaThreadGetLimit(size_t *value, enum cudaLimit limit)
{
    return cudaDeviceGetLimit(value, limit);
}
static inline cudaError_t cudaThreadGetCacheConfig(enum cudaFuncCache *config)
{
    return cudaDeviceGetCacheConfig(config);
}
static inline cudaError_t cudaThreadSetCacheConfig(enum cudaFuncCache config)
{
    return cudaDeviceSetCacheConfig(config);
}
static inline cudaError_t cudaSetDoubleForDevice(double *number) /* each device has float64 */
{
    (void)number;
    return cudaSuccess;
}
static inline cudaError_t cudaSetDoubleForHost(double *number)
{
    (void)number;
    return cudaSuccess;
}

#define cudaEventElapsedTime_v2 cudaEventElapsedTime
#define cudaGetDeviceProperties_v2 cudaGetDeviceProperties
#define cudaGraphAddDependencies_v2 cudaGraphAddDependencies
#define cudaGraphAddNode_v2 cudaGraphAddNode
#define cudaGraphGetEdges_v2 cudaGraphGetEdges
#define cudaGraphNodeGetDependencies_v2 cudaGraphNodeGetDependencies
#define cudaGraphNodeGetDependentNodes_v2 cudaGraphNodeGetDependentNodes
#define cudaGraphRemoveDependencies_v2 cudaGraphRemoveDependencies
#define cudaMemAdvise_v2 cudaMemAdvise
#define cudaMemPrefetchAsync_v2 cudaMemPrefetchAsync
#define cudaStreamGetCaptureInfo_v2 cudaStreamGetCaptureInfo
#define cudaStreamGetCaptureInfo_v3 cudaStreamGetCaptureInfo
#define cudaStreamUpdateCaptureDependencies_v2 cudaStreamUpdateCaptureDependencies
