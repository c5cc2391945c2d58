// Buffers, iterators, and loads with a cache hint.
#pragma once
#include <iterator>
#include "gridlane/absent.h"
#include "gridlane/cub_operations.h"

#define CubDebug(e) ((cudaError_t)(e))
#define CubDebugExit(e) ((cudaError_t)(e) ? exit(1) : (void)0)
#define CUB_PTX_WARP_THREADS 32
#define CUB_WARP_THREADS(arch) 32
#define CUB_MIN(a, b) ((b) < (a) ? (b) : (a))
#define CUB_MAX(a, b) ((a) < (b) ? (b) : (a))
#define CUB_QUOTIENT_FLOOR(a, b) ((a) / (b))
#define CUB_QUOTIENT_CEILING(a, b) (((a) + (b)-1) / (b))
#define CUB_RUNTIME_FUNCTION __host__ __device__

namespace cub {

struct CachingDeviceAllocator {
    template <typename... A_> explicit CachingDeviceAllocator(A_...) {}
    template <typename T>
    GRIDLANE_ABSENT cudaError_t DeviceAllocate(T **, size_t, cudaStream_t = nullptr)
        GRIDLANE_BODY(return cudaSuccess;)
    GRIDLANE_ABSENT cudaError_t DeviceFree(void *) GRIDLANE_BODY(return cudaSuccess;)
    GRIDLANE_ABSENT cudaError_t FreeAllCached() GRIDLANE_BODY(return cudaSuccess;)
};

template <typename T> struct DoubleBuffer {
    T *d_buffers[2];
    int selector;
    __host__ __device__ DoubleBuffer() : d_buffers{nullptr, nullptr}, selector(0) {}
    __host__ __device__ DoubleBuffer(T *current, T *other) : d_buffers{current, other}, selector(0) {}
    __host__ __device__ T *Current() { return d_buffers[selector]; }
    __host__ __device__ T *Alternate() { return d_buffers[selector ^ 1]; }
};

enum CacheLoadModifier {
    LOAD_DEFAULT, LOAD_CA, LOAD_CG, LOAD_CS, LOAD_CV, LOAD_LDG, LOAD_VOLATILE,
};
enum CacheStoreModifier {
    STORE_DEFAULT, STORE_WB, STORE_CG, STORE_CS, STORE_WT, STORE_VOLATILE,
};
template <CacheLoadModifier M_, typename T> __device__ inline T ThreadLoad(const T *p)
{
    if constexpr (M_ == LOAD_CV || M_ == LOAD_VOLATILE)
        return *(const volatile T *)p;
    else
        return *p;
}
template <CacheStoreModifier M_, typename T> __device__ inline void ThreadStore(T *p, T v)
{
    if constexpr (M_ == STORE_VOLATILE)
        *(volatile T *)p = v;
    else
        *p = v;
}
__device__ inline unsigned LaneId() { return __nvvm_read_ptx_sreg_laneid(); }
__device__ inline unsigned WarpId() { return (unsigned)gridlane::rank() / 32; }
template <typename T> __device__ inline T ShuffleIndex(T v, int lane, int last, unsigned mask)
{
    return gridlane::at(mask, v, lane, last + 1);
}
__device__ inline int RowMajorTid(int, int, int) { return gridlane::rank(); }

// Elements that are computed where they are read.
#define GRIDLANE_ITERATOR(name, Value, at)                                                     \
    using value_type = Value;                                                                  \
    using reference = Value;                                                                   \
    using pointer = Value *;                                                                   \
    using difference_type = ptrdiff_t;                                                         \
    using iterator_category = std::random_access_iterator_tag;                                 \
    __host__ __device__ Value operator[](difference_type n) const { return at; }               \
    __host__ __device__ Value operator*() const { return (*this)[0]; }                         \
    __host__ __device__ name &operator++() { return *this += 1; }                              \
    __host__ __device__ name operator+(difference_type n) const                                \
    {                                                                                          \
        name made = *this;                                                                     \
        return made += n;                                                                      \
    }
template <typename T, typename Offset = ptrdiff_t> class CountingInputIterator {
    T first;

public:
    __host__ __device__ explicit CountingInputIterator(T first) : first(first) {}
    __host__ __device__ CountingInputIterator &operator+=(ptrdiff_t n)
    {
        first = (T)(first + n);
        return *this;
    }
    GRIDLANE_ITERATOR(CountingInputIterator, T, (T)(first + n))
};
template <typename T, typename Offset = ptrdiff_t> class ConstantInputIterator {
    T value;

public:
    __host__ __device__ explicit ConstantInputIterator(T value, Offset = 0) : value(value) {}
    __host__ __device__ ConstantInputIterator &operator+=(ptrdiff_t) { return *this; }
    GRIDLANE_ITERATOR(ConstantInputIterator, T, ((void)n, value))
};
template <typename T, typename F_, typename I_, typename Offset = ptrdiff_t>
class TransformInputIterator {
    I_ in;
    F_ op;

public:
    __host__ __device__ TransformInputIterator(I_ in, F_ op) : in(in), op(op) {}
    __host__ __device__ TransformInputIterator &operator+=(ptrdiff_t n)
    {
        in = in + n;
        return *this;
    }
    GRIDLANE_ITERATOR(TransformInputIterator, T, op(in[n]))
};
template <CacheLoadModifier M_, typename T, typename Offset = ptrdiff_t>
class CacheModifiedInputIterator {
    const T *in;

public:
    __host__ __device__ CacheModifiedInputIterator(const T *in) : in(in) {}
    __host__ __device__ CacheModifiedInputIterator &operator+=(ptrdiff_t n)
    {
        in += n;
        return *this;
    }
    GRIDLANE_ITERATOR(CacheModifiedInputIterator, T, in[n])
};
#undef GRIDLANE_ITERATOR

}  // namespace cub
