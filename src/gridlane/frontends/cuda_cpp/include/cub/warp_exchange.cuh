// A warp's elements in another arrangement, through shared memory.
#pragma once
#include "gridlane/cub_operations.h"

namespace cub {

enum WarpExchangeAlgorithm { WARP_EXCHANGE_SMEM, WARP_EXCHANGE_SHUFFLE };
template <typename T, int N_, int Width = 32, WarpExchangeAlgorithm = WARP_EXCHANGE_SMEM, int = 0>
class WarpExchange {
public:
    struct TempStorage {
        gridlane::cell<T> each[Width * N_];
    };
    __device__ explicit WarpExchange(TempStorage &storage) : storage(storage) {}

    template <typename U_> __device__ void BlockedToStriped(const T (&in)[N_], U_ (&out)[N_])
    {
        int lane = this->lane();
        move(in, out, [=](int n) { return lane * N_ + n; }, [=](int n) { return n * Width + lane; });
    }
    template <typename U_> __device__ void StripedToBlocked(const T (&in)[N_], U_ (&out)[N_])
    {
        int lane = this->lane();
        move(in, out, [=](int n) { return n * Width + lane; }, [=](int n) { return lane * N_ + n; });
    }
    // Each element goes to its rank.
    template <typename U_, typename R_>
    __device__ void ScatterToStriped(const T (&in)[N_], U_ (&out)[N_], R_ (&ranks)[N_])
    {
        int lane = this->lane();
        move(in, out, [&](int n) { return (int)ranks[n]; }, [=](int n) { return n * Width + lane; });
    }
    template <typename R_> __device__ void ScatterToStriped(T (&items)[N_], R_ (&ranks)[N_])
    {
        ScatterToStriped(items, items, ranks);
    }

private:
    TempStorage &storage;

    __device__ int lane() { return (int)__nvvm_read_ptx_sreg_laneid() % Width; }
    template <typename U_, typename F_, typename G_>
    __device__ void move(const T (&in)[N_], U_ (&out)[N_], F_ from, G_ to)
    {
        __syncwarp(gridlane::lanes<Width>());
#pragma unroll
        for (int n = 0; n < N_; n++)
            storage.each[from(n)].set(in[n]);
        __syncwarp(gridlane::lanes<Width>());
#pragma unroll
        for (int n = 0; n < N_; n++)
            out[n] = storage.each[to(n)].get();
    }
};

}  // namespace cub
