/* The C++ forms of the runtime's functions: pointers of any type, kernels and variables by name. */
#pragma once

// --- memory

template <class T> inline cudaError_t cudaMalloc(T **p, size_t bytes)
{
    return ::cudaMalloc((void **)(void *)p, bytes);
}
template <class T> inline cudaError_t cudaMallocHost(T **p, size_t bytes, unsigned flags = 0)
{
    return ::cudaHostAlloc((void **)(void *)p, bytes, flags);
}
inline cudaError_t cudaMallocHost(void **p, size_t bytes, unsigned flags)
{
    return ::cudaHostAlloc(p, bytes, flags);
}
template <class T> inline cudaError_t cudaHostAlloc(T **p, size_t bytes, unsigned flags)
{
    return ::cudaHostAlloc((void **)(void *)p, bytes, flags);
}
template <class T> inline cudaError_t cudaHostGetDevicePointer(T **p, void *host, unsigned flags)
{
    return ::cudaHostGetDevicePointer((void **)(void *)p, host, flags);
}
template <class T>
inline cudaError_t cudaMallocManaged(T **p, size_t bytes, unsigned flags = cudaMemAttachGlobal)
{
    return ::cudaMallocManaged((void **)(void *)p, bytes, flags);
}
template <class T>
inline cudaError_t cudaMallocPitch(T **p, size_t *pitch, size_t width, size_t height)
{
    return ::cudaMallocPitch((void **)(void *)p, pitch, width, height);
}
template <class T> inline cudaError_t cudaMallocAsync(T **p, size_t bytes, cudaStream_t stream)
{
    return ::cudaMallocAsync((void **)(void *)p, bytes, stream);
}
inline cudaError_t cudaMallocAsync(void **p, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
    return ::cudaMallocFromPoolAsync(p, bytes, pool, stream);
}
template <class T>
inline cudaError_t cudaMallocAsync(T **p, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
    return ::cudaMallocFromPoolAsync((void **)(void *)p, bytes, pool, stream);
}
template <class T>
inline cudaError_t cudaMallocFromPoolAsync(T **p, size_t bytes, cudaMemPool_t pool,
                                           cudaStream_t stream)
{
    return ::cudaMallocFromPoolAsync((void **)(void *)p, bytes, pool, stream);
}
template <class T>
inline cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, T *p, size_t bytes = 0,
                                            unsigned flags = cudaMemAttachSingle)
{
    return ::cudaStreamAttachMemAsync(stream, (void *)p, bytes, flags);
}

template <class T, class S>
inline cudaError_t cudaMemcpyBatchAsync(T **to, S **from, size_t *bytes, size_t count,
                                        cudaMemcpyAttributes *given, size_t *places, size_t kinds,
                                        cudaStream_t stream)
{
    return ::cudaMemcpyBatchAsync((void **)(void *)to, (void **)(void *)from, bytes, count, given,
                                  places, kinds, stream);
}
template <class T, class S>
inline cudaError_t cudaMemcpyBatchAsync(T **to, S **from, size_t *bytes, size_t count,
                                        cudaMemcpyAttributes given, cudaStream_t stream)
{
    size_t place = 0;
    return ::cudaMemcpyBatchAsync((void **)(void *)to, (void **)(void *)from, bytes, count, &given,
                                  &place, 1, stream);
}

// --- variables

