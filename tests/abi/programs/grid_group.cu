#include "common.h"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
/* Each thread adds what all others wrote before the grid met. */
__global__ void turns(int *x, int *sums)
{
    cg::grid_group grid = cg::this_grid();
    int own = grid.thread_rank(), all = grid.size();
    for (int turn = 0; turn < 3; turn++) {
        x[own] = own + turn;
        grid.sync();
        int sum = 0;
        for (int n = 0; n < all; n++)
            sum += x[n];
        grid.sync();
        sums[own] += sum;
    }
}
__global__ void meet() { cg::this_grid().sync(); }
__global__ void ranks(int *x) { x[cg::this_grid().thread_rank()] = cg::this_grid().size(); }
int main()
{
    {
        std::vector<int> zeros(64);
        Device<int> x(zeros), sums(zeros);
        void *values[] = {&x.p, &sums.p};
        CHECK(cudaLaunchCooperativeKernel((void *)turns, dim3(1), dim3(64), values, 0, nullptr));
        EXPECT(sums.host() == std::vector<int>(64, 3 * 2016 + 64 * 3));
        ranks<<<4, 16>>>(x.p);
        EXPECT(x.host() == std::vector<int>(64, 64));
    }
#ifdef GRIDLANE_PROGRAM
    {
        std::vector<int> zeros(64);
        Device<int> x(zeros), sums(zeros);
        void *values[] = {&x.p, &sums.p};
        CHECK(cudaLaunchCooperativeKernel((void *)turns, dim3(4), dim3(16), values, 0, nullptr));
        EXPECT(sums.host() == std::vector<int>(64, 3 * 2016 + 64 * 3));
    }
#else
    /* With the vendor's header blocks wait in a loop of their own, which those that run in no order
       cannot: an error, not a wait without end. */
    meet<<<4, 16>>>();
    EXPECT(cudaDeviceSynchronize() != cudaSuccess);
#endif
    puts("well");
}
