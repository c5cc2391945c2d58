// Groups of threads: blocks, tiles of a warp, and the threads that run together.
#pragma once
#define _COOPERATIVE_GROUPS_H_

namespace cooperative_groups {

namespace gridlane {

// A value of any type, exchanged word by word.
template <typename T, typename F_> GRIDLANE_DEVICE T by_words(const T &value, F_ exchange)
{
    constexpr int count = (sizeof(T) + 3) / 4;
    struct Words { unsigned word[count]; } words = {};
    __builtin_memcpy(&words, &value, sizeof(T));
#pragma unroll
    for (int n = 0; n < count; n++)
        words.word[n] = exchange(words.word[n]);
    T made;
    __builtin_memcpy(&made, &words, sizeof(T));
    return made;
}

GRIDLANE_DEVICE unsigned lane() { return __nvvm_read_ptx_sreg_laneid(); }
GRIDLANE_DEVICE unsigned rank_in_block()
{
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
GRIDLANE_DEVICE unsigned threads_of_block() { return blockDim.x * blockDim.y * blockDim.z; }

// The place of the n-th bit that is set, from 0.
GRIDLANE_DEVICE int nth_bit(unsigned mask, unsigned n)
{
    for (; n > 0; n--)
        mask &= mask - 1;
    return __ffs((int)mask) - 1;
}

}  // namespace gridlane

// --- a block

class thread_block {
public:
    // A thread that arrives waits later: the barrier is whole in the wait, so what a thread does
    // between the two is seen by all behind it.
    struct arrival_token {};
    __device__ static arrival_token barrier_arrive() { return {}; }
    __device__ static void barrier_wait(arrival_token &&) { __syncthreads(); }
    __device__ static void sync() { __syncthreads(); }
    __device__ static unsigned thread_rank() { return gridlane::rank_in_block(); }
    __device__ static unsigned size() { return gridlane::threads_of_block(); }
    __device__ static unsigned num_threads() { return gridlane::threads_of_block(); }
    __device__ static dim3 group_index() { return blockIdx; }
    __device__ static dim3 thread_index() { return threadIdx; }
    __device__ static dim3 group_dim() { return blockDim; }
    __device__ static dim3 dim_threads() { return blockDim; }
};
GRIDLANE_DEVICE thread_block this_thread_block() { return {}; }
// Memory for tiles of more than 32 threads, which have their own: see gridlane/wide_tiles.h.
template <unsigned threads = 1024> struct block_tile_memory { unsigned long long unused; };
template <unsigned threads>
GRIDLANE_DEVICE thread_block this_thread_block(block_tile_memory<threads> &)
{
    return {};
}

// --- a grid

extern "C" __device__ __attribute__((convergent)) unsigned cudaCGSynchronizeGrid(
    unsigned long long grid, unsigned flags);

#ifdef GRIDLANE_PROGRAM
// By the word that a cooperative launch gives: its top bit flips when all blocks have arrived. So a
// GPU's driver runs it; gridlane's own compiler takes a call of it for the barrier of a grid.
extern "C" __device__ __attribute__((noinline, weak, convergent)) void gridlane_meet_grid()
{
    unsigned low, high, before, now;
    asm volatile("mov.u32 %0, %%envreg2;" : "=r"(low));
    asm volatile("mov.u32 %0, %%envreg1;" : "=r"(high));
    unsigned long long workspace = (unsigned long long)high << 32 | low;
    if (!workspace)
        __trap();  // no cooperative launch
    unsigned blocks = gridDim.x * gridDim.y * gridDim.z;
    bool is_first = !(blockIdx.x | blockIdx.y | blockIdx.z);
    __syncthreads();
    if (gridlane::rank_in_block() == 0) {
        unsigned by = is_first ? 0x80000001u - blocks : 1;
        asm volatile("atom.add.release.gpu.u32 %0, [%1], %2;"
                     : "=r"(before) : "l"(workspace + 4), "r"(by) : "memory");
        do
            asm volatile("ld.acquire.gpu.u32 %0, [%1];"
                         : "=r"(now) : "l"(workspace + 4) : "memory");
        while (!((before ^ now) & 0x80000000u));
    }
    __syncthreads();
}
#endif

class grid_group {
public:
#ifdef GRIDLANE_PROGRAM
    __device__ static void sync() { gridlane_meet_grid(); }
#else
    __device__ static void sync() { cudaCGSynchronizeGrid(0, 0); }
#endif
    __device__ static bool is_valid() { return true; }
    __device__ static unsigned long long block_rank()
    {
        return blockIdx.x + (unsigned long long)gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);
    }
    __device__ static unsigned long long num_blocks()
    {
        return (unsigned long long)gridDim.x * gridDim.y * gridDim.z;
    }
    __device__ static unsigned long long thread_rank()
    {
        return block_rank() * gridlane::threads_of_block() + gridlane::rank_in_block();
    }
    __device__ static unsigned long long size() { return num_blocks() * gridlane::threads_of_block(); }
    __device__ static unsigned long long num_threads() { return size(); }
    __device__ static dim3 group_dim() { return gridDim; }
    __device__ static dim3 dim_blocks() { return gridDim; }
    __device__ static dim3 block_index() { return blockIdx; }
    __device__ static unsigned long long cluster_rank()
    {
        const dim3 place = cluster_index(), count = dim_clusters();
        return place.x + (unsigned long long)count.x * (place.y + (unsigned long long)count.y * place.z);
    }
    __device__ static unsigned long long num_clusters()
    {
        const dim3 count = dim_clusters();
        return (unsigned long long)count.x * count.y * count.z;
    }
    __device__ static dim3 dim_clusters() { return __clusterGridDimInClusters(); }
    __device__ static dim3 cluster_index() { return __clusterIdx(); }
};
GRIDLANE_DEVICE grid_group this_grid() { return {}; }

// --- a cluster of blocks

class cluster_group {
public:
    struct arrival_token {};
    __device__ static arrival_token barrier_arrive()
    {
        __cluster_barrier_arrive();
        return {};
    }
    __device__ static void barrier_wait() { __cluster_barrier_wait(); }
    __device__ static void barrier_wait(arrival_token &&) { __cluster_barrier_wait(); }
    __device__ static void sync()
    {
        __cluster_barrier_arrive();
        __cluster_barrier_wait();
    }
    __device__ static unsigned query_shared_rank(const void *place)
    {
        return __cluster_query_shared_rank(place);
    }
    template <typename T> __device__ static T *map_shared_rank(T *place, int rank)
    {
        return (T *)__cluster_map_shared_rank((const void *)place, (unsigned)rank);
    }
    __device__ static dim3 block_index() { return __clusterRelativeBlockIdx(); }
    __device__ static unsigned block_rank() { return __clusterRelativeBlockRank(); }
    __device__ static dim3 dim_blocks() { return __clusterDim(); }
    __device__ static unsigned num_blocks() { return __clusterSizeInBlocks(); }
    __device__ static dim3 thread_index()
    {
        const dim3 block = block_index();
        return dim3(block.x * blockDim.x + threadIdx.x, block.y * blockDim.y + threadIdx.y,
                    block.z * blockDim.z + threadIdx.z);
    }
    __device__ static unsigned thread_rank()
    {
        return block_rank() * gridlane::threads_of_block() + gridlane::rank_in_block();
    }
    __device__ static dim3 dim_threads()
    {
        const dim3 blocks = dim_blocks();
        return dim3(blocks.x * blockDim.x, blocks.y * blockDim.y, blocks.z * blockDim.z);
    }
    __device__ static unsigned num_threads() { return num_blocks() * gridlane::threads_of_block(); }
    __device__ static unsigned size() { return num_threads(); }
};
GRIDLANE_DEVICE cluster_group this_cluster() { return {}; }

// --- threads of one warp, by their lanes

class coalesced_group {
protected:
    unsigned lanes, meta_rank, meta_size;

public:
    __device__ explicit coalesced_group(unsigned lanes, unsigned meta_rank = 0, unsigned meta_size = 1)
        : lanes(lanes), meta_rank(meta_rank), meta_size(meta_size) {}
    __device__ unsigned gridlane_lanes() const { return lanes; }
    __device__ void sync() const { __syncwarp(lanes); }
    __device__ unsigned size() const { return (unsigned)__popc(lanes); }
    __device__ unsigned num_threads() const { return size(); }
    __device__ unsigned thread_rank() const { return (unsigned)__popc(lanes & __lanemask_lt()); }
    __device__ unsigned meta_group_rank() const { return meta_rank; }
    __device__ unsigned meta_group_size() const { return meta_size; }

