// What a block's neighbours tell: flags of differing elements, differences, counts.
#pragma once
#include "gridlane/cub_block.h"

namespace cub {

template <typename T, int X_, int Y_ = 1, int Z_ = 1, int = 0> class BlockDiscontinuity {
    static constexpr int threads = X_ * Y_ * Z_;

public:
    struct TempStorage {
        T first[threads], last[threads];
    };
    __device__ BlockDiscontinuity() : storage(gridlane::own_storage<TempStorage>()) {}
    __device__ explicit BlockDiscontinuity(TempStorage &storage) : storage(storage) {}

    // The first element of all has a flag.
    template <int N_, typename F_, typename Op>
    __device__ void FlagHeads(F_ (&flags)[N_], T (&items)[N_], Op differ)
    {
        heads(flags, items, differ, false, items[0]);
    }
    template <int N_, typename F_, typename Op>
    __device__ void FlagHeads(F_ (&flags)[N_], T (&items)[N_], Op differ, T before)
    {
        heads(flags, items, differ, true, before);
    }
    template <int N_, typename F_, typename Op>
    __device__ void FlagTails(F_ (&flags)[N_], T (&items)[N_], Op differ)
    {
        tails(flags, items, differ, false, items[0]);
    }
    template <int N_, typename F_, typename Op>
    __device__ void FlagTails(F_ (&flags)[N_], T (&items)[N_], Op differ, T behind)
    {
        tails(flags, items, differ, true, behind);
    }

    template <int N_, typename F_, typename G_, typename Op>
    __device__ void FlagHeadsAndTails(F_ (&first)[N_], G_ (&last)[N_], T (&items)[N_], Op differ)
    {
        heads(first, items, differ, false, items[0]);
        tails(last, items, differ, false, items[0]);
    }
    template <int N_, typename F_, typename G_, typename Op>
    __device__ void FlagHeadsAndTails(F_ (&first)[N_], T before, G_ (&last)[N_], T (&items)[N_], Op differ)
    {
        heads(first, items, differ, true, before);
        tails(last, items, differ, false, items[0]);
    }
    template <int N_, typename F_, typename G_, typename Op>
    __device__ void FlagHeadsAndTails(F_ (&first)[N_], G_ (&last)[N_], T behind, T (&items)[N_], Op differ)
    {
        heads(first, items, differ, false, items[0]);
        tails(last, items, differ, true, behind);
    }
    template <int N_, typename F_, typename G_, typename Op>
    __device__ void FlagHeadsAndTails(F_ (&first)[N_], T before, G_ (&last)[N_], T behind, T (&items)[N_],
                                      Op differ)
    {
        heads(first, items, differ, true, before);
        tails(last, items, differ, true, behind);
    }

private:
    TempStorage &storage;

    template <int N_, typename F_, typename Op>
    __device__ void heads(F_ (&flags)[N_], T (&items)[N_], Op differ, bool known, const T &before)
    {
        int thread = gridlane::rank();
        storage.last[thread] = items[N_ - 1];
        __syncthreads();
        for (int n = N_ - 1; n > 0; n--)
            flags[n] = (F_)differ(items[n - 1], items[n]);
        flags[0] = thread ? (F_)differ(storage.last[thread - 1], items[0])
                          : known ? (F_)differ(before, items[0]) : (F_)1;
    }
    template <int N_, typename F_, typename Op>
    __device__ void tails(F_ (&flags)[N_], T (&items)[N_], Op differ, bool known, const T &behind)
    {
        int thread = gridlane::rank();
        storage.first[thread] = items[0];
        __syncthreads();
        for (int n = 0; n < N_ - 1; n++)
            flags[n] = (F_)differ(items[n], items[n + 1]);
        flags[N_ - 1] = thread + 1 < threads ? (F_)differ(items[N_ - 1], storage.first[thread + 1])
                                            : known ? (F_)differ(items[N_ - 1], behind) : (F_)1;
    }
};

enum BlockHistogramAlgorithm { BLOCK_HISTO_SORT, BLOCK_HISTO_ATOMIC };
template <typename T, int X_, int N_, int Bins, BlockHistogramAlgorithm = BLOCK_HISTO_SORT, int Y_ = 1,
          int Z_ = 1, int = 0>
class BlockHistogram {
    static constexpr int threads = X_ * Y_ * Z_;

public:
    struct TempStorage {};
    __device__ BlockHistogram() {}
    __device__ explicit BlockHistogram(TempStorage &) {}
    template <typename C_> __device__ void InitHistogram(C_ (&bins)[Bins])
    {
        for (int n = gridlane::rank(); n < Bins; n += threads)
            bins[n] = 0;
    }
    template <typename C_> __device__ void Histogram(T (&items)[N_], C_ (&bins)[Bins])
    {
        InitHistogram(bins);
        __syncthreads();
        Composite(items, bins);
    }
    template <typename C_> __device__ void Composite(T (&items)[N_], C_ (&bins)[Bins])
    {
#pragma unroll
        for (int n = 0; n < N_; n++)
            atomicAdd(&bins[(int)items[n]], (C_)1);
    }
};

}  // namespace cub
