/* The C++ forms of the runtime's functions that are more than a call with other types. */
#pragma once

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
