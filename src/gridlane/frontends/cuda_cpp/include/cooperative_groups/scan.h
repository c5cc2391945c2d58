// The scan of a value over a group: a part of a block. As in CUDA, an operation gets the later of
// two values first, which counts if they may not be exchanged.
#pragma once
#include "cooperative_groups.h"

namespace cooperative_groups {

namespace gridlane {
template <typename G_> struct several_warps { static constexpr bool is = false; };
template <unsigned N_, typename P_> struct several_warps<thread_block_tile<N_, P_>> {
    static constexpr bool is = N_ > 32;
};
}  // namespace gridlane

template <typename G_, typename T, typename F_>
GRIDLANE_DEVICE T inclusive_scan(const G_ &group, const T &value, F_ op)
{
    if constexpr (gridlane::several_warps<G_>::is)
        return group.gridlane_scanned(value, op);
    else {
        T made = value;
        unsigned size = group.size(), rank = group.thread_rank();
        for (unsigned by = 1; by < size; by *= 2) {
            T other = group.shfl_up(made, by);
            if (rank >= by)
                made = op(made, other);
        }
        return made;
    }
}
template <typename G_, typename T> GRIDLANE_DEVICE T inclusive_scan(const G_ &group, const T &value)
{
    return inclusive_scan(group, value, plus<T>());
}

// The first thread gets 0.
template <typename G_, typename T, typename F_>
GRIDLANE_DEVICE T exclusive_scan(const G_ &group, const T &value, F_ op)
{
    T whole = inclusive_scan(group, value, op), before;
    if constexpr (gridlane::several_warps<G_>::is)
        before = group.gridlane_before(whole);
    else
        before = group.shfl_up(whole, 1);
    return group.thread_rank() == 0 ? T() : before;
}
template <typename G_, typename T> GRIDLANE_DEVICE T exclusive_scan(const G_ &group, const T &value)
{
    return exclusive_scan(group, value, plus<T>());
}

}  // namespace cooperative_groups
