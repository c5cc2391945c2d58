// Copies by a group. They are done when the call returns; wait() is the group's barrier.
#pragma once
#include "cooperative_groups.h"

namespace cooperative_groups {

template <typename G, typename T>
GRIDLANE_DEVICE void memcpy_async(const G &group, T *to, const T *from, size_t bytes)
{
    for (size_t n = group.thread_rank(); n < bytes / sizeof(T); n += group.size())
        to[n] = from[n];
}
template <typename G> GRIDLANE_DEVICE void wait(const G &group) { group.sync(); }
template <unsigned N, typename G> GRIDLANE_DEVICE void wait_prior(const G &group) { group.sync(); }

}  // namespace cooperative_groups
