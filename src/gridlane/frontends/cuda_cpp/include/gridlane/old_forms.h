/* The runtime's functions in the forms of CUDA 12, where CUDA 13 has others of the names: for C++. */
#pragma once

// A device by its number; below 0 the host.
inline cudaMemLocation gridlane_location(int device)
{
    cudaMemLocation made = {};
    made.type = device < 0 ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
    made.id = device < 0 ? 0 : device;
    return made;
}
inline cudaError_t cudaMemPrefetchAsync(const void *p, size_t bytes, int device,
                                        cudaStream_t stream = 0)
{
    return ::cudaMemPrefetchAsync(p, bytes, gridlane_location(device), 0, stream);
}
inline cudaError_t cudaMemAdvise(const void *p, size_t bytes, cudaMemoryAdvise advice, int device)
{
    return ::cudaMemAdvise(p, bytes, advice, gridlane_location(device));
}
inline cudaError_t cudaGraphExecUpdate(cudaGraphExec_t changed, cudaGraph_t graph,
                                       cudaGraphNode_t *node, cudaGraphExecUpdateResult *result)
{
    cudaGraphExecUpdateResultInfo made = {};
    cudaError_t error = ::cudaGraphExecUpdate(changed, graph, &made);
    if (node)
        *node = made.errorNode;
    if (result)
        *result = made.result;
    return error;
}
inline cudaError_t cudaMemcpyBatchAsync(void **to, void **from, size_t *bytes, size_t count,
                                        cudaMemcpyAttributes *given, size_t *places, size_t kinds,
                                        size_t *failed, cudaStream_t stream)
{
    if (failed)
        *failed = SIZE_MAX;
    return ::cudaMemcpyBatchAsync(to, from, bytes, count, given, places, kinds, stream);
}

// Refused: a grid over several devices.
struct cudaLaunchParams {
    void *func;
    dim3 gridDim, blockDim;
    void **args;
    size_t sharedMem;
    cudaStream_t stream;
};
inline cudaError_t cudaLaunchCooperativeKernelMultiDevice(cudaLaunchParams *, unsigned, unsigned = 0)
{
    return cudaErrorNotSupported;
}
