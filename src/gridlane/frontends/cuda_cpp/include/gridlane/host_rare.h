// What few programs have of the host's runtime: mipmaps, conditional nodes and other nodes of
// graphs, modules at run time, questions about handles.
#pragma once

typedef cudaMipmappedArray *cudaMipmappedArray_t;
typedef const cudaMipmappedArray *cudaMipmappedArray_const_t;
#define cudaArrayCubemap 0x04
#define cudaArrayTextureGather 0x08
#define cudaArrayColorAttachment 0x20
#define cudaArraySparse 0x40
#define cudaGraphicsRegisterFlagsSurfaceLoadStore 4
#define cudaGraphicsRegisterFlagsTextureGather 8
enum cudaGraphicsCubeFace {
    cudaGraphicsCubeFacePositiveX, cudaGraphicsCubeFaceNegativeX, cudaGraphicsCubeFacePositiveY,
    cudaGraphicsCubeFaceNegativeY, cudaGraphicsCubeFacePositiveZ, cudaGraphicsCubeFaceNegativeZ,
};

extern "C" {
cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *made, const cudaChannelFormatDesc *format,
                                     cudaExtent extent, unsigned levels, unsigned flags = 0);
cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t array);
cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *level, cudaMipmappedArray_const_t array,
                                       unsigned number);
cudaError_t cudaGraphicsResourceGetMappedMipmappedArray(cudaMipmappedArray_t *array,
                                                        cudaGraphicsResource_t resource);
cudaError_t cudaGraphicsSubResourceGetMappedArray(cudaArray_t *array,
                                                  cudaGraphicsResource_t resource, unsigned index,
                                                  unsigned level);
cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc *format, cudaExtent *extent, unsigned *flags,
                             cudaArray_t array);
cudaError_t cudaArrayGetPlane(cudaArray_t *plane, cudaArray_t array, unsigned number);
cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc *format, cudaArray_const_t array);
cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc *made, cudaTextureObject_t texture);
cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc *made, cudaTextureObject_t texture);
cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc *made, cudaSurfaceObject_t surface);
cudaError_t cudaMemcpyFromArray(void *to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
                                cudaMemcpyKind kind);
cudaError_t cudaMemcpyArrayToArray(cudaArray_t to, size_t x, size_t y, cudaArray_const_t from,
                                   size_t from_x, size_t from_y, size_t bytes,
                                   cudaMemcpyKind kind = cudaMemcpyDeviceToDevice);
cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t x, size_t y, cudaArray_const_t from,
                                     size_t from_x, size_t from_y, size_t width, size_t height,
                                     cudaMemcpyKind kind = cudaMemcpyDeviceToDevice);
cudaError_t cudaMemcpyToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from,
                                   size_t bytes, cudaMemcpyKind kind, cudaStream_t stream = nullptr);
cudaError_t cudaMemcpyFromArrayAsync(void *to, cudaArray_const_t from, size_t x, size_t y,
                                     size_t bytes, cudaMemcpyKind kind,
                                     cudaStream_t stream = nullptr);
cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from,
                                     size_t pitch, size_t width, size_t height, cudaMemcpyKind kind,
                                     cudaStream_t stream = nullptr);
cudaError_t cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, cudaArray_const_t from, size_t x,
                                       size_t y, size_t width, size_t height, cudaMemcpyKind kind,
                                       cudaStream_t stream = nullptr);
cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms *copy, cudaStream_t stream = nullptr);

cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long *number);
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *device);
cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned count = 1);
cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned count = 1);
cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object,
                                      unsigned count = 1, unsigned flags = 0);
cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object,
                                       unsigned count = 1);
cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags *flags, cudaMemPool_t pool,
                                 cudaMemLocation *location);
}
#define cudaUserObjectNoDestructorSync 1
#define cudaGraphUserObjectMove 1

// --- graphs

