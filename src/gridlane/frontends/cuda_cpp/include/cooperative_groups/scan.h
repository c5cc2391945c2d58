// The scan of a value over a group of one warp.
#pragma once
#include "cooperative_groups.h"

namespace cooperative_groups {

template <typename G_, typename T, typename F_>
GRIDLANE_DEVICE T inclusive_scan(const G_ &group, const T &value, F_ op)
{
    T made = value;
    unsigned size = group.size(), rank = group.thread_rank();
    for (unsigned by = 1; by < size; by *= 2) {
        T other = group.shfl_up(made, by);
        if (rank >= by)
            made = op(other, made);
    }
    return made;
}
template <typename G_, typename T> GRIDLANE_DEVICE T inclusive_scan(const G_ &group, const T &value)
{
    return inclusive_scan(group, value, plus<T>());
}

// The first thread gets 0.
template <typename G_, typename T, typename F_>
GRIDLANE_DEVICE T exclusive_scan(const G_ &group, const T &value, F_ op)
{
    T before = group.shfl_up(inclusive_scan(group, value, op), 1);
    return group.thread_rank() == 0 ? T() : before;
}
template <typename G_, typename T> GRIDLANE_DEVICE T exclusive_scan(const G_ &group, const T &value)
{
    return exclusive_scan(group, value, plus<T>());
}

}  // namespace cooperative_groups
