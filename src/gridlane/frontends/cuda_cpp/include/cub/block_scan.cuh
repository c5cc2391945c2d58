// The scan of a block.
#pragma once
#include "cub/warp_scan.cuh"

namespace cub {

enum BlockScanAlgorithm {
    BLOCK_SCAN_RAKING,
    BLOCK_SCAN_RAKING_MEMOIZE,
    BLOCK_SCAN_WARP_SCANS,
};

template <typename T, int X, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int = 0>
class BlockScan {
    static constexpr int threads = X * Y * Z;

public:
    struct TempStorage {
        alignas(T) unsigned char each[threads][sizeof(T)];
    };
    __device__ explicit BlockScan(TempStorage &storage) : storage(storage) {}

    template <typename F> __device__ void InclusiveScan(T v, T &out, F op)
    {
        T total;
        InclusiveScan(v, out, op, total);
    }
    template <typename F> __device__ void InclusiveScan(T v, T &out, F op, T &total)
    {
        int rank = gridlane::rank();
        put(rank, v);
        __syncthreads();
        for (int by = 1; by < threads; by *= 2) {
            if (rank >= by)
                v = op(get(rank - by), v);
            __syncthreads();
            put(rank, v);
            __syncthreads();
        }
        out = v;
        total = get(threads - 1);
    }
    template <typename F> __device__ void ExclusiveScan(T v, T &out, T first, F op, T &total)
    {
        T own;
        InclusiveScan(v, own, op, total);
        int rank = gridlane::rank();
        out = rank ? op(first, get(rank - 1)) : first;
    }
    template <typename F> __device__ void ExclusiveScan(T v, T &out, T first, F op)
    {
        T total;
        ExclusiveScan(v, out, first, op, total);
    }
    __device__ void InclusiveSum(T v, T &out) { InclusiveScan(v, out, cub::Sum()); }
    __device__ void InclusiveSum(T v, T &out, T &total) { InclusiveScan(v, out, cub::Sum(), total); }
    __device__ void ExclusiveSum(T v, T &out) { ExclusiveScan(v, out, T(), cub::Sum()); }
    __device__ void ExclusiveSum(T v, T &out, T &total)
    {
        ExclusiveScan(v, out, T(), cub::Sum(), total);
    }
    template <int N> __device__ void InclusiveSum(T (&in)[N], T (&out)[N])
    {
        T sum = in[0], before, total;
#pragma unroll
        for (int n = 1; n < N; n++)
            sum = sum + in[n];
        ExclusiveSum(sum, before, total);
#pragma unroll
        for (int n = 0; n < N; n++)
            out[n] = before = before + in[n];
    }
    template <int N> __device__ void ExclusiveSum(T (&in)[N], T (&out)[N])
    {
        T sum = in[0], before, total;
#pragma unroll
        for (int n = 1; n < N; n++)
            sum = sum + in[n];
        ExclusiveSum(sum, before, total);
#pragma unroll
        for (int n = 0; n < N; n++) {
            T own = in[n];
            out[n] = before;
            before = before + own;
        }
    }

private:
    TempStorage &storage;

    __device__ void put(int rank, const T &v)
    {
        __builtin_memcpy(storage.each[rank], &v, sizeof(T));
    }
    __device__ T get(int rank)
    {
        T v;
        __builtin_memcpy(&v, storage.each[rank], sizeof(T));
        return v;
    }
};

}  // namespace cub
