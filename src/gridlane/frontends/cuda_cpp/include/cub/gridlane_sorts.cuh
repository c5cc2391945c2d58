// cub's sorts and merges of a whole device for whole programs.
#pragma once
#include "cub/device_program.cuh"

namespace cub {
namespace gridlane {
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
template <typename I_, typename O_> void copy(I_ in, O_ out, size_t n)
{
    System::each(n, [=] __device__(size_t i) { out[i] = (value_of<I_>)in[i]; });
}
// Without values these are null.
template <bool falls, typename K_, typename V_>
void sort(const K_ *in, K_ *out, const V_ *values, V_ *sorted, size_t n, int begin, int end)
{
    copy(in, out, n);
    if (values)
        copy(values, sorted, n);
    thrust::gridlane::sort<System>(thrust::device_ptr<K_>(out), n, thrust::device_ptr<V_>(sorted),
                                   values != nullptr, by_bits<K_, falls>{begin, end});
}
// Where an element of one range is, after a merge in which the first range's come first among equals.
template <typename A_, typename B_, typename F_, typename P_>
void merged(A_ a, size_t n, B_ b, size_t m, F_ before, P_ put)
{
    System::each(n + m, [=] __device__(size_t i) mutable {
        if (i < n) {
            value_of<A_> v = a[i];
            put(i + thrust::gridlane::lower_place(b, m, v, before), true, i);
        } else {
            value_of<B_> v = b[i - n];
            put(i - n + thrust::gridlane::upper_place(a, n, v, before), false, i - n);
        }
    });
}
}  // namespace gridlane

// What a sort of pairs makes others of: keys alone, and double buffers.
#define GRIDLANE_SORT(keys, pairs, templates, parameters, arguments)                              \
    template <typename K_ GRIDLANE_LIST templates>                                                \
    static cudaError_t keys(void *memory, size_t &bytes, const K_ *in, K_ *out, long long n,      \
                            GRIDLANE_LIST parameters)                                             \
    {                                                                                             \
        return pairs(memory, bytes, in, out, (const char *)nullptr, (char *)nullptr, n,           \
                     GRIDLANE_LIST arguments);                                                    \
    }                                                                                             \
    template <typename K_ GRIDLANE_LIST templates>                                                \
    static cudaError_t keys(void *memory, size_t &bytes, DoubleBuffer<K_> &buffer, long long n,   \
                            GRIDLANE_LIST parameters)                                             \
    {                                                                                             \
        const K_ *in = buffer.Current();                                                          \
        cudaError_t error = keys(memory, bytes, in, buffer.Alternate(), n, GRIDLANE_LIST arguments); \
        buffer.selector ^= memory && !error;                                                      \
        return error;                                                                             \
    }                                                                                             \
    template <typename K_, typename V_ GRIDLANE_LIST templates>                                   \
    static cudaError_t pairs(void *memory, size_t &bytes, DoubleBuffer<K_> &buffer,               \
                             DoubleBuffer<V_> &values, long long n, GRIDLANE_LIST parameters)     \
    {                                                                                             \
        const K_ *in = buffer.Current();                                                          \
        const V_ *given = values.Current();                                                       \
        cudaError_t error = pairs(memory, bytes, in, buffer.Alternate(), given, values.Alternate(), n, \
                                  GRIDLANE_LIST arguments);                                       \
        buffer.selector ^= memory && !error;                                                      \
        values.selector ^= memory && !error;                                                      \
        return error;                                                                             \
    }
#define GRIDLANE_LIST(...) __VA_ARGS__
#define GRIDLANE_RADIX_SORT(name, falls)                                                          \
    template <typename K_, typename V_>                                                           \
    static cudaError_t SortPairs##name(void *memory, size_t &bytes, const K_ *in, K_ *out, const V_ *values, \
                                       V_ *sorted, long long n, int begin = 0, int bits = 8 * sizeof(K_), \
                                       cudaStream_t stream = 0)                                   \
    {                                                                                             \
        return gridlane::in_order(memory, bytes, stream, [&] {                                    \
            gridlane::sort<falls>(in, out, values, sorted, n, begin, bits);                       \
        });                                                                                       \
    }                                                                                             \
    GRIDLANE_SORT(SortKeys##name, SortPairs##name, (),                                            \
                  (int begin = 0, int bits = 8 * sizeof(K_), cudaStream_t stream = 0), (begin, bits, stream))
