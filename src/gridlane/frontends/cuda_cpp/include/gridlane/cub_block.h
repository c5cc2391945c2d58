// Elements of a block in registers: blocked (a thread has neighbours), striped (neighbours are in
// neighbouring threads), warp-striped (the same within a warp).
#pragma once
#include "gridlane/cub_operations.h"

namespace cub {

template <typename I_, typename T, int N_>
__device__ inline void LoadDirectBlocked(int thread, I_ from, T (&items)[N_])
{
#pragma unroll
    for (int n = 0; n < N_; n++)
        items[n] = from[thread * N_ + n];
}
template <typename I_, typename T, int N_>
__device__ inline void LoadDirectBlocked(int thread, I_ from, T (&items)[N_], int valid)
{
#pragma unroll
    for (int n = 0; n < N_; n++)
        if (thread * N_ + n < valid)
            items[n] = from[thread * N_ + n];
}
template <typename I_, typename T, int N_, typename D_>
__device__ inline void LoadDirectBlocked(int thread, I_ from, T (&items)[N_], int valid, D_ other)
{
#pragma unroll
    for (int n = 0; n < N_; n++)
        items[n] = thread * N_ + n < valid ? (T)from[thread * N_ + n] : (T)other;
}
template <typename T, int N_>
__device__ inline void LoadDirectBlockedVectorized(int thread, T *from, T (&items)[N_])
{
    LoadDirectBlocked(thread, from, items);
}
template <int Threads, typename I_, typename T, int N_>
__device__ inline void LoadDirectStriped(int thread, I_ from, T (&items)[N_])
{
#pragma unroll
    for (int n = 0; n < N_; n++)
        items[n] = from[thread + n * Threads];
}
template <int Threads, typename I_, typename T, int N_>
__device__ inline void LoadDirectStriped(int thread, I_ from, T (&items)[N_], int valid)
{
#pragma unroll
    for (int n = 0; n < N_; n++)
        if (thread + n * Threads < valid)
            items[n] = from[thread + n * Threads];
}
template <int Threads, typename I_, typename T, int N_, typename D_>
__device__ inline void LoadDirectStriped(int thread, I_ from, T (&items)[N_], int valid, D_ other)
{
#pragma unroll
    for (int n = 0; n < N_; n++)
        items[n] = thread + n * Threads < valid ? (T)from[thread + n * Threads] : (T)other;
}

template <typename O_, typename T, int N_>
__device__ inline void StoreDirectBlocked(int thread, O_ to, T (&items)[N_])
{
#pragma unroll
    for (int n = 0; n < N_; n++)
        to[thread * N_ + n] = items[n];
}
template <typename O_, typename T, int N_>
__device__ inline void StoreDirectBlocked(int thread, O_ to, T (&items)[N_], int valid)
{
#pragma unroll
    for (int n = 0; n < N_; n++)
        if (thread * N_ + n < valid)
            to[thread * N_ + n] = items[n];
}
template <typename T, int N_>
__device__ inline void StoreDirectBlockedVectorized(int thread, T *to, T (&items)[N_])
{
    StoreDirectBlocked(thread, to, items);
}
template <int Threads, typename O_, typename T, int N_>
__device__ inline void StoreDirectStriped(int thread, O_ to, T (&items)[N_])
{
#pragma unroll
    for (int n = 0; n < N_; n++)
        to[thread + n * Threads] = items[n];
}
template <int Threads, typename O_, typename T, int N_>
__device__ inline void StoreDirectStriped(int thread, O_ to, T (&items)[N_], int valid)
{
#pragma unroll
    for (int n = 0; n < N_; n++)
        if (thread + n * Threads < valid)
            to[thread + n * Threads] = items[n];
}

namespace gridlane {
// An element's number in the block, by thread and place.
template <int Threads, int N_> struct blocked {
    static constexpr int of(int thread, int n) { return thread * N_ + n; }
};
template <int Threads, int N_> struct striped {
    static constexpr int of(int thread, int n) { return thread + n * Threads; }
};
template <int Threads, int N_> struct warp_striped {
    static constexpr int of(int thread, int n) { return thread / 32 * 32 * N_ + n * 32 + thread % 32; }
};
}  // namespace gridlane

}  // namespace cub
