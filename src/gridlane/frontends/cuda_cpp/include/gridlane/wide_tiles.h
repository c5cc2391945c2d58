// Tiles of more than one warp: 64 to 1024 threads of a block. Their threads meet at barriers in
// shared memory, one for each tile of each size, and exchange values there, a place for each warp.
// cooperative_groups.h includes this inside its namespace.
#pragma once

namespace gridlane {

struct wide_memory {
    unsigned long long barriers[32];
    unsigned long long values[32][4];
};
GRIDLANE_DEVICE wide_memory &wide()
{
    static __shared__ wide_memory memory;
    return memory;
}
// The barrier of a tile: 16 of 64 threads, then 8 of 128, 4, 2 and 1.
GRIDLANE_DEVICE unsigned wide_barrier(unsigned threads, unsigned tile)
{
    unsigned first = 32 - 2048 / threads;
    return (unsigned)__cvta_generic_to_shared(&wide().barriers[first + tile]);
}

// All threads of the group are here: none is at a barrier of a tile that is made again.
template <unsigned N_, typename G_> GRIDLANE_DEVICE void begin_tiles()
{
    if constexpr (N_ > 32 && __is_same(G_, thread_block)) {
        __syncthreads();
        unsigned rank = rank_in_block();
        for (unsigned threads = 64; threads <= N_; threads *= 2)
            if (rank % threads == 0) {
                unsigned left = threads_of_block() - rank, count = left < threads ? left : threads;
                asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(
                                 wide_barrier(threads, rank / threads)), "r"(count) : "memory");
            }
        __syncthreads();
    }
}

template <unsigned N_, typename Parent> class tile_of<N_, Parent, true> {
    static_assert(N_ <= 1024 && (N_ & (N_ - 1)) == 0, "a tile has at most 1024 threads, a power of two");
    __device__ static unsigned warp() { return rank_in_block() / 32; }
    __device__ static unsigned first_warp() { return rank_in_block() / N_ * (N_ / 32); }
    __device__ static unsigned warps()
    {
        unsigned all = (threads_of_block() + 31) / 32 - first_warp();
        return all < N_ / 32 ? all : N_ / 32;
    }
    template <typename T> __device__ static void put(unsigned warp, const T &v)
    {
        static_assert(sizeof(T) <= 32, "a value that a tile of several warps exchanges has 32 bytes");
        __builtin_memcpy(wide().values[warp], &v, sizeof(T));
    }
    template <typename T> __device__ static T got(unsigned warp)
    {
        T v;
        __builtin_memcpy(&v, wide().values[warp], sizeof(T));
        return v;
    }

public:
    __device__ void sync() const
    {
        unsigned place = wide_barrier(N_, meta_group_rank_in_block());
        unsigned long long token;
        asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(token) : "r"(place) : "memory");
        int passed;
        do
            asm volatile("{\n .reg .pred p;\n mbarrier.test_wait.shared.b64 p, [%1], %2;\n"
                         " selp.s32 %0, 1, 0, p;\n}"
                         : "=r"(passed) : "r"(place), "l"(token) : "memory");
        while (!passed);
    }
    __device__ static unsigned meta_group_rank_in_block() { return rank_in_block() / N_; }
    __device__ static constexpr unsigned size() { return N_; }
    __device__ static constexpr unsigned num_threads() { return N_; }
    __device__ static unsigned thread_rank() { return rank_in_block() & (N_ - 1); }
    __device__ static unsigned meta_group_rank() { return whole<Parent>::rank() / N_; }
    __device__ static unsigned meta_group_size() { return (whole<Parent>::size() + N_ - 1) / N_; }

    template <typename T> __device__ T shfl(const T &v, unsigned rank) const
    {
        if (thread_rank() == rank % N_)
            put(first_warp(), v);
        sync();
        T made = got<T>(first_warp());
        sync();
        return made;
    }
    __device__ int any(int predicate) const
    {
        return gridlane_reduced((int)(predicate != 0), [](int a, int b) { return a | b; });
    }
    __device__ int all(int predicate) const
    {
        return gridlane_reduced((int)(predicate != 0), [](int a, int b) { return a & b; });
    }

    // As in CUDA: by halves in a warp, then one warp after the other.
    template <typename T, typename F_> __device__ T gridlane_reduced(const T &value, F_ op) const
    {
        T made = value;
        for (unsigned by = 16; by > 0; by /= 2)
            made = op(made, from_lane(made, lane() ^ by));
        if (lane() == 0)
            put(warp(), made);
        sync();
        made = got<T>(first_warp());
        for (unsigned n = 1; n < warps(); n++)
            made = op(made, got<T>(first_warp() + n));
        sync();
        return made;
    }
    template <typename T, typename F_> __device__ T gridlane_scanned(const T &value, F_ op) const
    {
        T made = value;
        for (unsigned by = 1; by < 32; by *= 2) {
            T other = from_lane(made, lane() >= by ? lane() - by : lane());
            if (lane() >= by)
                made = op(made, other);
        }
        if (lane() == 31)
            put(warp(), made);
        sync();
        if (warp() > first_warp()) {
            T before = got<T>(first_warp());
            for (unsigned n = first_warp() + 1; n < warp(); n++)
                before = op(got<T>(n), before);
            made = op(made, before);
        }
        sync();
        return made;
    }
    // The value of the thread before; of the first its own.
    template <typename T> __device__ T gridlane_before(const T &value) const
    {
        T made = from_lane(value, lane() ? lane() - 1 : 0);
        if (lane() == 31)
            put(warp(), value);
        sync();
        if (lane() == 0 && warp() > first_warp())
            made = got<T>(warp() - 1);
        sync();
        return made;
    }

private:
    template <typename T> __device__ static T from_lane(const T &v, unsigned from)
    {
        return by_words(v, [=](unsigned word) { return __shfl_sync(0xffffffff, word, (int)from); });
    }
};

}  // namespace gridlane
