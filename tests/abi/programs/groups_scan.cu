#include "common.h"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void scan(const int *x, int *y)
{
    __shared__ int sums[32];
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    int value = x[threadIdx.x];
    for (int d = 1; d < 32; d *= 2) {
        int other = warp.shfl_up(value, d);
        if (warp.thread_rank() >= d)
            value += other;
    }
    if (warp.thread_rank() == 31)
        sums[warp.meta_group_rank()] = value;
    block.sync();
    for (unsigned w = 0; w < warp.meta_group_rank(); w++)
        value += sums[w];
    y[threadIdx.x] = value;
}
int main()
{
    std::vector<int> x(512), expected(512);
    for (int i = 0, sum = 0; i < 512; i++)
        x[i] = i * i % 37, expected[i] = sum += x[i];
    Device<int> dx(x), dy(std::vector<int>(512));
    scan<<<1, 512>>>(dx.p, dy.p);
    EXPECT(dy.host() == expected);
    puts("well");
}