typedef unsigned long long cudaGraphConditionalHandle;
#define cudaGraphCondAssignDefault 1
enum cudaGraphConditionalNodeType {
    cudaGraphCondTypeIf, cudaGraphCondTypeWhile, cudaGraphCondTypeSwitch,
};
enum cudaGraphDebugDotFlags {
    cudaGraphDebugDotFlagsVerbose = 1, cudaGraphDebugDotFlagsKernelNodeParams = 4,
    cudaGraphDebugDotFlagsMemcpyNodeParams = 8, cudaGraphDebugDotFlagsMemsetNodeParams = 16,
    cudaGraphDebugDotFlagsHostNodeParams = 32, cudaGraphDebugDotFlagsEventNodeParams = 64,
    cudaGraphDebugDotFlagsKernelNodeAttributes = 512, cudaGraphDebugDotFlagsHandles = 1024,
    cudaGraphDebugDotFlagsConditionalNodeParams = 32768,
};
enum cudaGraphMemAttributeType {
    cudaGraphMemAttrUsedMemCurrent, cudaGraphMemAttrUsedMemHigh,
    cudaGraphMemAttrReservedMemCurrent, cudaGraphMemAttrReservedMemHigh,
};
enum cudaStreamUpdateCaptureDependenciesFlags {
    cudaStreamAddCaptureDependencies, cudaStreamSetCaptureDependencies,
};
struct cudaConditionalNodeParams {
    cudaGraphConditionalHandle handle;
    cudaGraphConditionalNodeType type;
    unsigned size;
    cudaGraph_t *phGraph_out;
};
struct cudaMemcpyNodeParams {
    int flags, reserved[3];
    cudaMemcpy3DParms copyParams;
};
struct cudaChildGraphNodeParams { cudaGraph_t graph; };
struct cudaEventNodeParams { cudaEvent_t event; };
struct cudaMemFreeNodeParams { void *dptr; };
typedef cudaKernelNodeParams cudaKernelNodeParamsV2;
typedef cudaMemsetParams cudaMemsetParamsV2;
typedef cudaHostNodeParams cudaHostNodeParamsV2;
typedef cudaMemAllocNodeParams cudaMemAllocNodeParamsV2;
typedef cudaEventNodeParams cudaEventRecordNodeParams;
typedef cudaEventNodeParams cudaEventWaitNodeParams;
struct cudaGraphNodeParams {
    cudaGraphNodeType type;
    int reserved0[3];
    union {
        long long reserved1[29];
        cudaKernelNodeParams kernel;
        cudaMemcpyNodeParams memcpy;
        cudaMemsetParams memset;
        cudaHostNodeParams host;
        cudaChildGraphNodeParams graph;
        cudaEventNodeParams eventWait, eventRecord;
        cudaMemAllocNodeParams alloc;
        cudaMemFreeNodeParams free;
        cudaConditionalNodeParams conditional;
    };
    long long reserved2;
};
extern "C" {
cudaError_t cudaGraphAddNode(cudaGraphNode_t *made, cudaGraph_t graph, const cudaGraphNode_t *after,
                             size_t count, cudaGraphNodeParams *parameters);
cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, cudaGraphNodeParams *parameters);
cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t graph, cudaGraphNode_t node,
                                       cudaGraphNodeParams *parameters);
cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *made, cudaGraph_t graph,
                                             unsigned value = 0, unsigned flags = 0);
cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *graph);
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes,
                                         size_t *count);
cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *nodes,
                                           size_t *count);
cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t graph, cudaGraphNode_t node, unsigned enabled);
cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t graph, cudaGraphNode_t node, unsigned *enabled);
cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *to, const void *from,
                                           size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t graph, cudaGraphNode_t node,
                                               void *to, const void *from, size_t bytes,
                                               cudaMemcpyKind kind);
cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t graph, cudaGraphNode_t node,
                                                 cudaEvent_t event);
cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t graph, cudaGraphNode_t node,
                                               cudaEvent_t event);
cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID attribute,
                                            const cudaLaunchAttributeValue *value);
cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID attribute,
                                            cudaLaunchAttributeValue *value);
cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t to, cudaGraphNode_t from);
cudaError_t cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute,
                                           void *value);
cudaError_t cudaDeviceSetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute,
                                           void *value);
cudaError_t cudaDeviceGraphMemTrim(int device);
}
template <typename T>
cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *made, cudaGraph_t graph,
                                           const cudaGraphNode_t *after, size_t count,
                                           const T &to, const void *from, size_t bytes,
                                           size_t offset, cudaMemcpyKind kind) { return cudaSuccess; }
template <typename T>
cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *made, cudaGraph_t graph,
                                             const cudaGraphNode_t *after, size_t count, void *to,
                                             const T &from, size_t bytes, size_t offset,
                                             cudaMemcpyKind kind) { return cudaSuccess; }
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus *status,
                                     unsigned long long *number = nullptr,
                                     cudaGraph_t *graph = nullptr,
                                     const cudaGraphNode_t **after = nullptr,
                                     size_t *count = nullptr);
cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *after,
                                                size_t count, unsigned flags = 0);
cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                          const cudaGraphNode_t *after, const void *edges,
                                          size_t count, cudaStreamCaptureMode mode);

// --- functions and modules at run time

struct CUlib_st;
struct CUkern_st;
typedef CUlib_st *cudaLibrary_t;
typedef CUkern_st *cudaKernel_t;
enum cudaDriverEntryPointQueryResult {
    cudaDriverEntryPointSuccess, cudaDriverEntryPointSymbolNotFound,
    cudaDriverEntryPointVersionNotSufficent,
};
#define cudaEnableDefault 0
#define cudaEnableLegacyStream 1
#define cudaEnablePerThreadDefaultStream 2
template <typename F> cudaError_t cudaFuncGetName(const char **name, F *kernel) { return cudaSuccess; }
template <typename F> cudaError_t cudaGetKernel(cudaKernel_t *made, F *kernel) { return cudaSuccess; }
template <typename F>
cudaError_t cudaFuncGetParamInfo(F *kernel, size_t number, size_t *offset, size_t *bytes) { return cudaSuccess; }
cudaError_t cudaGetDriverEntryPoint(const char *name, void **function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult *result = nullptr);
cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version,
                                             unsigned long long flags,
                                             cudaDriverEntryPointQueryResult *result = nullptr);