struct DeviceRadixSort {
    GRIDLANE_RADIX_SORT(, false)
    GRIDLANE_RADIX_SORT(Descending, true)
};
#undef GRIDLANE_RADIX_SORT

// Merge sorts are stable, whatever they are called; they work in place, or on a copy.
#define GRIDLANE_MERGE_SORT(name)                                                                 \
    template <typename K_, typename F_>                                                           \
    static cudaError_t name##Keys(void *memory, size_t &bytes, K_ keys, long long n, F_ before,   \
                                  cudaStream_t stream = 0)                                        \
    {                                                                                             \
        return gridlane::in_order(memory, bytes, stream, [&] {                                    \
            thrust::gridlane::sort<gridlane::System>(keys, n, keys, false, before);               \
        });                                                                                       \
    }                                                                                             \
    template <typename I_, typename K_, typename F_>                                              \
    static cudaError_t name##KeysCopy(void *memory, size_t &bytes, I_ in, K_ keys, long long n, F_ before, \
                                      cudaStream_t stream = 0)                                    \
    {                                                                                             \
        return gridlane::in_order(memory, bytes, stream, [&] {                                    \
            gridlane::copy(in, keys, n);                                                          \
            thrust::gridlane::sort<gridlane::System>(keys, n, keys, false, before);               \
        });                                                                                       \
    }                                                                                             \
    template <typename K_, typename V_, typename F_>                                              \
    static cudaError_t name##Pairs(void *memory, size_t &bytes, K_ keys, V_ values, long long n, F_ before, \
                                   cudaStream_t stream = 0)                                       \
    {                                                                                             \
        return gridlane::in_order(memory, bytes, stream, [&] {                                    \
            thrust::gridlane::sort<gridlane::System>(keys, n, values, true, before);              \
        });                                                                                       \
    }                                                                                             \
    template <typename I_, typename J_, typename K_, typename V_, typename F_>                    \
    static cudaError_t name##PairsCopy(void *memory, size_t &bytes, I_ in, J_ given, K_ keys, V_ values, \
                                       long long n, F_ before, cudaStream_t stream = 0)           \
    {                                                                                             \
        return gridlane::in_order(memory, bytes, stream, [&] {                                    \
            gridlane::copy(in, keys, n);                                                          \
            gridlane::copy(given, values, n);                                                     \
            thrust::gridlane::sort<gridlane::System>(keys, n, values, true, before);              \
        });                                                                                       \
    }
struct DeviceMergeSort {
    GRIDLANE_MERGE_SORT(Sort)
    GRIDLANE_MERGE_SORT(StableSort)
};
#undef GRIDLANE_MERGE_SORT

struct DeviceMerge {
    template <typename A_, typename B_, typename O_, typename F_ = thrust::less<>>
    static cudaError_t MergeKeys(void *memory, size_t &bytes, A_ a, long long n, B_ b, long long m, O_ out,
                                 F_ before = F_(), cudaStream_t stream = 0)
    {
        return gridlane::in_order(memory, bytes, stream, [&] {
            gridlane::merged(a, n, b, m, before, [=] __device__(size_t to, bool first, size_t from) {
                if (first)
                    out[to] = (gridlane::value_of<A_>)a[from];
                else
                    out[to] = (gridlane::value_of<B_>)b[from];
            });
        });
    }
    template <typename A_, typename V_, typename B_, typename W_, typename O_, typename P_,
              typename F_ = thrust::less<>>
    static cudaError_t MergePairs(void *memory, size_t &bytes, A_ a, V_ v, long long n, B_ b, W_ w, long long m,
                                  O_ out, P_ values, F_ before = F_(), cudaStream_t stream = 0)
    {
        return gridlane::in_order(memory, bytes, stream, [&] {
            gridlane::merged(a, n, b, m, before, [=] __device__(size_t to, bool first, size_t from) {
                if (first) {
                    out[to] = (gridlane::value_of<A_>)a[from];
                    values[to] = (gridlane::value_of<V_>)v[from];
                } else {
                    out[to] = (gridlane::value_of<B_>)b[from];
                    values[to] = (gridlane::value_of<W_>)w[from];
                }
            });
        });
    }
};
}  // namespace cub
