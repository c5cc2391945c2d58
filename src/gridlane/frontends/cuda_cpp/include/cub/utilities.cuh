// Buffers, iterators, and loads with a cache hint.
#pragma once
#include <chrono>  // programs count on it
#include <iterator>
#include <limits>
#include <type_traits>
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

// Memory of the device, which the runtime keeps for reuse itself.
struct CachingDeviceAllocator {
    template <typename... A_> explicit CachingDeviceAllocator(A_...) {}
    template <typename T> cudaError_t DeviceAllocate(T **p, size_t bytes, cudaStream_t = nullptr)
    {
        return cudaMalloc((void **)p, bytes);
    }
    cudaError_t DeviceFree(void *p) { return cudaFree(p); }
    cudaError_t DeviceAllocate(int device, void **p, size_t bytes, cudaStream_t = nullptr)
    {
        int before = 0;
        cudaGetDevice(&before);
        cudaError_t error = cudaSetDevice(device);
        if (!error)
            error = cudaMalloc(p, bytes);
        cudaSetDevice(before);
        return error;
    }
    cudaError_t DeviceFree(int, void *p) { return cudaFree(p); }
    cudaError_t FreeAllCached() { return cudaSuccess; }
};

// What is known of a type: its bits as an unsigned number, whose order is that of the values.
enum Category { NOT_A_NUMBER, SIGNED_INTEGER, UNSIGNED_INTEGER, FLOATING_POINT };
template <int bytes> struct gridlane_bits { typedef unsigned long long Type; };
template <> struct gridlane_bits<1> { typedef unsigned char Type; };
template <> struct gridlane_bits<2> { typedef unsigned short Type; };
template <> struct gridlane_bits<4> { typedef unsigned Type; };
template <typename T, bool is_number = std::is_arithmetic<T>::value> struct Traits {
    static constexpr Category CATEGORY = NOT_A_NUMBER;
    static constexpr bool PRIMITIVE = false, NULL_TYPE = false;
};
template <typename T> struct Traits<T, true> {
    typedef typename gridlane_bits<sizeof(T)>::Type UnsignedBits;
    static constexpr Category CATEGORY = std::is_floating_point<T>::value ? FLOATING_POINT
                                         : std::is_signed<T>::value       ? SIGNED_INTEGER
                                                                          : UNSIGNED_INTEGER;
    static constexpr bool PRIMITIVE = true, NULL_TYPE = false;
    static constexpr UnsignedBits HIGH_BIT = (UnsignedBits)((UnsignedBits)1 << (8 * sizeof(T) - 1));
    static constexpr UnsignedBits LOWEST_KEY =
        CATEGORY == FLOATING_POINT ? (UnsignedBits)-1 : CATEGORY == SIGNED_INTEGER ? HIGH_BIT : 0;
    static constexpr UnsignedBits MAX_KEY =
        CATEGORY == UNSIGNED_INTEGER ? (UnsignedBits)-1 : (UnsignedBits)(HIGH_BIT ^ (UnsignedBits)-1);
    static __host__ __device__ UnsignedBits TwiddleIn(UnsignedBits key)
    {
        if (CATEGORY == FLOATING_POINT)
            return key ^ (key & HIGH_BIT ? (UnsignedBits)-1 : HIGH_BIT);
        return CATEGORY == SIGNED_INTEGER ? key ^ HIGH_BIT : key;
    }
    static __host__ __device__ UnsignedBits TwiddleOut(UnsignedBits key)
    {
        if (CATEGORY == FLOATING_POINT)
            return key ^ (key & HIGH_BIT ? HIGH_BIT : (UnsignedBits)-1);
        return TwiddleIn(key);
    }
    static __host__ __device__ T Max() { return std::numeric_limits<T>::max(); }
    static __host__ __device__ T Lowest() { return std::numeric_limits<T>::lowest(); }
};
template <typename T> struct NumericTraits : Traits<T> {};
template <int value> struct Int2Type { static constexpr int VALUE = value; };
template <bool which, typename A_, typename B_> struct If {
    typedef std::conditional_t<which, A_, B_> Type;
};
template <typename A_, typename B_> struct Equals {
    static constexpr int VALUE = std::is_same<A_, B_>::value, NEGATE = !VALUE;
};
template <int n> struct PowerOfTwo { static constexpr bool VALUE = (n & (n - 1)) == 0; };
template <int n> struct Log2 {
    static constexpr int VALUE = n <= 1 ? 0 : 1 + Log2<(n + 1) / 2>::VALUE;
};
template <> struct Log2<1> { static constexpr int VALUE = 0; };
template <> struct Log2<0> { static constexpr int VALUE = 0; };

// A first value that is read when the work runs.
template <typename T, typename I_ = T *> struct FutureValue {
    I_ in;
    __host__ __device__ explicit FutureValue(I_ in) : in(in) {}
    __host__ __device__ operator T() const { return *in; }
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
