// Tiles of several warps, and what groups give to one thread.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

struct Affine { float a, b; };  // x -> a x + b; the order of a product matters
__device__ Affine then(const Affine &f, const Affine &g) { return {g.a * f.a, g.a * f.b + g.b}; }
__device__ Affine both(const Affine &f, const Affine &g) { return {f.a + g.a, f.b * g.b}; }

template <unsigned threads> __global__ void tiled(const int *in, int *out, const Affine *maps, Affine *made)
{
    __shared__ cg::block_tile_memory<256> memory;
    auto block = cg::this_thread_block(memory);
    auto tile = cg::tiled_partition<threads>(block);
    auto part = cg::tiled_partition<threads / 2>(tile);
    unsigned i = block.thread_rank();
    int v = in[i], *row = out + 10 * i;
    row[0] = cg::reduce(tile, v, cg::plus<int>()), row[1] = cg::reduce(part, v, cg::greater<int>());
    row[2] = cg::inclusive_scan(tile, v, cg::plus<int>()), row[3] = cg::exclusive_scan(tile, v);
    row[4] = tile.shfl(v, 37), row[5] = tile.any(v == 7) * 10 + tile.all(v != 7);
    row[6] = tile.meta_group_rank() * 100 + tile.meta_group_size(), row[7] = tile.thread_rank();
    row[8] = part.meta_group_rank() * 100 + part.meta_group_size();
    row[9] = cg::invoke_one_broadcast(tile, [&] { return (int)(i + 1000); });
    made[i] = cg::inclusive_scan(tile, maps[i], then);
    made[256 + i] = cg::reduce(tile, maps[i], both);
    if (tile.meta_group_rank() == 1)  // the others are not there
        tile.sync();
}

__global__ void whole_grid(int *data, int *out)
{
    auto grid = cg::this_grid();
    unsigned i = (unsigned)grid.thread_rank(), count = (unsigned)grid.size();
    data[i] = i * i;
    grid.sync();
    out[i] = data[count - 1 - i];
}
