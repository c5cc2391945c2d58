// The reduction of a warp or a part of it; the first lane gets the result.
#pragma once
#include "gridlane/cub_operations.h"

namespace cub {

template <typename T, int Width = 32, int = 0> class WarpReduce {
    static_assert(Width >= 1 && Width <= 32, "a warp has 32 lanes");

public:
    struct TempStorage {};
    __device__ explicit WarpReduce(TempStorage &) {}

    template <typename F_> __device__ T Reduce(T v, F_ op) { return Reduce(v, op, Width); }
    // Of the first lanes.
    template <typename F_> __device__ T Reduce(T v, F_ op, int valid)
    {
        int lane = (int)__nvvm_read_ptx_sreg_laneid() % Width;
#pragma unroll
        for (int by = 1; by < Width; by *= 2) {
            T other = gridlane::down(gridlane::lanes<Width>(), v, by, 32);
            if (lane + by < valid)
                v = op(v, other);
        }
        return v;
    }
    __device__ T Sum(T v) { return Reduce(v, cub::Sum()); }
    __device__ T Sum(T v, int valid) { return Reduce(v, cub::Sum(), valid); }
    __device__ T Max(T v) { return Reduce(v, cub::Max()); }
    __device__ T Max(T v, int valid) { return Reduce(v, cub::Max(), valid); }
    __device__ T Min(T v) { return Reduce(v, cub::Min()); }
    __device__ T Min(T v, int valid) { return Reduce(v, cub::Min(), valid); }
    // Of segments, whose first or last lanes have a flag; a segment's first lane gets its result.
    template <typename G_, typename F_> __device__ T HeadSegmentedReduce(T v, G_ flag, F_ op)
    {
        unsigned flags = part(flag) & ~1u;
        int lane = (int)__nvvm_read_ptx_sreg_laneid() % Width;
        unsigned behind = lane < 31 ? flags >> (lane + 1) : 0;
        return Reduce(v, op, behind ? lane + __ffs((int)behind) : Width);
    }
    template <typename G_, typename F_> __device__ T TailSegmentedReduce(T v, G_ flag, F_ op)
    {
        int lane = (int)__nvvm_read_ptx_sreg_laneid() % Width;
        unsigned behind = part(flag) >> lane;
        return Reduce(v, op, behind ? lane + __ffs((int)behind) : Width);
    }
    template <typename G_> __device__ T HeadSegmentedSum(T v, G_ flag)
    {
        return HeadSegmentedReduce(v, flag, cub::Sum());
    }
    template <typename G_> __device__ T TailSegmentedSum(T v, G_ flag)
    {
        return TailSegmentedReduce(v, flag, cub::Sum());
    }

private:
    template <typename G_> __device__ unsigned part(G_ flag)
    {
        unsigned flags = __ballot_sync(gridlane::lanes<Width>(), (bool)flag);
        int lane = (int)__nvvm_read_ptx_sreg_laneid();
        return Width == 32 ? flags : flags >> (lane - lane % Width) & ((1u << (Width & 31)) - 1);
    }
};

}  // namespace cub
