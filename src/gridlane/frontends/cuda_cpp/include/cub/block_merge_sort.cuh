// Elements of a block or a warp in the order of a comparison, which is stable: runs of a thread's own
// elements double by merges in shared memory.
#pragma once
#include "gridlane/cub_operations.h"

namespace cub {

struct NullType {};

namespace gridlane {

// Threads that sort together: how many, the number of one, and how they wait for each other.
template <int Threads> struct whole_block {
    static constexpr int threads = Threads;
    static __device__ int thread() { return rank(); }
    static __device__ void wait() { __syncthreads(); }
};
template <int Width> struct part_of_warp {
    static constexpr int threads = Width;
    static __device__ int thread() { return (int)__nvvm_read_ptx_sreg_laneid() % Width; }
    static __device__ void wait() { __syncwarp(lanes<Width>()); }
};

template <typename K_, int N_, typename V_, typename Group> class merge_sort {
    static constexpr int count = Group::threads * N_;
    static constexpr bool keys_only = __is_same(V_, NullType);

public:
    struct TempStorage {
        cell<K_> keys[count];
        cell<V_> values[keys_only ? 1 : count];
    };
    __device__ explicit merge_sort(TempStorage &storage) : storage(storage) {}

#define GRIDLANE_SORT(name)                                                                       \
    template <typename F_> __device__ void name(K_ (&keys)[N_], F_ before)                        \
    {                                                                                             \
        V_ none[N_];                                                                              \
        sort(keys, none, before);                                                                 \
    }                                                                                             \
    template <typename F_> __device__ void name(K_ (&keys)[N_], V_ (&values)[N_], F_ before)      \
    {                                                                                             \
        sort(keys, values, before);                                                               \
    }                                                                                             \
    template <typename F_> __device__ void name(K_ (&keys)[N_], F_ before, int valid, K_ other)   \
    {                                                                                             \
        V_ none[N_];                                                                              \
        pad(keys, valid, other);                                                                  \
        sort(keys, none, before);                                                                 \
    }                                                                                             \
    template <typename F_>                                                                        \
    __device__ void name(K_ (&keys)[N_], V_ (&values)[N_], F_ before, int valid, K_ other)        \
    {                                                                                             \
        pad(keys, valid, other);                                                                  \
        sort(keys, values, before);                                                               \
    }
    GRIDLANE_SORT(Sort)
    GRIDLANE_SORT(StableSort)
#undef GRIDLANE_SORT

private:
    TempStorage &storage;

    __device__ void pad(K_ (&keys)[N_], int valid, const K_ &other)
    {
#pragma unroll
        for (int n = 0; n < N_; n++)
            if (Group::thread() * N_ + n >= valid)
                keys[n] = other;
    }
    template <typename F_> __device__ void sort(K_ (&keys)[N_], V_ (&values)[N_], F_ before)
    {
        for (int end = 1; end < N_; end++)
            for (int n = end; n > 0 && before(keys[n], keys[n - 1]); n--) {
                swap(keys[n], keys[n - 1]);
                if constexpr (!keys_only)
                    swap(values[n], values[n - 1]);
            }
        const int first = Group::thread() * N_;
        Group::wait();
        put(keys);
        for (int width = N_; width < count; width *= 2) {
            int to[N_];
#pragma unroll
            for (int n = 0; n < N_; n++)
                to[n] = merged(first + n, keys[n], width, before);
            Group::wait();
#pragma unroll
            for (int n = 0; n < N_; n++) {
                storage.keys[to[n]].set(keys[n]);
                if constexpr (!keys_only)
                    storage.values[to[n]].set(values[n]);
            }
            Group::wait();
#pragma unroll
            for (int n = 0; n < N_; n++) {
                keys[n] = storage.keys[first + n].get();
                if constexpr (!keys_only)
                    values[n] = storage.values[first + n].get();
            }
        }
    }
    template <typename T> static __device__ void swap(T &a, T &b)
    {
        T old = a;
        a = b;
        b = old;
    }
    __device__ void put(const K_ (&keys)[N_])
    {
#pragma unroll
        for (int n = 0; n < N_; n++)
            storage.keys[Group::thread() * N_ + n].set(keys[n]);
        Group::wait();
    }
    // Where an element goes when its run and the one beside it are merged: past those of the other run
    // that are less, and for an element of the second run past those that are equal.
    template <typename F_> __device__ int merged(int place, const K_ &key, int width, F_ before)
    {
        int pair = place / (2 * width) * 2 * width, middle = pair + width < count ? pair + width : count;
        int end = middle + width < count ? middle + width : count;
        bool second = place >= middle;
        int low = second ? pair : middle, high = second ? middle : end, other = low;
        while (low < high) {
            int half = low + (high - low) / 2;
            K_ there = storage.keys[half].get();
            bool past = second ? !before(key, there) : before(there, key);
            low = past ? half + 1 : low;
            high = past ? high : half;
        }
        return pair + place - (second ? middle : pair) + low - other;
    }
};

}  // namespace gridlane

template <typename K_, int X_, int N_, typename V_ = NullType, int Y_ = 1, int Z_ = 1>
class BlockMergeSort : public gridlane::merge_sort<K_, N_, V_, gridlane::whole_block<X_ * Y_ * Z_>> {
    using Base = gridlane::merge_sort<K_, N_, V_, gridlane::whole_block<X_ * Y_ * Z_>>;

public:
    using typename Base::TempStorage;
    __device__ BlockMergeSort() : Base(gridlane::own_storage<TempStorage>()) {}
    __device__ explicit BlockMergeSort(TempStorage &storage) : Base(storage) {}
};
template <typename K_, int N_, int Width = 32, typename V_ = NullType, int = 0>
class WarpMergeSort : public gridlane::merge_sort<K_, N_, V_, gridlane::part_of_warp<Width>> {
    using Base = gridlane::merge_sort<K_, N_, V_, gridlane::part_of_warp<Width>>;

public:
    using typename Base::TempStorage;
    __device__ explicit WarpMergeSort(TempStorage &storage) : Base(storage) {}
};

}  // namespace cub
