// cub's algorithms by segments of a whole device for whole programs.
#pragma once
#include "cub/gridlane_sorts.cuh"

namespace cub {
namespace gridlane {
// Where segments of one size begin, or end.
struct even {
    size_t size, first;
    __device__ size_t operator[](size_t segment) const { return first + segment * size; }
};
template <typename Sum, typename I_, typename O_, typename B_, typename E_, typename F_>
void fold_segments(I_ in, O_ out, size_t segments, B_ begins, E_ ends, F_ f, Sum first)
{
    System::each(segments, [=] __device__(size_t s) mutable {
        Sum sum = first;
        for (size_t i = begins[s], end = ends[s]; i < end; i++)
            sum = f(sum, (Sum)in[i]);
        out[s] = sum;
    });
}
template <template <typename> class Which, typename I_, typename O_, typename B_, typename E_>
void arg_segments(I_ in, O_ out, size_t segments, B_ begins, E_ ends)
{
    using T = value_of<I_>;
    T none = Which<T>::none();
    typename Which<T>::better better;
    System::each(segments, [=] __device__(size_t s) {
        size_t begin = begins[s], end = ends[s];
        KeyValuePair<int, T> found = {1, none};
        if (begin < end) {
            size_t at = best(in, begin, end, better);
            found.key = (int)(at - begin);
            found.value = in[at];
        }
        out[s] = found;
    });
}
// Elements are sorted by where their segment begins, and within it by their keys; those of no segment
// stay where they are, and their places in the output as they were.
template <typename K_, typename V_, typename B_, typename E_, typename F_>
void sort_segments(const K_ *in, K_ *out, const V_ *values, V_ *sorted, size_t n, size_t segments, B_ begins,
                   E_ ends, F_ before)
{
    scratch<System, size_t> starts(n), order(n);
    scratch<System, bool> inside(n);
    size_t *start = starts.p, *from = order.p;
    bool *is_inside = inside.p;
    System::each(n, [=] __device__(size_t i) {
        start[i] = from[i] = i;
        is_inside[i] = false;
    });
    System::each(segments, [=] __device__(size_t s) {
        size_t begin = begins[s], end = ends[s];
        for (size_t i = begin; i < end; i++) {
            start[i] = begin;
            is_inside[i] = true;
        }
    });
    thrust::gridlane::sort<System>(thrust::device_ptr<size_t>(from), n, thrust::device_ptr<size_t>(from), false,
                                   [=] __device__(size_t a, size_t b) {
                                       return start[a] == start[b] ? before(in[a], in[b]) : start[a] < start[b];
                                   });
    System::each(n, [=] __device__(size_t i) {
        if (!is_inside[i])
            return;
        out[i] = in[from[i]];
        if (values)
            sorted[i] = values[from[i]];
    });
}
}  // namespace gridlane

// The forms with offsets, and the one with segments of one size.
#define GRIDLANE_SEGMENTS(name, templates, parameters, arguments, ...)                            \
    template <typename I_, typename O_, typename B_, typename E_ GRIDLANE_LIST templates>         \
    static cudaError_t name(void *memory, size_t &bytes, I_ in, O_ out, long long segments, B_ begins, \
                            E_ ends GRIDLANE_LIST parameters, cudaStream_t stream = 0)            \
    {                                                                                             \
        using V_ = gridlane::value_of<I_>;                                                        \
        return gridlane::in_order(memory, bytes, stream, [&] { __VA_ARGS__; });                   \
    }                                                                                             \
    template <typename I_, typename O_ GRIDLANE_LIST templates>                                   \
    static cudaError_t name(void *memory, size_t &bytes, I_ in, O_ out, long long segments,       \
                            int size GRIDLANE_LIST parameters, cudaStream_t stream = 0)           \
    {                                                                                             \
        gridlane::even begins = {(size_t)size, 0}, ends = {(size_t)size, (size_t)size};           \
        return name(memory, bytes, in, out, segments, begins, ends GRIDLANE_LIST arguments, stream); \
    }
struct DeviceSegmentedReduce {
    GRIDLANE_SEGMENTS(Reduce, (, typename F_, typename T), (, F_ f, T first), (, f, first),
                      fold(in, out, segments, begins, ends, f, first))
    GRIDLANE_SEGMENTS(Sum, (), (), (),
                      fold(in, out, segments, begins, ends, cub::Sum(), gridlane::taken_by<O_, I_>()))
    GRIDLANE_SEGMENTS(Min, (), (), (),
                      fold(in, out, segments, begins, ends, cub::Min(), gridlane::least<V_>::none()))
    GRIDLANE_SEGMENTS(Max, (), (), (),
                      fold(in, out, segments, begins, ends, cub::Max(), gridlane::most<V_>::none()))
    GRIDLANE_SEGMENTS(ArgMin, (), (), (),
                      gridlane::arg_segments<gridlane::least>(in, out, segments, begins, ends))
    GRIDLANE_SEGMENTS(ArgMax, (), (), (),
                      gridlane::arg_segments<gridlane::most>(in, out, segments, begins, ends))

private:
    template <typename I_, typename O_, typename B_, typename E_, typename F_, typename T>
    static void fold(I_ in, O_ out, size_t segments, B_ begins, E_ ends, F_ f, T first)
    {
        using Sum = gridlane::sum_type<T, gridlane::value_of<I_>>;
        gridlane::fold_segments<Sum>(in, out, segments, begins, ends, f, (Sum)first);
    }
};
#undef GRIDLANE_SEGMENTS

#define GRIDLANE_SEGMENTED_SORT(stable, end, falls, first, last, parameters, arguments)           \
    template <typename K_, typename V_, typename B_, typename E_>                                 \
    static cudaError_t stable##SortPairs##end(void *memory, size_t &bytes, const K_ *in, K_ *out, \
                                              const V_ *values, V_ *sorted, long long n,          \
                                              GRIDLANE_LIST parameters)                           \
    {                                                                                             \
        return gridlane::in_order(memory, bytes, stream, [&] {                                    \
            gridlane::sort_segments(in, out, values, sorted, n, segments, begins, ends,           \
                                    gridlane::by_bits<K_, falls>{first, last});                   \
        });                                                                                       \
    }                                                                                             \
    GRIDLANE_SORT(stable##SortKeys##end, stable##SortPairs##end, (, typename B_, typename E_),    \
                  parameters, arguments)
