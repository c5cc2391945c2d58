// Algorithms of a whole device for whole programs, by the parts of thrust's. Each waits for its stream,
// works in the default stream and is done when it returns; it takes its temporary memory itself.
#pragma once
#ifdef GRIDLANE_PROGRAM
#include <limits>
#include <system_error>
#include "cub/utilities.cuh"
#include "thrust/gridlane_algorithms.h"

namespace cub {
namespace gridlane {
using System = thrust::gridlane::on_device;
template <typename I_> using value_of = thrust::gridlane::value_of<I_>;
// The type of a sum of numbers of two types, in which cub adds them: small integers are promoted. Other
// values are of the first type.
template <typename A_, typename B_, bool = std::is_arithmetic<A_>::value && std::is_arithmetic<B_>::value>
struct sum_of {
    using type = A_;
};
template <typename A_, typename B_> struct sum_of<A_, B_, true> {
    using type = decltype(A_() + B_());
};
template <typename A_, typename B_ = A_> using sum_type = typename sum_of<A_, B_>::type;
template <typename T> struct as {
    template <typename V_> __host__ __device__ T operator()(const V_ &value) const { return (T)value; }
};

// What the first of two calls returns, or the second one's work in the order of a stream.
template <typename F_> cudaError_t in_order(void *memory, size_t &bytes, cudaStream_t stream, F_ f)
{
    if (!memory) {
        bytes = 1;
        return cudaSuccess;
    }
    cudaError_t error = cudaStreamSynchronize(stream);
    if (error)
        return error;
    try {
        f();
    } catch (const std::system_error &failed) {
        return (cudaError_t)failed.code().value();
    }
    return cudaSuccess;
}
template <typename O_, typename T> void put(O_ out, T value)
{
    System::each(1, [=] __device__(size_t) { out[0] = value; });
}
// Keys in the order of a radix sort: by some of the bits of their ordered form.
template <typename K_, bool falls> struct by_bits {
    int begin, end;
    __device__ unsigned long long of(K_ key) const
    {
        using Bits = typename Traits<K_>::UnsignedBits;
        Bits bits;
        if (key == K_())
            key = K_();  // -0 is 0
        memcpy(&bits, &key, sizeof bits);
        unsigned long long all = (unsigned long long)Traits<K_>::TwiddleIn(bits) >> begin;
        return end - begin >= 64 ? all : all & (1ull << (end - begin)) - 1;
    }
    __device__ bool operator()(K_ a, K_ b) const { return falls ? of(b) < of(a) : of(a) < of(b); }
};
template <bool falls, typename K_, typename V_>
void sort(const K_ *in, K_ *out, const V_ *values, V_ *sorted, size_t n, int begin, int end)
{
    if (n)
        thrust::gridlane::must(cudaMemcpy(out, in, n * sizeof(K_), cudaMemcpyDeviceToDevice));
    if (n && values)
        thrust::gridlane::must(cudaMemcpy(sorted, values, n * sizeof(V_), cudaMemcpyDeviceToDevice));
    thrust::gridlane::sort<System>(thrust::device_ptr<K_>(out), n, thrust::device_ptr<V_>(sorted),
                                   values != nullptr, by_bits<K_, falls>{begin, end});
}
// The elements that a test keeps, in front; with `rest`, the others behind them, the last one first.
template <typename I_, typename O_, typename N_, typename F_>
void keep(I_ in, O_ out, N_ count, size_t n, bool rest, F_ test)
{
    System::each(1, [=] __device__(size_t) {
        size_t to = 0, last = n;
        for (size_t i = 0; i < n; i++) {
            value_of<I_> value = in[i];
            if (test(i, value))
                out[to++] = value;
            else if (rest)
                out[--last] = value;
        }
        count[0] = to;
    });
}
template <typename I_, typename O_, typename F_> void best(I_ in, O_ out, size_t n, F_ better)
{
    System::each(1, [=] __device__(size_t) {
        size_t at = 0;
        for (size_t i = 1; i < n; i++)
            at = better((value_of<I_>)in[i], (value_of<I_>)in[at]) ? i : at;
        out[0].key = at;
        out[0].value = in[at];
    });
}
}  // namespace gridlane

#define GRIDLANE_FOLD(name, first, operation)                                                     \
    template <typename I_, typename O_>                                                           \
    static cudaError_t name(void *memory, size_t &bytes, I_ in, O_ out, long long n, cudaStream_t stream = 0) \
    {                                                                                             \
        using T = gridlane::value_of<I_>;                                                         \
        return Reduce(memory, bytes, in, out, n, operation(), first, stream);                     \
    }
struct DeviceReduce {
    template <typename I_, typename O_, typename F_, typename T>
    static cudaError_t Reduce(void *memory, size_t &bytes, I_ in, O_ out, long long n, F_ f, T first,
                              cudaStream_t stream = 0)
    {
        using Sum = gridlane::sum_type<T, gridlane::value_of<I_>>;
        return gridlane::in_order(memory, bytes, stream, [&] {
            gridlane::put(out, thrust::gridlane::fold<gridlane::System>(in, n, (Sum)first, f));
        });
    }
    template <typename I_, typename O_>
    static cudaError_t Sum(void *memory, size_t &bytes, I_ in, O_ out, long long n, cudaStream_t stream = 0)
    {
        return Reduce(memory, bytes, in, out, n, cub::Sum(), gridlane::value_of<O_>(), stream);
    }
    GRIDLANE_FOLD(Min, std::numeric_limits<T>::max(), cub::Min)
    GRIDLANE_FOLD(Max, std::numeric_limits<T>::lowest(), cub::Max)
    template <typename I_, typename O_>
    static cudaError_t ArgMin(void *memory, size_t &bytes, I_ in, O_ out, long long n, cudaStream_t stream = 0)
    {
        return gridlane::in_order(memory, bytes, stream, [&] { gridlane::best(in, out, n, thrust::less<>()); });
    }
    template <typename I_, typename O_>
    static cudaError_t ArgMax(void *memory, size_t &bytes, I_ in, O_ out, long long n, cudaStream_t stream = 0)
    {
        return gridlane::in_order(memory, bytes, stream, [&] { gridlane::best(in, out, n, thrust::greater<>()); });
    }
    template <typename K_, typename U_, typename V_, typename A_, typename N_, typename F_>
    static cudaError_t ReduceByKey(void *memory, size_t &bytes, K_ keys, U_ unique, V_ values, A_ sums,
                                   N_ count, F_ f, long long n, cudaStream_t stream = 0)
    {
        return gridlane::in_order(memory, bytes, stream, [&] {
            using T = gridlane::sum_type<gridlane::value_of<V_>>;
            auto added = thrust::make_transform_iterator(values, gridlane::as<T>());
            auto end = thrust::reduce_by_key(thrust::device, keys, keys + n, added, unique, sums,
                                             thrust::equal_to<>(), f);
            gridlane::put(count, end.first - unique);
        });
    }
    GRIDLANE_CALL(TransformReduce)
};
#undef GRIDLANE_FOLD

struct DeviceScan {
    template <typename I_, typename O_, typename F_, typename T>
    static cudaError_t ExclusiveScan(void *memory, size_t &bytes, I_ in, O_ out, F_ f, T first, long long n,
                                     cudaStream_t stream = 0)
    {
        using Sum = gridlane::sum_type<T, gridlane::value_of<I_>>;
        return gridlane::in_order(memory, bytes, stream, [&] {
            thrust::gridlane::scan<Sum, gridlane::System>(in, n, out, f, true, true, (Sum)first);
        });
    }
    template <typename I_, typename O_, typename F_>
    static cudaError_t InclusiveScan(void *memory, size_t &bytes, I_ in, O_ out, F_ f, long long n,
                                     cudaStream_t stream = 0)
    {
        using T = gridlane::sum_type<gridlane::value_of<I_>>;
        return gridlane::in_order(memory, bytes, stream, [&] {
            thrust::gridlane::scan<T, gridlane::System>(in, n, out, f, false, false, T());
        });
    }
    template <typename I_, typename O_>
    static cudaError_t ExclusiveSum(void *memory, size_t &bytes, I_ in, O_ out, long long n, cudaStream_t stream = 0)
    {
        return ExclusiveScan(memory, bytes, in, out, cub::Sum(), gridlane::value_of<I_>(), n, stream);
    }
    template <typename I_>
    static cudaError_t ExclusiveSum(void *memory, size_t &bytes, I_ both, long long n, cudaStream_t stream = 0)
    {
        return ExclusiveSum(memory, bytes, both, both, n, stream);
    }
    template <typename I_, typename O_>
    static cudaError_t InclusiveSum(void *memory, size_t &bytes, I_ in, O_ out, long long n, cudaStream_t stream = 0)
    {
        return InclusiveScan(memory, bytes, in, out, cub::Sum(), n, stream);
    }
    template <typename I_>
    static cudaError_t InclusiveSum(void *memory, size_t &bytes, I_ both, long long n, cudaStream_t stream = 0)
    {
        return InclusiveSum(memory, bytes, both, both, n, stream);
    }
    GRIDLANE_CALL(ExclusiveSumByKey) GRIDLANE_CALL(InclusiveSumByKey)
    GRIDLANE_CALL(ExclusiveScanByKey) GRIDLANE_CALL(InclusiveScanByKey) GRIDLANE_CALL(InclusiveScanInit)
};

#define GRIDLANE_RADIX_SORT(end, falls)                                                                 \
    template <typename K_>                                                                        \
    static cudaError_t SortKeys##end(void *memory, size_t &bytes, const K_ *in, K_ *out, long long n, \
                                     int begin = 0, int bits = 8 * sizeof(K_), cudaStream_t stream = 0) \
    {                                                                                             \
        return SortPairs##end(memory, bytes, in, out, (const char *)nullptr, (char *)nullptr, n, begin, bits, stream); \
    }                                                                                             \
    template <typename K_>                                                                        \
    static cudaError_t SortKeys##end(void *memory, size_t &bytes, DoubleBuffer<K_> &keys, long long n, \
                                     int begin = 0, int bits = 8 * sizeof(K_), cudaStream_t stream = 0) \
    {                                                                                             \
        cudaError_t error = SortKeys##end(memory, bytes, keys.Current(), keys.Alternate(), n, begin, bits, stream); \
        keys.selector ^= memory && !error;                                                        \
        return error;                                                                             \
    }                                                                                             \
    template <typename K_, typename V_>                                                           \
    static cudaError_t SortPairs##end(void *memory, size_t &bytes, const K_ *in, K_ *out, const V_ *values, \
                                      V_ *sorted, long long n, int begin = 0, int bits = 8 * sizeof(K_), \
                                      cudaStream_t stream = 0)                                    \
    {                                                                                             \
        return gridlane::in_order(memory, bytes, stream, [&] {                                    \
            gridlane::sort<falls>(in, out, values, sorted, n, begin, bits);                       \
        });                                                                                       \
    }                                                                                             \
    template <typename K_, typename V_>                                                           \
    static cudaError_t SortPairs##end(void *memory, size_t &bytes, DoubleBuffer<K_> &keys, DoubleBuffer<V_> &values, \
                                      long long n, int begin = 0, int bits = 8 * sizeof(K_), cudaStream_t stream = 0) \
    {                                                                                             \
        cudaError_t error = SortPairs##end(memory, bytes, keys.Current(), keys.Alternate(), values.Current(), \
                                           values.Alternate(), n, begin, bits, stream);           \
        keys.selector ^= memory && !error;                                                        \
        values.selector ^= memory && !error;                                                      \
        return error;                                                                             \
    }
