// Cooperative groups.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

extern "C" __global__ void tiles(const int *x, int *y)
{
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    int own = x[block.thread_rank()];
    int sum = own;
    for (int d = tile.size() / 2; d > 0; d /= 2)
        sum += tile.shfl_down(sum, d);
    sum = tile.shfl(sum, 0);
    y[block.thread_rank()] = sum * 10 + tile.thread_rank() + 100000 * tile.meta_group_rank()
        + tile.any(own > 90) + (tile.ballot(own & 1) << 8);
}

extern "C" __global__ void tile_reduce(const int *x, int *y, float *z)
{
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int i = threadIdx.x;
    y[i] = cg::reduce(tile, x[i], cg::plus<int>()) - cg::reduce(tile, x[i], cg::less<int>());
    z[i] = cg::reduce(tile, (float)x[i], cg::greater<float>());
}

extern "C" __global__ void tile_scan(const int *x, int *y, int *z)
{
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    int i = threadIdx.x;
    y[i] = cg::inclusive_scan(tile, x[i]);
    z[i] = cg::exclusive_scan(tile, x[i], cg::bit_xor<int>());
}

extern "C" __global__ void coalesced(const int *x, int *count, int *where)
{
    int i = threadIdx.x;
    if (x[i] % 3 == 0) {
        auto active = cg::coalesced_threads();
        int start = 0;
        if (active.thread_rank() == 0)
            start = atomicAdd(count, active.size());
        where[i] = active.shfl(start, 0) + active.thread_rank();
    }
}

extern "C" __global__ void block_sync(const int *x, int *y)
{
    __shared__ int s[64];
    auto block = cg::this_thread_block();
    s[block.thread_rank()] = x[block.thread_rank()];
    block.sync();
    y[block.thread_rank()] = s[block.size() - 1 - block.thread_rank()] + block.group_dim().x
        + block.group_index().x;
}

extern "C" __global__ void labelled(const int *x, int *y)
{
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    auto same = cg::labeled_partition(tile, x[threadIdx.x] & 3);
    y[threadIdx.x] = same.size() * 100 + same.thread_rank();
}

extern "C" __global__ void binary(const int *x, int *y)
{
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    auto half = cg::binary_partition(tile, x[threadIdx.x] > 50);
    y[threadIdx.x] = cg::reduce(half, x[threadIdx.x], cg::plus<int>());
}

extern "C" __global__ void grid_sync(int *x, int *y)
{
    auto grid = cg::this_grid();
    int i = grid.thread_rank();
    x[i] = i * 3;
    grid.sync();
    y[i] = x[grid.size() - 1 - i];
}

extern "C" __global__ void large_tile(const int *x, int *y)
{
    __shared__ cg::block_tile_memory<128> memory;
    auto block = cg::this_thread_block(memory);
    auto tile = cg::tiled_partition<64>(block);
    y[threadIdx.x] = cg::reduce(tile, x[threadIdx.x], cg::plus<int>());
}
