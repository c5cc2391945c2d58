// The scan of a warp or a part of it.
#pragma once
#include "gridlane/cub_operations.h"

namespace cub {

template <typename T, int Width = 32, int = 0> class WarpScan {
public:
    struct TempStorage {};
    __device__ explicit WarpScan(TempStorage &) {}

    template <typename F_> __device__ void InclusiveScan(T v, T &out, F_ op)
    {
        int lane = (int)__nvvm_read_ptx_sreg_laneid() % Width;
#pragma unroll
        for (int by = 1; by < Width; by *= 2) {
            T other = gridlane::up(gridlane::lanes<Width>(), v, by, 32);
            if (lane >= by)
                v = op(other, v);
        }
        out = v;
    }
    template <typename F_> __device__ void InclusiveScan(T v, T &out, F_ op, T &total)
    {
        InclusiveScan(v, out, op);
        total = last(out);
    }
    template <typename F_> __device__ void ExclusiveScan(T v, T &out, T first, F_ op)
    {
        T own;
        InclusiveScan(v, own, op);
        T before = gridlane::up(gridlane::lanes<Width>(), own, 1, 32);
        out = __nvvm_read_ptx_sreg_laneid() % Width ? op(first, before) : first;
    }
    // Totals are without the first value.
    template <typename F_> __device__ void InclusiveScan(T v, T &out, T first, F_ op, T &total)
    {
        InclusiveScan(v, out, op, total);
        out = op(first, out);
    }
    template <typename F_> __device__ void InclusiveScan(T v, T &out, T first, F_ op)
    {
        T total;
        InclusiveScan(v, out, first, op, total);
    }
    template <typename F_> __device__ void ExclusiveScan(T v, T &out, T first, F_ op, T &total)
    {
        InclusiveScan(v, out, op);
        total = last(out);
        ExclusiveScan(v, out, first, op);
    }
    // Without a first value the first lane's result is of no meaning.
    template <typename F_> __device__ void ExclusiveScan(T v, T &out, F_ op)
    {
        T own;
        Scan(v, own, out, op);
    }
    template <typename F_> __device__ void ExclusiveScan(T v, T &out, F_ op, T &total)
    {
        T own;
        Scan(v, own, out, op);
        total = last(own);
    }
    template <typename F_> __device__ void Scan(T v, T &inclusive, T &exclusive, F_ op)
    {
        InclusiveScan(v, inclusive, op);
        exclusive = gridlane::up(gridlane::lanes<Width>(), inclusive, 1, 32);
    }
    template <typename F_> __device__ void Scan(T v, T &inclusive, T &exclusive, T first, F_ op)
    {
        ExclusiveScan(v, exclusive, first, op);
        inclusive = op(exclusive, v);
    }
    __device__ T Broadcast(T v, unsigned lane)
    {
        int own = (int)__nvvm_read_ptx_sreg_laneid();
        return gridlane::at(gridlane::lanes<Width>(), v, own / Width * Width + (int)lane, 32);
    }
    __device__ void InclusiveSum(T v, T &out) { InclusiveScan(v, out, cub::Sum()); }
    __device__ void InclusiveSum(T v, T &out, T &total) { InclusiveScan(v, out, cub::Sum(), total); }
    __device__ void ExclusiveSum(T v, T &out) { ExclusiveScan(v, out, T(), cub::Sum()); }
    __device__ void ExclusiveSum(T v, T &out, T &total)
    {
        T own;
        InclusiveSum(v, own);
        total = last(own);
        ExclusiveSum(v, out);
    }

private:
    __device__ T last(const T &v)
    {
        int lane = (int)__nvvm_read_ptx_sreg_laneid();
        return gridlane::at(gridlane::lanes<Width>(), v, lane / Width * Width + Width - 1, 32);
    }
};

}  // namespace cub
