/* The driver's functions in the forms of CUDA 12, where CUDA 13 has others of the names: for C++. */
#pragma once

#ifdef __cplusplus
inline CUresult cuCtxCreate_v4(CUcontext *made, unsigned flags, CUdevice device)
{
    return cuCtxCreate_v2(made, flags, device);
}
inline CUresult cuGraphAddNode_v2(CUgraphNode *made, CUgraph graph, const CUgraphNode *after,
                                  size_t count, CUgraphNodeParams *given)
{
    return cuGraphAddNode(made, graph, after, count, given);
}
inline CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from,
                                          const CUgraphNode *to, size_t count)
{
    return cuGraphAddDependencies(graph, from, to, count);
}
inline CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode *from,
                                             const CUgraphNode *to, size_t count)
{
    return cuGraphRemoveDependencies(graph, from, to, count);
}
inline CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count)
{
    return cuGraphGetEdges(graph, from, to, count);
}
inline CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *found, size_t *count)
{
    return cuGraphNodeGetDependencies(node, found, count);
}
inline CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *found, size_t *count)
{
    return cuGraphNodeGetDependentNodes(node, found, count);
}
inline CUresult cuMemAdvise_v2(CUdeviceptr p, size_t bytes, CUmem_advise advice, CUdevice device)
{
    return cuMemAdvise(p, bytes, advice, device);
}
inline CUresult cuMemPrefetchAsync_v2(CUdeviceptr p, size_t bytes, CUdevice device, CUstream stream)
{
    return cuMemPrefetchAsync(p, bytes, device, stream);
}
inline CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *status,
                                          cuuint64_t *number = 0, CUgraph *graph = 0,
                                          const CUgraphNode **after = 0, size_t *count = 0)
{
    return cuStreamGetCaptureInfo_v2(stream, status, number, graph, after, count);
}
inline CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode *after,
                                                     size_t count, unsigned flags)
{
    return cuStreamUpdateCaptureDependencies(stream, after, count, flags);
}
#endif