    template <typename T> __device__ T shfl(const T &v, unsigned rank) const
    {
        int from = gridlane::nth_bit(lanes, rank % size());
        unsigned mask = lanes;
        return gridlane::by_words(v, [=](unsigned word) { return __shfl_sync(mask, word, from); });
    }
    template <typename T> __device__ T shfl_up(const T &v, unsigned by) const
    {
        unsigned own = thread_rank();
        return shfl(v, own >= by ? own - by : own);
    }
    template <typename T> __device__ T shfl_down(const T &v, unsigned by) const
    {
        unsigned own = thread_rank();
        return shfl(v, own + by < size() ? own + by : own);
    }
    __device__ int any(int predicate) const { return __any_sync(lanes, predicate); }
    __device__ int all(int predicate) const { return __all_sync(lanes, predicate); }
    // A bit for each rank.
    __device__ unsigned ballot(int predicate) const
    {
        return packed(__ballot_sync(lanes, predicate));
    }
    template <typename T> __device__ unsigned match_any(T v) const
    {
        return packed(__match_any_sync(lanes, v));
    }
    template <typename T> __device__ unsigned match_all(T v, int &all) const
    {
        return packed(__match_all_sync(lanes, v, &all));
    }

private:
    __device__ unsigned packed(unsigned found) const
    {
        unsigned made = 0, bit = 1;
        for (unsigned rest = lanes; rest; rest &= rest - 1, bit <<= 1)
            made |= found & rest & (0u - rest) ? bit : 0;
        return made;
    }
};
GRIDLANE_DEVICE coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }

