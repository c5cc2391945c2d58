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
        gridlane::cell<T> each[threads], prefix;
    };
    __device__ BlockScan() : storage(gridlane::own_storage<TempStorage>()) {}
    __device__ explicit BlockScan(TempStorage &storage) : storage(storage) {}

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
    // Without a first value the first thread's result is of no meaning.
    template <typename F_, typename = gridlane::operates<F_, T>>
    __device__ void ExclusiveScan(T v, T &out, F_ op, T &total)
    {
        T own;
        InclusiveScan(v, own, op, total);
        int rank = gridlane::rank();
        out = get(rank ? rank - 1 : 0);
    }
    template <typename F_, typename P_, typename = gridlane::operates<F_, T>, typename = gridlane::prefixes<P_, T>>
    __device__ void ExclusiveScan(T v, T &out, F_ op, P_ &callback)
    {
        T own, total;
        InclusiveScan(v, own, op, total);
        int rank = gridlane::rank();
        T before = get(rank ? rank - 1 : 0), first = prefix(callback, total);
        out = rank ? op(first, before) : first;
    }
    template <typename F_, typename P_, typename = gridlane::operates<F_, T>, typename = gridlane::prefixes<P_, T>>
    __device__ void InclusiveScan(T v, T &out, F_ op, P_ &callback)
    {
        T own, total;
        InclusiveScan(v, own, op, total);
        out = op(prefix(callback, total), own);
    }

    // Several elements of a thread: those of the threads before it, then its own.
    template <int N_, typename F_> __device__ void InclusiveScan(T (&in)[N_], T (&out)[N_], F_ op, T &total)
    {
        T own;
        InclusiveScan(folded(in, op), own, op, total);
        int rank = gridlane::rank();
        run<true>(in, out, op, rank > 0, get(rank ? rank - 1 : 0));
    }
    template <int N_, typename F_>
    __device__ void InclusiveScan(T (&in)[N_], T (&out)[N_], T first, F_ op, T &total)
    {
        T before;
        ExclusiveScan(folded(in, op), before, first, op, total);
        run<true>(in, out, op, true, before);
    }
    template <int N_, typename F_>
    __device__ void ExclusiveScan(T (&in)[N_], T (&out)[N_], T first, F_ op, T &total)
    {
        T before;
        ExclusiveScan(folded(in, op), before, first, op, total);
        run<false>(in, out, op, true, before);
    }
    template <int N_, typename F_, typename = gridlane::operates<F_, T>>
    __device__ void ExclusiveScan(T (&in)[N_], T (&out)[N_], F_ op, T &total)
    {
        T own;
        InclusiveScan(folded(in, op), own, op, total);
        int rank = gridlane::rank();
        run<false>(in, out, op, rank > 0, get(rank ? rank - 1 : 0));
    }
    template <int N_, typename F_, typename P_, typename = gridlane::operates<F_, T>,
              typename = gridlane::prefixes<P_, T>>
    __device__ void ExclusiveScan(T (&in)[N_], T (&out)[N_], F_ op, P_ &callback)
    {
        T before;
        ExclusiveScan(folded(in, op), before, op, callback);
        run<false>(in, out, op, true, before);
    }
    template <int N_, typename F_, typename P_, typename = gridlane::operates<F_, T>,
              typename = gridlane::prefixes<P_, T>>
    __device__ void InclusiveScan(T (&in)[N_], T (&out)[N_], F_ op, P_ &callback)
    {
        T before;
        ExclusiveScan(folded(in, op), before, op, callback);
        run<true>(in, out, op, true, before);
    }

    // The same without a total.
    template <typename F_> __device__ void InclusiveScan(T v, T &out, F_ op)
    {
        T total;
        InclusiveScan(v, out, op, total);
    }
    template <typename F_> __device__ void ExclusiveScan(T v, T &out, F_ op)
    {
        T total;
        ExclusiveScan(v, out, op, total);
    }
    template <typename F_> __device__ void ExclusiveScan(T v, T &out, T first, F_ op)
    {
        T total;
        ExclusiveScan(v, out, first, op, total);
    }
    template <int N_, typename F_> __device__ void InclusiveScan(T (&in)[N_], T (&out)[N_], F_ op)
    {
        T total;
        InclusiveScan(in, out, op, total);
    }
    template <int N_, typename F_> __device__ void ExclusiveScan(T (&in)[N_], T (&out)[N_], F_ op)
    {
        T total;
        ExclusiveScan(in, out, op, total);
    }
    template <int N_, typename F_> __device__ void InclusiveScan(T (&in)[N_], T (&out)[N_], T first, F_ op)
    {
        T total;
        InclusiveScan(in, out, first, op, total);
    }
    template <int N_, typename F_> __device__ void ExclusiveScan(T (&in)[N_], T (&out)[N_], T first, F_ op)
    {
        T total;
        ExclusiveScan(in, out, first, op, total);
    }
    // Sums, with a total or a callback.
    __device__ void InclusiveSum(T v, T &out) { InclusiveScan(v, out, cub::Sum()); }
    __device__ void InclusiveSum(T v, T &out, T &total) { InclusiveScan(v, out, cub::Sum(), total); }
    __device__ void ExclusiveSum(T v, T &out) { ExclusiveScan(v, out, T(), cub::Sum()); }
    __device__ void ExclusiveSum(T v, T &out, T &total) { ExclusiveScan(v, out, T(), cub::Sum(), total); }
    template <int N_> __device__ void InclusiveSum(T (&in)[N_], T (&out)[N_])
    {
        InclusiveScan(in, out, cub::Sum());
    }
    template <int N_> __device__ void InclusiveSum(T (&in)[N_], T (&out)[N_], T &total)
    {
        InclusiveScan(in, out, cub::Sum(), total);
    }
    template <int N_> __device__ void ExclusiveSum(T (&in)[N_], T (&out)[N_])
    {
        ExclusiveScan(in, out, T(), cub::Sum());
    }
    template <int N_> __device__ void ExclusiveSum(T (&in)[N_], T (&out)[N_], T &total)
    {
        ExclusiveScan(in, out, T(), cub::Sum(), total);
    }
    template <typename P_, typename = gridlane::prefixes<P_, T>>
    __device__ void ExclusiveSum(T v, T &out, P_ &callback)
    {
        ExclusiveScan(v, out, cub::Sum(), callback);
    }
    template <typename P_, typename = gridlane::prefixes<P_, T>>
    __device__ void InclusiveSum(T v, T &out, P_ &callback)
    {
        InclusiveScan(v, out, cub::Sum(), callback);
    }
    template <int N_, typename P_, typename = gridlane::prefixes<P_, T>>
    __device__ void ExclusiveSum(T (&in)[N_], T (&out)[N_], P_ &callback)
    {
        ExclusiveScan(in, out, cub::Sum(), callback);
    }
    template <int N_, typename P_, typename = gridlane::prefixes<P_, T>>
    __device__ void InclusiveSum(T (&in)[N_], T (&out)[N_], P_ &callback)
    {
        InclusiveScan(in, out, cub::Sum(), callback);
    }

private:
    TempStorage &storage;

    template <int N_, typename F_> __device__ T folded(T (&in)[N_], F_ op)
    {
        T all = in[0];
#pragma unroll
        for (int n = 1; n < N_; n++)
            all = op(all, in[n]);
        return all;
    }
    template <bool Inclusive, int N_, typename F_>
    __device__ void run(T (&in)[N_], T (&out)[N_], F_ op, bool has, T before)
    {
#pragma unroll
        for (int n = 0; n < N_; n++) {
            T own = in[n], next = has ? op(before, own) : own;
            out[n] = Inclusive ? next : before;
            before = next;
            has = true;
        }
    }
    // The first warp calls; its first lane's result counts.
    template <typename P_> __device__ T prefix(P_ &op, const T &total)
    {
        T made;
        if (gridlane::rank() < 32) {
            made = op(total);
            if (gridlane::rank() == 0)
                storage.prefix.set(made);
        }
        __syncthreads();
        return storage.prefix.get();
    }
    __device__ void put(int rank, const T &v) { storage.each[rank].set(v); }
    __device__ T get(int rank) { return storage.each[rank].get(); }
};

}  // namespace cub