template <class T>
inline cudaError_t cudaMemcpyToSymbol(const T &to, const void *from, size_t bytes,
                                      size_t offset = 0,
                                      cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
    return ::cudaMemcpyToSymbol((const void *)&to, from, bytes, offset, kind);
}
template <class T>
inline cudaError_t cudaMemcpyFromSymbol(void *to, const T &from, size_t bytes, size_t offset = 0,
                                        cudaMemcpyKind kind = cudaMemcpyDeviceToHost)
{
    return ::cudaMemcpyFromSymbol(to, (const void *)&from, bytes, offset, kind);
}
template <class T>
inline cudaError_t cudaMemcpyToSymbolAsync(const T &to, const void *from, size_t bytes,
                                           size_t offset = 0,
                                           cudaMemcpyKind kind = cudaMemcpyHostToDevice,
                                           cudaStream_t stream = 0)
{
    return ::cudaMemcpyToSymbolAsync((const void *)&to, from, bytes, offset, kind, stream);
}
template <class T>
inline cudaError_t cudaMemcpyFromSymbolAsync(void *to, const T &from, size_t bytes,
                                             size_t offset = 0,
                                             cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
                                             cudaStream_t stream = 0)
{
    return ::cudaMemcpyFromSymbolAsync(to, (const void *)&from, bytes, offset, kind, stream);
}
template <class T> inline cudaError_t cudaGetSymbolAddress(void **p, const T &symbol)
{
    return ::cudaGetSymbolAddress(p, (const void *)&symbol);
}
template <class P, class T> inline cudaError_t cudaGetSymbolAddress(P **p, const T &symbol)
{
    return ::cudaGetSymbolAddress((void **)(void *)p, (const void *)&symbol);
}
template <class T> inline cudaError_t cudaGetSymbolSize(size_t *bytes, const T &symbol)
{
    return ::cudaGetSymbolSize(bytes, (const void *)&symbol);
}
template <class T>
inline cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *made, cudaGraph_t graph,
                                                  const cudaGraphNode_t *after, size_t count,
                                                  const T &to, const void *from, size_t bytes,
                                                  size_t offset, cudaMemcpyKind kind)
{
    return ::cudaGraphAddMemcpyNodeToSymbol(made, graph, after, count, (const void *)&to, from,
                                            bytes, offset, kind);
}
template <class T>
inline cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *made, cudaGraph_t graph,
                                                    const cudaGraphNode_t *after, size_t count,
                                                    void *to, const T &from, size_t bytes,
                                                    size_t offset, cudaMemcpyKind kind)
{
    return ::cudaGraphAddMemcpyNodeFromSymbol(made, graph, after, count, to, (const void *)&from,
                                              bytes, offset, kind);
}

template <class T>
inline cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const T &to,
                                                        const void *from, size_t bytes,
                                                        size_t offset, cudaMemcpyKind kind)
{
    return ::cudaGraphMemcpyNodeSetParamsToSymbol(node, (const void *)&to, from, bytes, offset,
                                                  kind);
}
template <class T>
inline cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *to,
                                                          const T &from, size_t bytes,
                                                          size_t offset, cudaMemcpyKind kind)
{
    return ::cudaGraphMemcpyNodeSetParamsFromSymbol(node, to, (const void *)&from, bytes, offset,
                                                    kind);
}
template <class T>
inline cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t changed,
                                                            cudaGraphNode_t node, const T &to,
                                                            const void *from, size_t bytes,
                                                            size_t offset, cudaMemcpyKind kind)
{
    return ::cudaGraphExecMemcpyNodeSetParamsToSymbol(changed, node, (const void *)&to, from, bytes,
                                                      offset, kind);
}
template <class T>
inline cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t changed,
                                                              cudaGraphNode_t node, void *to,
                                                              const T &from, size_t bytes,
                                                              size_t offset, cudaMemcpyKind kind)
{
    return ::cudaGraphExecMemcpyNodeSetParamsFromSymbol(changed, node, to, (const void *)&from,
                                                        bytes, offset, kind);
}

// --- kernels

