// The reduction of a block; the first thread gets the result.
#pragma once
#include "cub/warp_reduce.cuh"

namespace cub {

enum BlockReduceAlgorithm {
    BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
    BLOCK_REDUCE_RAKING,
    BLOCK_REDUCE_WARP_REDUCTIONS,
};

template <typename T, int X_, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y_ = 1,
          int Z_ = 1, int = 0>
class BlockReduce {
    static constexpr int threads = X_ * Y_ * Z_, warps = (threads + 31) / 32;

public:
    struct TempStorage {
        alignas(T) unsigned char partial[warps][sizeof(T)];
    };
    __device__ BlockReduce() : storage(gridlane::own_storage<TempStorage>()) {}
    __device__ explicit BlockReduce(TempStorage &storage) : storage(storage) {}

    template <typename F_> __device__ T Reduce(T v, F_ op) { return Reduce(v, op, threads); }
    // Of the first threads.
    template <typename F_> __device__ T Reduce(T v, F_ op, int valid)
    {
        int rank = gridlane::rank(), warp = rank / 32, left = valid - warp * 32;
        unsigned mask = threads - warp * 32 >= 32 ? 0xffffffffu : (1u << (threads & 31)) - 1;
#pragma unroll
        for (int by = 1; by < 32; by *= 2) {
            T other = gridlane::down(mask, v, by, 32);
            if (rank % 32 + by < left)
                v = op(v, other);
        }
        if (rank % 32 == 0)
            __builtin_memcpy(storage.partial[warp], &v, sizeof(T));
        __syncthreads();
        if (rank == 0)
            for (int n = 1; n < warps && n * 32 < valid; n++) {
                T other;
                __builtin_memcpy(&other, storage.partial[n], sizeof(T));
                v = op(v, other);
            }
        return v;
    }
    template <int N_, typename F_> __device__ T Reduce(T (&each)[N_], F_ op)
    {
        T v = each[0];
#pragma unroll
        for (int n = 1; n < N_; n++)
            v = op(v, each[n]);
        return Reduce(v, op);
    }
    __device__ T Sum(T v) { return Reduce(v, cub::Sum()); }
    __device__ T Sum(T v, int valid) { return Reduce(v, cub::Sum(), valid); }
    template <int N_> __device__ T Sum(T (&each)[N_]) { return Reduce(each, cub::Sum()); }

private:
    TempStorage &storage;
};

}  // namespace cub
