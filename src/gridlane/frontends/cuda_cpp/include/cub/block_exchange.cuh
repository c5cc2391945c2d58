// A block's elements in another arrangement, through shared memory.
#pragma once
#include "gridlane/cub_block.h"

namespace cub {

template <typename T, int X_, int N_, bool = false, int Y_ = 1, int Z_ = 1, int = 0>
class BlockExchange {
    static constexpr int threads = X_ * Y_ * Z_;
    using Blocked = gridlane::blocked<threads, N_>;
    using Striped = gridlane::striped<threads, N_>;
    using WarpStriped = gridlane::warp_striped<threads, N_>;

public:
    struct TempStorage {
        alignas(T) unsigned char each[threads * N_][sizeof(T)];
    };
    __device__ BlockExchange() : storage(gridlane::own_storage<TempStorage>()) {}
    __device__ explicit BlockExchange(TempStorage &storage) : storage(storage) {}

#define GRIDLANE_ARRANGE(name, From, To)                                                     \
    template <typename U_> __device__ void name(const T (&in)[N_], U_ (&out)[N_])            \
    {                                                                                        \
        int thread = gridlane::rank();                                                       \
        _Pragma("unroll") for (int n = 0; n < N_; n++) put(From::of(thread, n), in[n]);      \
        __syncthreads();                                                                     \
        _Pragma("unroll") for (int n = 0; n < N_; n++) out[n] = get(To::of(thread, n));      \
    }                                                                                        \
    __device__ void name(T (&items)[N_]) { name(items, items); }
    GRIDLANE_ARRANGE(StripedToBlocked, Striped, Blocked)
    GRIDLANE_ARRANGE(BlockedToStriped, Blocked, Striped)
    GRIDLANE_ARRANGE(WarpStripedToBlocked, WarpStriped, Blocked)
    GRIDLANE_ARRANGE(BlockedToWarpStriped, Blocked, WarpStriped)
#undef GRIDLANE_ARRANGE
    // Each element goes to its rank.
#define GRIDLANE_SCATTER(name, To)                                                           \
    template <typename U_, typename R_>                                                      \
    __device__ void name(const T (&in)[N_], U_ (&out)[N_], R_ (&ranks)[N_])                  \
    {                                                                                        \
        int thread = gridlane::rank();                                                       \
        _Pragma("unroll") for (int n = 0; n < N_; n++) put((int)ranks[n], in[n]);            \
        __syncthreads();                                                                     \
        _Pragma("unroll") for (int n = 0; n < N_; n++) out[n] = get(To::of(thread, n));      \
    }                                                                                        \
    template <typename R_> __device__ void name(T (&items)[N_], R_ (&ranks)[N_])             \
    {                                                                                        \
        name(items, items, ranks);                                                           \
    }
    GRIDLANE_SCATTER(ScatterToBlocked, Blocked)
    GRIDLANE_SCATTER(ScatterToStriped, Striped)
#undef GRIDLANE_SCATTER
    // Elements with a rank below 0, or without a flag, go nowhere.
    template <typename U_, typename R_>
    __device__ void ScatterToStripedGuarded(const T (&in)[N_], U_ (&out)[N_], R_ (&ranks)[N_])
    {
        bool all[N_];
#pragma unroll
        for (int n = 0; n < N_; n++)
            all[n] = true;
        ScatterToStripedFlagged(in, out, ranks, all);
    }
    template <typename R_> __device__ void ScatterToStripedGuarded(T (&items)[N_], R_ (&ranks)[N_])
    {
        ScatterToStripedGuarded(items, items, ranks);
    }
    template <typename U_, typename R_, typename F_>
    __device__ void ScatterToStripedFlagged(const T (&in)[N_], U_ (&out)[N_], R_ (&ranks)[N_], F_ (&flags)[N_])
    {
        int thread = gridlane::rank();
#pragma unroll
        for (int n = 0; n < N_; n++)
            if (flags[n] && ranks[n] >= 0)
                put((int)ranks[n], in[n]);
        __syncthreads();
#pragma unroll
        for (int n = 0; n < N_; n++)
            out[n] = get(Striped::of(thread, n));
    }
    template <typename R_, typename F_>
    __device__ void ScatterToStripedFlagged(T (&items)[N_], R_ (&ranks)[N_], F_ (&flags)[N_])
    {
        ScatterToStripedFlagged(items, items, ranks, flags);
    }

private:
    TempStorage &storage;

    __device__ void put(int at, const T &v) { __builtin_memcpy(storage.each[at], &v, sizeof(T)); }
    __device__ T get(int at)
    {
        T v;
        __builtin_memcpy(&v, storage.each[at], sizeof(T));
        return v;
    }
};

}  // namespace cub