template <class F>
inline cudaError_t cudaLaunchKernel(F *kernel, dim3 grid, dim3 block, void **arguments,
                                    size_t shared = 0, cudaStream_t stream = 0)
{
    return ::cudaLaunchKernel((const void *)kernel, grid, block, arguments, shared, stream);
}
template <class F>
inline cudaError_t cudaLaunchCooperativeKernel(F *kernel, dim3 grid, dim3 block, void **arguments,
                                               size_t shared = 0, cudaStream_t stream = 0)
{
    return ::cudaLaunchCooperativeKernel((const void *)kernel, grid, block, arguments, shared,
                                         stream);
}
template <class... P, class... A>
inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(P...),
                                      A &&...given)
{
    static_assert(sizeof...(P) == sizeof...(A), "a launch gives each parameter its argument");
    return [&](P... values) {
        void *arguments[] = { (void *)&values..., nullptr };
        return ::cudaLaunchKernelExC(config, (const void *)kernel, arguments);
    }(static_cast<A &&>(given)...);
}
template <class... A>
inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, cudaKernel_t kernel,
                                      A &&...given)
{
    void *arguments[] = { (void *)&given..., nullptr };
    return ::cudaLaunchKernelExC(config, (const void *)kernel, arguments);
}
template <class F> inline cudaError_t cudaFuncSetSharedMemConfig(F *kernel, cudaSharedMemConfig size)
{
    return ::cudaFuncSetSharedMemConfig((const void *)kernel, size);
}
template <class F> inline cudaError_t cudaFuncSetCacheConfig(F *kernel, cudaFuncCache config)
{
    return ::cudaFuncSetCacheConfig((const void *)kernel, config);
}
template <class F>
inline cudaError_t cudaFuncSetAttribute(F *kernel, cudaFuncAttribute attribute, int value)
{
    return ::cudaFuncSetAttribute((const void *)kernel, attribute, value);
}
template <class F>
inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *made, F *kernel)
{
    return ::cudaFuncGetAttributes(made, (const void *)kernel);
}
template <class F> inline cudaError_t cudaFuncGetName(const char **name, F *kernel)
{
    return ::cudaFuncGetName(name, (const void *)kernel);
}
template <class F> inline cudaError_t cudaGetKernel(cudaKernel_t *made, F *kernel)
{
    return ::cudaGetKernel(made, (const void *)kernel);
}
template <class F>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, F kernel, int threads,
                                                                 size_t shared)
{
    return ::cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, (const void *)kernel, threads,
                                                           shared);
}
template <class F>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, F kernel,
                                                                          int threads,
                                                                          size_t shared,
                                                                          unsigned flags)
{
    return ::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, (const void *)kernel,
                                                                    threads, shared, flags);
}
template <class F>
inline cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, F kernel, int blocks,
                                                             int threads)
{
    return ::cudaOccupancyAvailableDynamicSMemPerBlock(bytes, (const void *)kernel, blocks,
                                                       threads);
}

template <class F>
inline cudaError_t cudaOccupancyMaxPotentialClusterSize(int *size, F *kernel,
                                                        const cudaLaunchConfig_t *config)
{
    return ::cudaOccupancyMaxPotentialClusterSize(size, (const void *)kernel, config);
}
template <class F>
inline cudaError_t cudaOccupancyMaxActiveClusters(int *count, F *kernel,
                                                  const cudaLaunchConfig_t *config)
{
    return ::cudaOccupancyMaxActiveClusters(count, (const void *)kernel, config);
}

// The block with the most threads that fill a multiprocessor; of those, the largest.
template <class S, class F>
inline cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(int *grid, int *block,
                                                                           F kernel, S shared_of,
                                                                           int limit = 0,
                                                                           unsigned flags = 0)
{
    int device = 0, processors = 0, most = 0, warp = 32;
    cudaFuncAttributes facts;
    cudaError_t error = ::cudaGetDevice(&device);
    if (!error)
        error = ::cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    if (!error)
        error = ::cudaDeviceGetAttribute(&most, cudaDevAttrMaxThreadsPerBlock, device);
    if (!error)
        error = ::cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, device);
    if (!error)
        error = ::cudaFuncGetAttributes(&facts, (const void *)kernel);
    if (error)
        return error;
    most = facts.maxThreadsPerBlock < most ? facts.maxThreadsPerBlock : most;
    most = limit && limit < most ? limit : most;
    int best = 0, chosen = 0, resident = 0;
    for (int threads = (most + warp - 1) / warp * warp; threads > 0; threads -= warp) {
        int tried = threads < most ? threads : most, blocks = 0;
        error = ::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
            &blocks, (const void *)kernel, tried, shared_of(tried), flags);
        if (error)
            return error;
        if (blocks * tried > best)
            best = blocks * tried, chosen = tried, resident = blocks;
    }
    *grid = resident * processors;
    *block = chosen;
    return cudaSuccess;
}
template <class S, class F>
inline cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int *grid, int *block, F kernel,
                                                                  S shared_of, int limit = 0)
{
    return cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(grid, block, kernel, shared_of,
                                                                   limit, 0u);
}
template <class F>
inline cudaError_t cudaOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, F kernel,
                                                               size_t shared = 0, int limit = 0,
                                                               unsigned flags = 0)
{
    return cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(
        grid, block, kernel, [shared](int) { return shared; }, limit, flags);
}
template <class F>
inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int *grid, int *block, F kernel,
                                                      size_t shared = 0, int limit = 0)
{
    return cudaOccupancyMaxPotentialBlockSizeWithFlags(grid, block, kernel, shared, limit, 0u);
}

