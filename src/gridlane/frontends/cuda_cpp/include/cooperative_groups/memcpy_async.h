// Copies by a group. They are done when the call returns; wait() is the group's barrier.
#pragma once
#include "cooperative_groups.h"

namespace cooperative_groups {

template <typename G_, typename T>
GRIDLANE_DEVICE void memcpy_async(const G_ &group, T *to, const T *from, size_t bytes)
{
    for (size_t n = group.thread_rank(); n < bytes / sizeof(T); n += group.size())
        to[n] = from[n];
}
template <typename G_> GRIDLANE_DEVICE void wait(const G_ &group) { group.sync(); }
template <unsigned N_, typename G_> GRIDLANE_DEVICE void wait_prior(const G_ &group) { group.sync(); }

}  // namespace cooperative_groups
