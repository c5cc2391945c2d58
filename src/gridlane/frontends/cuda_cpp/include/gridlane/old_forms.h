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
inline cudaError_t cudaGraphAddNode(cudaGraphNode_t *made, cudaGraph_t graph,
                                    const cudaGraphNode_t *after, size_t count,
                                    cudaGraphNodeParams *given)
{
    return ::cudaGraphAddNode(made, graph, after, nullptr, count, given);
}
inline cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                            const cudaGraphNode_t *to, size_t count)
{
    return ::cudaGraphAddDependencies(graph, from, to, nullptr, count);
}
inline cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                               const cudaGraphNode_t *to, size_t count)
{
    return ::cudaGraphRemoveDependencies(graph, from, to, nullptr, count);
}
inline cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                                     size_t *count)
{
    return ::cudaGraphGetEdges(graph, from, to, nullptr, count);
}
inline cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *found,
                                                size_t *count)
{
    return ::cudaGraphNodeGetDependencies(node, found, nullptr, count);
}
inline cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *found,
                                                  size_t *count)
{
    return ::cudaGraphNodeGetDependentNodes(node, found, nullptr, count);
}
inline cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus *status,
                                            unsigned long long *number, cudaGraph_t *graph,
                                            const cudaGraphNode_t **after, size_t *count)
{
    return ::cudaStreamGetCaptureInfo(stream, status, number, graph, after, nullptr, count);
}
inline cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *after,
                                                       size_t count, unsigned flags = 0)
{
    return ::cudaStreamUpdateCaptureDependencies(stream, after, nullptr, count, flags);
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
