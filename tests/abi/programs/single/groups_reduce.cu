#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
#include <vector>
namespace cg = cooperative_groups;
template <int tile_size> __device__ int tile_sum(cg::thread_block_tile<tile_size> g, int val)
{
    for (int i = g.size() / 2; i > 0; i /= 2) val += g.shfl_down(val, i);
    return val;
}
__global__ void sum_kernel(int *sum, const int *in, int n)
{
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<32>(block);
    int mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += in[i];
    int warp = tile_sum<32>(tile, mine);
    if (tile.thread_rank() == 0) atomicAdd(&sum[0], warp);
    int all = cg::reduce(tile, mine, cg::plus<int>());
    if (tile.thread_rank() == 31) atomicAdd(&sum[1], all);
    cg::coalesced_group active = cg::coalesced_threads();
    if (block.thread_rank() % 3 == 0) {
        cg::coalesced_group some = cg::coalesced_threads();
        if (some.thread_rank() == 0) atomicAdd(&sum[2], some.size());
    }
    block.sync();
}
int main()
{
    int n = 10000, expected = 0, h[3], *d, *sums;
    std::vector<int> v(n);
    for (int i = 0; i < n; i++) expected += v[i] = i % 13 - 3;
    cudaMalloc(&d, n * sizeof(int));
    cudaMalloc(&sums, sizeof(h));
    cudaMemset(sums, 0, sizeof(h));
    cudaMemcpy(d, v.data(), n * sizeof(int), cudaMemcpyDefault);
    int blockSize, minGrid;
    cudaOccupancyMaxPotentialBlockSize(&minGrid, &blockSize, (void *)sum_kernel, 0, 0);
    if (blockSize < 32 || minGrid < 1) return 1;
    sum_kernel<<<4, 96>>>(sums, d, n);
    if (cudaDeviceSynchronize() != cudaSuccess) return 2;
    cudaMemcpy(h, sums, sizeof(h), cudaMemcpyDeviceToHost);
    bool ok = h[0] == expected && h[1] == expected && h[2] == 4 * 32;
    printf("%s\n", ok ? "PASS" : "FAIL");
    return !ok;
}
