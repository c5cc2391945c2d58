// Copies by a group. They are done when the call returns; wait() is the group's barrier.
#pragma once
#include "cooperative_groups.h"
#include "gridlane/copies.h"

namespace cooperative_groups {

// A number of bytes, also as cuda::aligned_size_t.
template <typename G_, typename T, typename Size>
GRIDLANE_DEVICE void memcpy_async(const G_ &group, T *to, const T *from, const Size &bytes)
{
    cuda::gridlane::copy(to, from, (size_t)bytes, group.thread_rank(), group.size());
}
// As many elements as both sides have.
template <typename G_, typename T, typename Size, typename OtherSize>
GRIDLANE_DEVICE void memcpy_async(const G_ &group, T *to, const Size &room, const T *from,
                                  const OtherSize &count)
{
    size_t elements = (size_t)room < (size_t)count ? (size_t)room : (size_t)count;
    cuda::gridlane::copy(to, from, elements * sizeof(T), group.thread_rank(), group.size());
}
template <typename G_> GRIDLANE_DEVICE void wait(const G_ &group) { group.sync(); }
template <unsigned N_, typename G_> GRIDLANE_DEVICE void wait_prior(const G_ &group) { group.sync(); }

}  // namespace cooperative_groups