#define GRIDLANE_SEGMENTED_RADIX_SORT(end, falls)                                                 \
    GRIDLANE_SEGMENTED_SORT(, end, falls, begin, bits,                                            \
                            (long long segments, B_ begins, E_ ends, int begin = 0,               \
                             int bits = 8 * sizeof(K_), cudaStream_t stream = 0),                 \
                            (segments, begins, ends, begin, bits, stream))
#define GRIDLANE_WHOLE_SORT(stable, end, falls)                                                   \
    GRIDLANE_SEGMENTED_SORT(stable, end, falls, 0, 8 * sizeof(K_),                                \
                            (long long segments, B_ begins, E_ ends, cudaStream_t stream = 0),    \
                            (segments, begins, ends, stream))
struct DeviceSegmentedRadixSort {
    GRIDLANE_SEGMENTED_RADIX_SORT(, false)
    GRIDLANE_SEGMENTED_RADIX_SORT(Descending, true)
};
struct DeviceSegmentedSort {
    GRIDLANE_WHOLE_SORT(, , false)
    GRIDLANE_WHOLE_SORT(, Descending, true)
    GRIDLANE_WHOLE_SORT(Stable, , false)
    GRIDLANE_WHOLE_SORT(Stable, Descending, true)
};
#undef GRIDLANE_SEGMENTED_RADIX_SORT
#undef GRIDLANE_WHOLE_SORT
#undef GRIDLANE_SEGMENTED_SORT
#undef GRIDLANE_SORT
#undef GRIDLANE_LIST
}  // namespace cub
