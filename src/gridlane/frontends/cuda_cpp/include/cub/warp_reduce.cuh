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
};

}  // namespace cub
