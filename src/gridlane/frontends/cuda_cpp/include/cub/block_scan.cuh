// The scan of a block.
#pragma once
#include "cub/warp_scan.cuh"

namespace cub {

enum BlockScanAlgorithm {
    BLOCK_SCAN_RAKING,
    BLOCK_SCAN_RAKING_MEMOIZE,
    BLOCK_SCAN_WARP_SCANS,
};

template <typename T, int X_, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int Y_ = 1, int Z_ = 1, int = 0>
class BlockScan {
    static constexpr int threads = X_ * Y_ * Z_;

public:
    struct TempStorage {
        alignas(T) unsigned char each[threads][sizeof(T)];
        alignas(T) unsigned char prefix[sizeof(T)];
    };
    __device__ explicit BlockScan(TempStorage &storage) : storage(storage) {}

    template <typename F_> __device__ void InclusiveScan(T v, T &out, F_ op)
    {
        T total;
        InclusiveScan(v, out, op, total);
    }
    template <typename F_> __device__ void InclusiveScan(T v, T &out, F_ op, T &total)
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
    template <typename F_> __device__ void ExclusiveScan(T v, T &out, T first, F_ op, T &total)
    {
        T own;
        InclusiveScan(v, own, op, total);
        int rank = gridlane::rank();
        out = rank ? op(first, get(rank - 1)) : first;
    }
    template <typename F_> __device__ void ExclusiveScan(T v, T &out, T first, F_ op)
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
    template <int N_, typename F_> __device__ void InclusiveScan(T (&in)[N_], T (&out)[N_], F_ op)
    {
        T all = in[0], own, total;
#pragma unroll
        for (int n = 1; n < N_; n++)
            all = op(all, in[n]);
        InclusiveScan(all, own, op, total);
        int rank = gridlane::rank();
        T before = rank ? get(rank - 1) : in[0];
#pragma unroll
        for (int n = 0; n < N_; n++) {
            before = n || rank ? op(before, in[n]) : in[0];
            out[n] = before;
        }
    }
    template <int N_, typename F_>
    __device__ void ExclusiveScan(T (&in)[N_], T (&out)[N_], T first, F_ op)
    {
        T inclusive[N_];
        InclusiveScan(in, inclusive, op);
        int rank = gridlane::rank();
        T before = rank ? op(first, get(rank - 1)) : first;
#pragma unroll
        for (int n = 0; n < N_; n++) {
            out[n] = before;
            before = op(first, inclusive[n]);
        }
    }
    template <int N_> __device__ void InclusiveSum(T (&in)[N_], T (&out)[N_])
    {
        T total;
        InclusiveSum(in, out, total);
    }
    template <int N_> __device__ void InclusiveSum(T (&in)[N_], T (&out)[N_], T &total)
    {
        T sum = in[0], before;
#pragma unroll
        for (int n = 1; n < N_; n++)
            sum = sum + in[n];
        ExclusiveSum(sum, before, total);
#pragma unroll
        for (int n = 0; n < N_; n++)
            out[n] = before = before + in[n];
    }
    template <int N_> __device__ void ExclusiveSum(T (&in)[N_], T (&out)[N_])
    {
        T total;
        ExclusiveSum(in, out, total);
    }
    template <int N_> __device__ void ExclusiveSum(T (&in)[N_], T (&out)[N_], T &total)
    {
        T sum = in[0], before;
#pragma unroll
        for (int n = 1; n < N_; n++)
            sum = sum + in[n];
        ExclusiveSum(sum, before, total);
#pragma unroll
        for (int n = 0; n < N_; n++) {
            T own = in[n];
            out[n] = before;
            before = before + own;
        }
    }

    // The callback gets the block's total, and gives what comes before the block.
    template <typename P_, bool = __is_class(P_)> struct callback {};
    template <typename P_> struct callback<P_, true> { using type = void; };
    template <typename P_, typename = typename callback<P_>::type>
    __device__ void ExclusiveSum(T v, T &out, P_ &op)
    {
        T own, total;
        InclusiveSum(v, own, total);
        int rank = gridlane::rank();
        T before = rank ? get(rank - 1) : T();
        out = prefix(op, total) + before;
    }
    template <typename P_, typename = typename callback<P_>::type>
    __device__ void InclusiveSum(T v, T &out, P_ &op)
    {
        T own, total;
        InclusiveSum(v, own, total);
        out = prefix(op, total) + own;
    }
    template <int N_, typename P_, typename = typename callback<P_>::type>
    __device__ void ExclusiveSum(T (&in)[N_], T (&out)[N_], P_ &op)
    {
        T total;
        ExclusiveSum(in, out, total);
        T first = prefix(op, total);
#pragma unroll
        for (int n = 0; n < N_; n++)
            out[n] = first + out[n];
    }
    template <int N_, typename P_, typename = typename callback<P_>::type>
    __device__ void InclusiveSum(T (&in)[N_], T (&out)[N_], P_ &op)
    {
        T total;
        InclusiveSum(in, out, total);
        T first = prefix(op, total);
#pragma unroll
        for (int n = 0; n < N_; n++)
            out[n] = first + out[n];
    }

private:
    TempStorage &storage;

    // The first warp calls; its first lane's result counts.
    template <typename P_> __device__ T prefix(P_ &op, const T &total)
    {
        T made;
        if (gridlane::rank() < 32) {
            made = op(total);
            if (gridlane::rank() == 0)
                __builtin_memcpy(storage.prefix, &made, sizeof(T));
        }
        __syncthreads();
        __builtin_memcpy(&made, storage.prefix, sizeof(T));
        return made;
    }

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
