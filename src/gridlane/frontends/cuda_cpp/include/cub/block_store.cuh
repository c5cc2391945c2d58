// A block's elements to memory.
#pragma once
#include "gridlane/cub_block.h"

namespace cub {

enum BlockStoreAlgorithm {
    BLOCK_STORE_DIRECT,
    BLOCK_STORE_STRIPED,
    BLOCK_STORE_VECTORIZE,
    BLOCK_STORE_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED,
};

// The algorithms differ in speed alone, but the striped one, whose elements are striped.
template <typename T, int X_, int N_, BlockStoreAlgorithm How = BLOCK_STORE_DIRECT, int Y_ = 1,
          int Z_ = 1, int = 0>
class BlockStore {
public:
    struct TempStorage {};
    __device__ BlockStore() {}
    __device__ explicit BlockStore(TempStorage &) {}

    template <typename O_, typename... A_> __device__ void Store(O_ to, T (&items)[N_], A_... more)
    {
        if constexpr (How == BLOCK_STORE_STRIPED)
            StoreDirectStriped<X_ * Y_ * Z_>(gridlane::rank(), to, items, more...);
        else
            StoreDirectBlocked(gridlane::rank(), to, items, more...);
    }
};

enum WarpStoreAlgorithm {
    WARP_STORE_DIRECT,
    WARP_STORE_STRIPED,
    WARP_STORE_VECTORIZE,
    WARP_STORE_TRANSPOSE,
};
template <typename T, int N_, WarpStoreAlgorithm How = WARP_STORE_DIRECT, int Width = 32, int = 0>
class WarpStore {
public:
    struct TempStorage {};
    __device__ explicit WarpStore(TempStorage &) {}

    template <typename O_, typename... A_> __device__ void Store(O_ to, T (&items)[N_], A_... more)
    {
        int lane = (int)__nvvm_read_ptx_sreg_laneid() % Width;
        if constexpr (How == WARP_STORE_STRIPED)
            StoreDirectStriped<Width>(lane, to, items, more...);
        else
            StoreDirectBlocked(lane, to, items, more...);
    }
};

}  // namespace cub
