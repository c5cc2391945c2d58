// cub's selections, partitions and runs of a whole device for whole programs.
#pragma once
#include "cub/device_program.cuh"

namespace cub {
namespace gridlane {
// How many elements a test keeps is written; with `rest`, the others stand behind them.
template <typename I_, typename O_, typename N_, typename F_>
void keep(I_ in, O_ out, N_ count, size_t n, bool rest, F_ test)
{
    put(count, thrust::gridlane::kept<System>(in, n, out, rest, test));
}
template <typename I_, typename F_> struct differs {
    I_ in;
    F_ equal;
    template <typename T> __device__ bool operator()(size_t i, const T &value)
    {
        return !i || !equal((value_of<I_>)in[i - 1], (value_of<I_>)in[i]);
    }
};
}  // namespace gridlane

#define GRIDLANE_LIST(...) __VA_ARGS__
// Selections into another place, and in the same one.
#define GRIDLANE_KEPT(name, rest, templates, before, behind, kept)                                \
    template <typename I_, typename O_, typename N_, GRIDLANE_LIST templates>                     \
    static cudaError_t name(void *memory, size_t &bytes, I_ in, GRIDLANE_LIST before O_ out, N_ count, \
                            long long n GRIDLANE_LIST behind, cudaStream_t stream = 0)            \
    {                                                                                             \
        return gridlane::in_order(memory, bytes, stream, [&] {                                    \
            gridlane::keep(in, out, count, n, rest,                                               \
                           [=] __device__(size_t i, const gridlane::value_of<I_> &value) mutable { \
                               (void)i;                                                           \
                               return (bool)(kept);                                               \
                           });                                                                    \
        });                                                                                       \
    }
#define GRIDLANE_KEPT_HERE(name, templates, before, behind, kept)                                 \
    template <typename I_, typename N_, GRIDLANE_LIST templates>                                  \
    static cudaError_t name(void *memory, size_t &bytes, I_ in, GRIDLANE_LIST before N_ count,    \
                            long long n GRIDLANE_LIST behind, cudaStream_t stream = 0)            \
    {                                                                                             \
        return gridlane::in_order(memory, bytes, stream, [&] {                                    \
            gridlane::keep(in, in, count, n, false,                                               \
                           [=] __device__(size_t i, const gridlane::value_of<I_> &value) mutable { \
                               (void)i;                                                           \
                               return (bool)(kept);                                               \
                           });                                                                    \
        });                                                                                       \
    }
struct DeviceSelect {
    GRIDLANE_KEPT(Flagged, false, (typename A_), (A_ flags, ), (), flags[i])
    GRIDLANE_KEPT(If, false, (typename F_), (), (, F_ test), test(value))
    GRIDLANE_KEPT(FlaggedIf, false, (typename A_, typename F_), (A_ flags, ), (, F_ test), test(flags[i]))
    GRIDLANE_KEPT_HERE(Flagged, (typename A_), (A_ flags, ), (), flags[i])
    GRIDLANE_KEPT_HERE(If, (typename F_), (), (, F_ test), test(value))
    GRIDLANE_KEPT_HERE(FlaggedIf, (typename A_, typename F_), (A_ flags, ), (, F_ test), test(flags[i]))
    template <typename I_, typename O_, typename N_, typename F_ = thrust::equal_to<>,
              typename = std::enable_if_t<!std::is_convertible<F_, cudaStream_t>::value>>
    static cudaError_t Unique(void *memory, size_t &bytes, I_ in, O_ out, N_ count, long long n, F_ equal = F_(),
                              cudaStream_t stream = 0)
    {
        return gridlane::in_order(memory, bytes, stream, [&] {
            gridlane::keep(in, out, count, n, false, gridlane::differs<I_, F_>{in, equal});
        });
    }
    template <typename I_, typename O_, typename N_>
    static cudaError_t Unique(void *memory, size_t &bytes, I_ in, O_ out, N_ count, long long n, cudaStream_t stream)
    {
        return Unique(memory, bytes, in, out, count, n, thrust::equal_to<>(), stream);
    }
    template <typename K_, typename V_, typename U_, typename W_, typename N_, typename F_,
              typename = std::enable_if_t<!std::is_convertible<F_, cudaStream_t>::value>>
    static cudaError_t UniqueByKey(void *memory, size_t &bytes, K_ keys, V_ values, U_ unique, W_ selected,
                                   N_ count, long long n, F_ equal, cudaStream_t stream = 0)
    {
        return gridlane::in_order(memory, bytes, stream, [&] {
            auto in = thrust::make_zip_iterator(std::make_tuple(keys, values));
            auto out = thrust::make_zip_iterator(std::make_tuple(unique, selected));
            gridlane::keep(in, out, count, n, false, gridlane::differs<K_, F_>{keys, equal});
        });
    }
    template <typename K_, typename V_, typename U_, typename W_, typename N_>
    static cudaError_t UniqueByKey(void *memory, size_t &bytes, K_ keys, V_ values, U_ unique, W_ selected,
                                   N_ count, long long n, cudaStream_t stream = 0)
    {
        return UniqueByKey(memory, bytes, keys, values, unique, selected, count, n, thrust::equal_to<>(), stream);
    }
};
struct DevicePartition {
    GRIDLANE_KEPT(Flagged, true, (typename A_), (A_ flags, ), (), flags[i])
    GRIDLANE_KEPT(If, true, (typename F_), (), (, F_ test), test(value))
    // Three parts: those of neither test keep their order.
    template <typename I_, typename A_, typename B_, typename O_, typename N_, typename F_, typename G_>
    static cudaError_t If(void *memory, size_t &bytes, I_ in, A_ first, B_ second, O_ others, N_ counts,
                          long long n, F_ in_first, G_ in_second, cudaStream_t stream = 0)
    {
        using T = gridlane::value_of<I_>;
        return gridlane::in_order(memory, bytes, stream, [&] {
            gridlane::scratch<gridlane::System, char> parts(n);
            char *part = parts.p;
            gridlane::System::each(n, [=] __device__(size_t i) mutable {
                part[i] = in_first((T)in[i]) ? 0 : in_second((T)in[i]) ? 1 : 2;
            });
            auto is = [=](char which) {
                return [=] __device__(size_t i, const T &) { return part[i] == which; };
            };
            gridlane::keep(in, first, counts, n, false, is(0));
            gridlane::keep(in, second, counts + 1, n, false, is(1));
            thrust::gridlane::kept<gridlane::System>(in, n, others, false, is(2));
        });
    }
};
#undef GRIDLANE_KEPT
#undef GRIDLANE_KEPT_HERE
#undef GRIDLANE_LIST

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
    // The runs of two elements or more.
    template <typename I_, typename P_, typename L_, typename N_>
    static cudaError_t NonTrivialRuns(void *memory, size_t &bytes, I_ in, P_ places, L_ lengths, N_ count,
                                      long long n, cudaStream_t stream = 0)
    {
        using T = gridlane::value_of<I_>;
        return gridlane::in_order(memory, bytes, stream, [&] {
            gridlane::System::each(1, [=] __device__(size_t) {
                size_t runs = 0;
                for (size_t i = 0, end; i < (size_t)n; i = end) {
                    for (end = i + 1; end < (size_t)n && (T)in[end] == (T)in[i];)
                        end++;
                    if (end - i > 1) {
                        places[runs] = i;
                        lengths[runs++] = end - i;
                    }
                }
                count[0] = runs;
            });
        });
    }
};
}  // namespace cub