struct DeviceRadixSort {
    GRIDLANE_RADIX_SORT(, false)
    GRIDLANE_RADIX_SORT(Descending, true)
};
#undef GRIDLANE_RADIX_SORT

#define GRIDLANE_KEPT(name, rest, parameters, kept)                                               \
    template <typename I_, typename A_, typename O_, typename N_>                                 \
    static cudaError_t name(void *memory, size_t &bytes, I_ in, parameters, cudaStream_t stream = 0) \
    {                                                                                             \
        return gridlane::in_order(memory, bytes, stream, [&] {                                    \
            gridlane::keep(in, out, count, n, rest, [=] __device__(size_t i, const gridlane::value_of<I_> &value) { return (bool)(kept); }); \
        });                                                                                       \
    }
#define GRIDLANE_FLAGS A_ flags, O_ out, N_ count, long long n
#define GRIDLANE_TEST O_ out, N_ count, long long n, A_ test
struct DeviceSelect {
    GRIDLANE_KEPT(Flagged, false, GRIDLANE_FLAGS, flags[i])
    GRIDLANE_KEPT(If, false, GRIDLANE_TEST, test(value))
    template <typename I_, typename O_, typename N_>
    static cudaError_t Unique(void *memory, size_t &bytes, I_ in, O_ out, N_ count, long long n, cudaStream_t stream = 0)
    {
        return gridlane::in_order(memory, bytes, stream, [&] {
            gridlane::keep(in, out, count, n, false, [=] __device__(size_t i, const gridlane::value_of<I_> &value) {
                return !i || !((gridlane::value_of<I_>)in[i - 1] == value);
            });
        });
    }
    GRIDLANE_CALL(UniqueByKey)
};
struct DevicePartition {
    GRIDLANE_KEPT(Flagged, true, GRIDLANE_FLAGS, flags[i])
    GRIDLANE_KEPT(If, true, GRIDLANE_TEST, test(value))
};
#undef GRIDLANE_KEPT
#undef GRIDLANE_FLAGS
#undef GRIDLANE_TEST

struct DeviceRunLengthEncode {
    template <typename I_, typename U_, typename L_, typename N_>
    static cudaError_t Encode(void *memory, size_t &bytes, I_ in, U_ unique, L_ lengths, N_ count, long long n,
                              cudaStream_t stream = 0)
    {
        return gridlane::in_order(memory, bytes, stream, [&] {
            auto end = thrust::reduce_by_key(thrust::device, in, in + n, thrust::constant_iterator<int>(1), unique, lengths);
            gridlane::put(count, end.first - unique);
        });
    }
    GRIDLANE_CALL(NonTrivialRuns)
};
}  // namespace cub
#endif
