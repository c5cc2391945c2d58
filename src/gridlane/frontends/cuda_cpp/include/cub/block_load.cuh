// A block's elements from memory.
#pragma once
#include "gridlane/cub_block.h"

namespace cub {

enum BlockLoadAlgorithm {
    BLOCK_LOAD_DIRECT,
    BLOCK_LOAD_STRIPED,
    BLOCK_LOAD_VECTORIZE,
    BLOCK_LOAD_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED,
};

// The algorithms differ in speed alone, but the striped one, which leaves elements striped.
template <typename T, int X_, int N_, BlockLoadAlgorithm How = BLOCK_LOAD_DIRECT, int Y_ = 1,
          int Z_ = 1, int = 0>
class BlockLoad {
public:
    struct TempStorage {};
    __device__ BlockLoad() {}
    __device__ explicit BlockLoad(TempStorage &) {}

    template <typename I_, typename... A_> __device__ void Load(I_ from, T (&items)[N_], A_... more)
    {
        if constexpr (How == BLOCK_LOAD_STRIPED)
            LoadDirectStriped<X_ * Y_ * Z_>(gridlane::rank(), from, items, more...);
        else
            LoadDirectBlocked(gridlane::rank(), from, items, more...);
    }
};

enum WarpLoadAlgorithm {
    WARP_LOAD_DIRECT,
    WARP_LOAD_STRIPED,
    WARP_LOAD_VECTORIZE,
    WARP_LOAD_TRANSPOSE,
};
template <typename T, int N_, WarpLoadAlgorithm How = WARP_LOAD_DIRECT, int Width = 32, int = 0>
class WarpLoad {
public:
    struct TempStorage {};
    __device__ explicit WarpLoad(TempStorage &) {}

    template <typename I_, typename... A_> __device__ void Load(I_ from, T (&items)[N_], A_... more)
    {
        int lane = (int)__nvvm_read_ptx_sreg_laneid() % Width;
        if constexpr (How == WARP_LOAD_STRIPED)
            LoadDirectStriped<Width>(lane, from, items, more...);
        else
            LoadDirectBlocked(lane, from, items, more...);
    }
};

}  // namespace cub
