// Algorithms of a whole device for whole programs, by the parts of thrust's: reductions and scans here,
// others in the files that device_wide.cuh includes. Each waits for its stream, works in the default
// stream and is done when it returns; it takes its temporary memory itself.
#pragma once
#ifdef GRIDLANE_PROGRAM
#include <limits>
#include <system_error>
#include "cub/utilities.cuh"
#include "thrust/gridlane_algorithms.h"

namespace cub {
namespace gridlane {
using System = thrust::gridlane::on_device;
using thrust::gridlane::scratch;
template <typename I_> using value_of = thrust::gridlane::value_of<I_>;
// What an output takes; of one that takes anything, what the input has.
template <typename O_, typename I_> using taken_by =
    std::conditional_t<std::is_void<value_of<O_>>::value, value_of<I_>, value_of<O_>>;
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
template <typename F_> cudaError_t now(cudaStream_t stream, F_ f)
{
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
template <typename F_> cudaError_t in_order(void *memory, size_t &bytes, cudaStream_t stream, F_ f)
{
    if (memory)
        return now(stream, f);
    bytes = 1;
    return cudaSuccess;
}
template <typename O_, typename T> void put(O_ out, T value)
{
    System::each(1, [=] __device__(size_t) { out[0] = value; });
}
// The place of the best element of a range, the first of equals.
template <typename I_, typename F_>
__host__ __device__ size_t best(I_ in, size_t begin, size_t end, F_ better)
{
    size_t at = begin;
    for (size_t i = begin + 1; i < end; i++)
        at = better((value_of<I_>)in[i], (value_of<I_>)in[at]) ? i : at;
    return at;
}
// The value with which cub begins where there are no elements.
template <typename T> struct least {
    using better = thrust::less<T>;
    static T none() { return std::numeric_limits<T>::max(); }
};
template <typename T> struct most {
    using better = thrust::greater<T>;
    static T none() { return std::numeric_limits<T>::lowest(); }
};
template <template <typename> class Which, typename I_, typename O_, typename P_>
void arg(I_ in, O_ value, P_ place, size_t n)
{
    using T = value_of<I_>;
    scratch<System, size_t> found(thrust::gridlane::CHUNKS);
    const size_t chunks = n < thrust::gridlane::CHUNKS ? n : thrust::gridlane::CHUNKS;
    size_t *at = found.p;
    typename Which<T>::better better;
    T none = Which<T>::none();
    System::each(chunks, [=] __device__(size_t c) {
        at[c] = best(in, n * c / chunks, n * (c + 1) / chunks, better);
    });
    System::each(1, [=] __device__(size_t) {
        if (!n) {
            value(none);
            place(1);
            return;
        }
        size_t first = at[0];
        for (size_t c = 1; c < chunks; c++)
            first = better((T)in[at[c]], (T)in[first]) ? at[c] : first;
        value((T)in[first]);
        place(first);
    });
}
template <typename O_> struct write_key {
    O_ out;
    template <typename T> __device__ void operator()(T v) const { out[0].key = v; }
};
template <typename O_> struct write_value {
    O_ out;
    template <typename T> __device__ void operator()(T v) const { out[0].value = v; }
};
template <typename O_> struct write {
    O_ out;
    template <typename T> __device__ void operator()(T v) const { out[0] = v; }
};
}  // namespace gridlane

#define GRIDLANE_FOLD(name, which, operation)                                                     \
    template <typename I_, typename O_>                                                           \
    static cudaError_t name(void *memory, size_t &bytes, I_ in, O_ out, long long n, cudaStream_t stream = 0) \
    {                                                                                             \
        using T = gridlane::value_of<I_>;                                                         \
        return Reduce(memory, bytes, in, out, n, operation(), gridlane::which<T>::none(), stream); \
    }                                                                                             \
    template <typename I_, typename O_>                                                           \
    static cudaError_t Arg##name(void *memory, size_t &bytes, I_ in, O_ out, long long n, cudaStream_t stream = 0) \
    {                                                                                             \
        return gridlane::in_order(memory, bytes, stream, [&] {                                    \
            gridlane::arg<gridlane::which>(in, gridlane::write_value<O_>{out}, gridlane::write_key<O_>{out}, n); \
        });                                                                                       \
    }                                                                                             \
    template <typename I_, typename O_, typename P_>                                              \
    static cudaError_t Arg##name(void *memory, size_t &bytes, I_ in, O_ out, P_ place, long long n, \
                                 cudaStream_t stream = 0)                                         \
    {                                                                                             \
        return gridlane::in_order(memory, bytes, stream, [&] {                                    \
            gridlane::arg<gridlane::which>(in, gridlane::write<O_>{out}, gridlane::write<P_>{place}, n); \
        });                                                                                       \
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
    template <typename I_, typename O_, typename F_, typename G_, typename T>
    static cudaError_t TransformReduce(void *memory, size_t &bytes, I_ in, O_ out, long long n, F_ f, G_ g,
                                       T first, cudaStream_t stream = 0)
    {
        return Reduce(memory, bytes, thrust::make_transform_iterator(in, g), out, n, f, first, stream);
    }
    template <typename I_, typename O_>
    static cudaError_t Sum(void *memory, size_t &bytes, I_ in, O_ out, long long n, cudaStream_t stream = 0)
    {
        return Reduce(memory, bytes, in, out, n, cub::Sum(), gridlane::taken_by<O_, I_>(), stream);
    }
    GRIDLANE_FOLD(Min, least, cub::Min)
    GRIDLANE_FOLD(Max, most, cub::Max)
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
};
#undef GRIDLANE_FOLD

// A scan, in two places or in one.
#define GRIDLANE_SCAN(name, templates, parameters, arguments, ...)                                \
    template <typename I_, typename O_ GRIDLANE_LIST templates>                                   \
    static cudaError_t name(void *memory, size_t &bytes, I_ in, O_ out GRIDLANE_LIST parameters,  \
                            long long n, cudaStream_t stream = 0)                                 \
    {                                                                                             \
        using V_ = gridlane::value_of<I_>;                                                        \
        return gridlane::in_order(memory, bytes, stream, [&] { __VA_ARGS__; });                   \
    }                                                                                             \
    template <typename I_ GRIDLANE_LIST templates>                                                \
    static cudaError_t name(void *memory, size_t &bytes, I_ both GRIDLANE_LIST parameters,        \
                            long long n, cudaStream_t stream = 0)                                 \
    {                                                                                             \
        return name(memory, bytes, both, both GRIDLANE_LIST arguments, n, stream);                \
    }
#define GRIDLANE_BY_KEY(name, templates, parameters, ...)                                         \
    template <typename K_, typename I_, typename O_, GRIDLANE_LIST templates typename E_ = thrust::equal_to<>> \
    static cudaError_t name(void *memory, size_t &bytes, K_ keys, I_ in, O_ out, GRIDLANE_LIST parameters \
                            long long n, E_ equal = E_(), cudaStream_t stream = 0)                \
    {                                                                                             \
        using V_ = gridlane::value_of<I_>;                                                        \
        return gridlane::in_order(memory, bytes, stream, [&] { __VA_ARGS__; });                   \
    }
#define GRIDLANE_LIST(...) __VA_ARGS__
struct DeviceScan {
    GRIDLANE_SCAN(ExclusiveScan, (, typename F_, typename T), (, F_ f, T first), (, f, first),
                  scan<gridlane::sum_type<T, V_>>(in, out, f, true, true, first, n))
    GRIDLANE_SCAN(ExclusiveScan, (, typename F_, typename T, typename J_),
                  (, F_ f, FutureValue<T, J_> first), (, f, first),
                  scan<gridlane::sum_type<T, V_>>(in, out, f, true, true, now(first), n))
    GRIDLANE_SCAN(InclusiveScan, (, typename F_), (, F_ f), (, f),
                  scan<gridlane::sum_type<V_>>(in, out, f, false, false, gridlane::sum_type<V_>(), n))
    GRIDLANE_SCAN(InclusiveScanInit, (, typename F_, typename T), (, F_ f, T first), (, f, first),
                  scan<gridlane::sum_type<T, V_>>(in, out, f, false, true, first, n))
    GRIDLANE_SCAN(ExclusiveSum, (), (), (),
                  scan<gridlane::sum_type<V_>>(in, out, cub::Sum(), true, true, V_(), n))
    GRIDLANE_SCAN(InclusiveSum, (), (), (),
                  scan<gridlane::sum_type<V_>>(in, out, cub::Sum(), false, false, gridlane::sum_type<V_>(), n))
    GRIDLANE_BY_KEY(ExclusiveSumByKey, (), (), by_key<V_>(keys, in, out, true, V_(), cub::Sum(), n, equal))
    GRIDLANE_BY_KEY(InclusiveSumByKey, (), (), by_key<V_>(keys, in, out, false, V_(), cub::Sum(), n, equal))
    GRIDLANE_BY_KEY(ExclusiveScanByKey, (typename F_, typename T,), (F_ f, T first,),
                    by_key<T>(keys, in, out, true, first, f, n, equal))
    GRIDLANE_BY_KEY(InclusiveScanByKey, (typename F_,), (F_ f,),
                    by_key<V_>(keys, in, out, false, V_(), f, n, equal))

private:
    template <typename T, typename J_> static T now(FutureValue<T, J_> first)
    {
        return thrust::gridlane::once<gridlane::System>([=] __host__ __device__() { return (T)first; });
    }
    template <typename Sum, typename I_, typename O_, typename F_, typename T>
    static void scan(I_ in, O_ out, F_ f, bool exclusive, bool begins, T first, size_t n)
    {
        thrust::gridlane::scan<Sum, gridlane::System>(in, n, out, f, exclusive, begins, (Sum)first);
    }
    template <typename T, typename K_, typename I_, typename O_, typename F_, typename E_>
    static void by_key(K_ keys, I_ in, O_ out, bool exclusive, T first, F_ f, size_t n, E_ equal)
    {
        using Key = gridlane::value_of<K_>;
        using Sum = gridlane::sum_type<T, gridlane::value_of<I_>>;
        gridlane::System::each(1, [=] __device__(size_t) mutable {
            Sum sum = (Sum)first;
            bool has = false;
            for (size_t i = 0; i < n; i++) {
                Sum value = (Sum)(gridlane::value_of<I_>)in[i];
                if (i && !equal((Key)keys[i - 1], (Key)keys[i])) {
                    sum = (Sum)first;
                    has = false;
                }
                Sum next = has || exclusive ? (Sum)f(sum, value) : value;
                out[i] = exclusive ? sum : next;
                sum = next;
                has = true;
            }
        });
    }
};
#undef GRIDLANE_SCAN
#undef GRIDLANE_BY_KEY
#undef GRIDLANE_LIST
}  // namespace cub
#endif
