/* Arguments of the runtime's functions that C++ may leave out. */
#pragma once

extern "C" {
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned flags = 0);
cudaError_t cudaStreamAttachMemAsync(cudaStream_t, void *, size_t bytes = 0,
                                     unsigned flags = cudaMemAttachSingle);
cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t, cudaGraphNode_t *,
                                                const cudaGraphEdgeData *, size_t,
                                                unsigned flags = 0);
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t, cudaStreamCaptureStatus *,
                                     unsigned long long *number = 0, cudaGraph_t *graph = 0,
                                     const cudaGraphNode_t **after = 0,
                                     const cudaGraphEdgeData **edges = 0, size_t *count = 0);
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t stream = 0);
cudaError_t cudaEventRecordWithFlags(cudaEvent_t, cudaStream_t stream = 0, unsigned flags = 0);
cudaError_t cudaMallocManaged(void **, size_t, unsigned flags = cudaMemAttachGlobal);
cudaError_t cudaMallocArray(cudaArray_t *, const cudaChannelFormatDesc *, size_t,
                            size_t height = 0, unsigned flags = 0);
cudaError_t cudaMalloc3DArray(cudaArray_t *, const cudaChannelFormatDesc *, cudaExtent,
                              unsigned flags = 0);
cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *, const cudaChannelFormatDesc *,
                                     cudaExtent, unsigned levels, unsigned flags = 0);
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms *, cudaStream_t stream = 0);
cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms *, cudaStream_t stream = 0);
cudaError_t cudaMemcpyArrayToArray(cudaArray_t, size_t, size_t, cudaArray_const_t, size_t, size_t,
                                   size_t, cudaMemcpyKind kind = cudaMemcpyDeviceToDevice);
cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t, size_t, size_t, cudaArray_const_t, size_t, size_t,
                                     size_t, size_t,
                                     cudaMemcpyKind kind = cudaMemcpyDeviceToDevice);
cudaError_t cudaMemcpyToSymbol(const void *, const void *, size_t, size_t offset = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice);
cudaError_t cudaMemcpyFromSymbol(void *, const void *, size_t, size_t offset = 0,
                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost);
cudaError_t cudaMemcpyToSymbolAsync(const void *, const void *, size_t, size_t, cudaMemcpyKind,
                                    cudaStream_t stream = 0);
cudaError_t cudaMemcpyFromSymbolAsync(void *, const void *, size_t, size_t, cudaMemcpyKind,
                                      cudaStream_t stream = 0);
cudaError_t cudaMemcpyAsync(void *, const void *, size_t, cudaMemcpyKind, cudaStream_t stream = 0);
cudaError_t cudaMemcpyPeerAsync(void *, int, const void *, int, size_t, cudaStream_t stream = 0);
cudaError_t cudaMemcpy2DAsync(void *, size_t, const void *, size_t, size_t, size_t, cudaMemcpyKind,
                              cudaStream_t stream = 0);
cudaError_t cudaMemcpyToArrayAsync(cudaArray_t, size_t, size_t, const void *, size_t,
                                   cudaMemcpyKind, cudaStream_t stream = 0);
cudaError_t cudaMemcpyFromArrayAsync(void *, cudaArray_const_t, size_t, size_t, size_t,
                                     cudaMemcpyKind, cudaStream_t stream = 0);
cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t, size_t, size_t, const void *, size_t, size_t,
                                     size_t, cudaMemcpyKind, cudaStream_t stream = 0);
cudaError_t cudaMemcpy2DFromArrayAsync(void *, size_t, cudaArray_const_t, size_t, size_t, size_t,
                                       size_t, cudaMemcpyKind, cudaStream_t stream = 0);
cudaError_t cudaMemsetAsync(void *, int, size_t, cudaStream_t stream = 0);
cudaError_t cudaMemset2DAsync(void *, size_t, int, size_t, size_t, cudaStream_t stream = 0);
cudaError_t cudaMemset3DAsync(cudaPitchedPtr, int, cudaExtent, cudaStream_t stream = 0);
cudaError_t cudaMemPrefetchAsync(const void *, size_t, cudaMemLocation, unsigned,
                                 cudaStream_t stream = 0);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *, cudaGraph_t, unsigned long long flags = 0);
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *, cudaGraph_t,
                                          unsigned long long flags = 0);
cudaError_t cudaUserObjectRetain(cudaUserObject_t, unsigned count = 1);
cudaError_t cudaUserObjectRelease(cudaUserObject_t, unsigned count = 1);
cudaError_t cudaGraphRetainUserObject(cudaGraph_t, cudaUserObject_t, unsigned count = 1,
                                      unsigned flags = 0);
cudaError_t cudaGraphReleaseUserObject(cudaGraph_t, cudaUserObject_t, unsigned count = 1);
cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *, cudaGraph_t,
                                             unsigned value = 0, unsigned flags = 0);
cudaError_t cudaLaunchKernel(const void *, dim3, dim3, void **, size_t shared, cudaStream_t);
}