// --- a part of a warp of a size that is known

template <unsigned N_, typename Parent = void> class thread_block_tile;

namespace gridlane {

// The group that a tile is a part of: a block, or a larger tile.
template <typename Parent> struct whole {
    __device__ static unsigned rank() { return rank_in_block(); }
    __device__ static unsigned size() { return threads_of_block(); }
};
template <unsigned M_, typename P_> struct whole<thread_block_tile<M_, P_>> {
    __device__ static unsigned rank() { return (M_ > 32 ? rank_in_block() : lane()) & (M_ - 1); }
    __device__ static unsigned size() { return M_; }
};

}  // namespace gridlane

namespace gridlane {

template <unsigned N_, typename Parent, bool is_wide = (N_ > 32)> class tile_of {
    static_assert(N_ >= 1 && (N_ & (N_ - 1)) == 0, "a tile has 1, 2, 4, 8, 16 or 32 threads");

public:
    __device__ unsigned gridlane_lanes() const
    {
        return N_ == 32 ? 0xffffffff : ((1u << (N_ & 31)) - 1) << (gridlane::lane() & ~(N_ - 1));
    }
    __device__ void sync() const { __syncwarp(gridlane_lanes()); }
    __device__ static constexpr unsigned size() { return N_; }
    __device__ static constexpr unsigned num_threads() { return N_; }
    __device__ static unsigned thread_rank() { return gridlane::lane() & (N_ - 1); }
    __device__ static unsigned meta_group_rank() { return gridlane::whole<Parent>::rank() / N_; }
    __device__ static unsigned meta_group_size()
    {
        return (gridlane::whole<Parent>::size() + N_ - 1) / N_;
    }

#define GRIDLANE_SHUFFLE(name, Lane)                                                       \
    template <typename T> __device__ T name(const T &v, Lane lane) const                   \
    {                                                                                      \
        unsigned mask = gridlane_lanes();                                                  \
        return gridlane::by_words(                                                         \
            v, [=](unsigned word) { return __##name##_sync(mask, word, lane, (int)N_); }); \
    }
    GRIDLANE_SHUFFLE(shfl, int)
    GRIDLANE_SHUFFLE(shfl_up, unsigned)
    GRIDLANE_SHUFFLE(shfl_down, unsigned)
    GRIDLANE_SHUFFLE(shfl_xor, int)
#undef GRIDLANE_SHUFFLE
    __device__ int any(int predicate) const { return __any_sync(gridlane_lanes(), predicate); }
    __device__ int all(int predicate) const { return __all_sync(gridlane_lanes(), predicate); }
    __device__ unsigned ballot(int predicate) const
    {
        return packed(__ballot_sync(gridlane_lanes(), predicate));
    }
    template <typename T> __device__ unsigned match_any(T v) const
    {
        return packed(__match_any_sync(gridlane_lanes(), v));
    }
    template <typename T> __device__ unsigned match_all(T v, int &all) const
    {
        return packed(__match_all_sync(gridlane_lanes(), v, &all));
    }

private:
    __device__ static unsigned packed(unsigned found)
    {
        return found >> (gridlane::lane() & ~(N_ - 1) & 31) & (N_ == 32 ? 0xffffffff : (1u << (N_ & 31)) - 1);
    }
};

}  // namespace gridlane

#include "gridlane/wide_tiles.h"

template <unsigned N_, typename Parent>
class thread_block_tile : public gridlane::tile_of<N_, Parent> {};

// A tile whose larger group is not in its type.
template <unsigned N_> class thread_block_tile<N_, void> : public thread_block_tile<N_, thread_block> {
    unsigned meta_rank, meta_size;

public:
    template <typename P_>
    __device__ thread_block_tile(const thread_block_tile<N_, P_> &)
        : meta_rank(thread_block_tile<N_, P_>::meta_group_rank()),
          meta_size(thread_block_tile<N_, P_>::meta_group_size()) {}
    __device__ unsigned meta_group_rank() const { return meta_rank; }
    __device__ unsigned meta_group_size() const { return meta_size; }
};

// A group of any kind: a block, or lanes of a warp (a tile among them).
class thread_group {
    unsigned lanes;  // 0: the block
    unsigned count;

public:
    __device__ thread_group(const thread_block &) : lanes(0), count(0) {}
    __device__ thread_group(const coalesced_group &g) : lanes(g.gridlane_lanes()), count(g.size()) {}
    template <unsigned N_, typename P_>
    __device__ thread_group(const thread_block_tile<N_, P_> &g) : lanes(g.gridlane_lanes()), count(N_) {}
    __device__ thread_group(unsigned lanes, unsigned count) : lanes(lanes), count(count) {}
    __device__ unsigned gridlane_lanes() const { return lanes; }
    __device__ void sync() const
    {
        if (lanes)
            __syncwarp(lanes);
        else
            __syncthreads();
    }
    __device__ unsigned size() const { return lanes ? count : gridlane::threads_of_block(); }
    __device__ unsigned num_threads() const { return size(); }
    __device__ unsigned thread_rank() const
    {
        return lanes ? (unsigned)__popc(lanes & __lanemask_lt()) : gridlane::rank_in_block();
    }
};

// --- parts of groups

template <unsigned N_, typename G_> GRIDLANE_DEVICE thread_block_tile<N_, G_> tiled_partition(const G_ &)
{
    gridlane::begin_tiles<N_, G_>();
    return {};
}
GRIDLANE_DEVICE thread_group tiled_partition(const thread_group &, unsigned size)
{
    unsigned first = gridlane::lane() & ~(size - 1);
    return thread_group(size == 32 ? 0xffffffff : ((1u << (size & 31)) - 1) << first, size);
}
template <typename G_> GRIDLANE_DEVICE coalesced_group binary_partition(const G_ &g, bool predicate)
{
    unsigned lanes = g.gridlane_lanes(), those = __ballot_sync(lanes, predicate);
    return coalesced_group(predicate ? those : lanes & ~those, predicate ? 1 : 0, 2);
}
template <typename G_, typename L_> GRIDLANE_DEVICE coalesced_group labeled_partition(const G_ &g, L_ label)
{
    return coalesced_group(__match_any_sync(g.gridlane_lanes(), label));
}

template <typename G_> GRIDLANE_DEVICE void sync(const G_ &g) { g.sync(); }
// One thread of the group calls the function.
template <typename G_, typename F_, typename... A_>
GRIDLANE_DEVICE void invoke_one(const G_ &g, F_ &&call, A_ &&...each)
{
    if (g.thread_rank() == 0)
        call(static_cast<A_ &&>(each)...);
}
// And all threads get the result.
template <typename G_, typename F_, typename... A_>
GRIDLANE_DEVICE auto invoke_one_broadcast(const G_ &g, F_ &&call, A_ &&...each)
    -> decltype(call(static_cast<A_ &&>(each)...))
{
    decltype(call(static_cast<A_ &&>(each)...)) made{};
    if (g.thread_rank() == 0)
        made = call(static_cast<A_ &&>(each)...);
    return g.shfl(made, 0);
}
template <typename G_> GRIDLANE_DEVICE unsigned thread_rank(const G_ &g) { return (unsigned)g.thread_rank(); }
template <typename G_> GRIDLANE_DEVICE unsigned group_size(const G_ &g) { return (unsigned)g.size(); }

// --- operations of reduce and scan

#define GRIDLANE_OPERATION(name, expression)                                                \
    template <typename T> struct name {                                                     \
        __device__ T operator()(const T &a, const T &b) const { return (T)(expression); }   \
    };
GRIDLANE_OPERATION(plus, a + b)
GRIDLANE_OPERATION(less, b < a ? b : a)
GRIDLANE_OPERATION(greater, a < b ? b : a)
GRIDLANE_OPERATION(bit_and, a & b)
GRIDLANE_OPERATION(bit_or, a | b)
GRIDLANE_OPERATION(bit_xor, a ^ b)
#undef GRIDLANE_OPERATION

}  // namespace cooperative_groups