// --- events, graphs and textures

inline cudaError_t cudaEventCreate(cudaEvent_t *made, unsigned flags)
{
    return ::cudaEventCreateWithFlags(made, flags);
}
template <class T>
inline cudaError_t cudaUserObjectCreate(cudaUserObject_t *made, T *object, unsigned count,
                                        unsigned flags)
{
    return ::cudaUserObjectCreate(made, object, [](void *held) { delete (T *)held; }, count, flags);
}
template <class T>
inline cudaError_t cudaUserObjectCreate(cudaUserObject_t *made, T *object, unsigned count,
                                        cudaUserObjectFlags flags)
{
    return cudaUserObjectCreate(made, object, count, (unsigned)flags);
}
template <class T>
inline cudaError_t cudaLibraryGetGlobal(T **p, size_t *bytes, cudaLibrary_t library,
                                        const char *name)
{
    return ::cudaLibraryGetGlobal((void **)(void *)p, bytes, library, name);
}
template <class T>
inline cudaError_t cudaLibraryGetManaged(T **p, size_t *bytes, cudaLibrary_t library,
                                         const char *name)
{
    return ::cudaLibraryGetManaged((void **)(void *)p, bytes, library, name);
}
template <class T>
inline cudaError_t cudaLibraryGetUnifiedFunction(T **p, cudaLibrary_t library, const char *symbol)
{
    return ::cudaLibraryGetUnifiedFunction((void **)(void *)p, library, symbol);
}
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *made, cudaGraph_t graph,
                                        cudaGraphNode_t *, char *, size_t)
{
    return ::cudaGraphInstantiate(made, graph, 0ull);
}

template <class T> struct gridlane_channel;
#define GRIDLANE_CHANNEL(T, count, bits, sort)                                                 \
    template <> struct gridlane_channel<T> {                                                   \
        static constexpr cudaChannelFormatDesc made()                                               \
        {                                                                                      \
            return { bits, count > 1 ? bits : 0, count > 2 ? bits : 0, count > 3 ? bits : 0,   \
                     cudaChannelFormatKind##sort };                                            \
        }                                                                                      \
    };
#define GRIDLANE_CHANNELS(T, name, bits, sort)                                                 \
    GRIDLANE_CHANNEL(T, 1, bits, sort)                                                         \
    GRIDLANE_CHANNEL(name##1, 1, bits, sort)                                                   \
    GRIDLANE_CHANNEL(name##2, 2, bits, sort)                                                   \
    GRIDLANE_CHANNEL(name##4, 4, bits, sort)
GRIDLANE_CHANNEL(char, 1, 8, Signed)
GRIDLANE_CHANNELS(signed char, char, 8, Signed)
GRIDLANE_CHANNELS(unsigned char, uchar, 8, Unsigned)
GRIDLANE_CHANNELS(short, short, 16, Signed)
GRIDLANE_CHANNELS(unsigned short, ushort, 16, Unsigned)
GRIDLANE_CHANNELS(int, int, 32, Signed)
GRIDLANE_CHANNELS(unsigned, uint, 32, Unsigned)
GRIDLANE_CHANNELS(float, float, 32, Float)
#undef GRIDLANE_CHANNELS
#undef GRIDLANE_CHANNEL
template <class T> inline cudaChannelFormatDesc cudaCreateChannelDesc()
{
    return gridlane_channel<T>::made();
}
inline cudaChannelFormatDesc cudaCreateChannelDescHalf()
{
    return { 16, 0, 0, 0, cudaChannelFormatKindFloat };
}
inline cudaChannelFormatDesc cudaCreateChannelDescHalf1() { return cudaCreateChannelDescHalf(); }
inline cudaChannelFormatDesc cudaCreateChannelDescHalf2()
{
    return { 16, 16, 0, 0, cudaChannelFormatKindFloat };
}
inline cudaChannelFormatDesc cudaCreateChannelDescHalf4()
{
    return { 16, 16, 16, 16, cudaChannelFormatKindFloat };
}
inline cudaChannelFormatDesc cudaCreateChannelDescNV12()
{
    return { 8, 8, 8, 0, cudaChannelFormatKindNV12 };
}
