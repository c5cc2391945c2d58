// The reduction of a value over a part of a block; every thread gets it.
#pragma once
#include "cooperative_groups.h"

namespace cooperative_groups {

template <unsigned N_, typename P_, typename T, typename F_>
GRIDLANE_DEVICE T reduce(const thread_block_tile<N_, P_> &group, const T &value, F_ op)
{
    if constexpr (N_ > 32) {
        return group.gridlane_reduced(value, op);
    } else {
        T made = value;
#pragma unroll
        for (unsigned by = N_ / 2; by > 0; by /= 2)
            made = op(made, group.shfl_xor(made, (int)by));
        return made;
    }
}

template <typename T, typename F_>
GRIDLANE_DEVICE T reduce(const coalesced_group &group, const T &value, F_ op)
{
    T made = value;
    unsigned size = group.size(), rank = group.thread_rank();
    for (unsigned by = 1; by < size; by *= 2) {
        T other = group.shfl_down(made, by);
        if (rank % (2 * by) == 0 && rank + by < size)
            made = op(made, other);
    }
    return group.shfl(made, 0);
}

}  // namespace cooperative_groups
