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
/* The same, with work between the arrival and the wait where the header has both. */
__global__ void halves(int *x, int *sums)
{
    cg::grid_group grid = cg::this_grid();
    int own = grid.thread_rank(), all = grid.size();
    for (int turn = 0; turn < 3; turn++) {
        x[own] = own + turn;
#ifdef GRIDLANE_PROGRAM
        grid.sync();
#else
        auto arrived = grid.barrier_arrive();
        sums[own] += turn;
        grid.barrier_wait(std::move(arrived));
        sums[own] -= turn;
#endif
        int sum = 0;
        for (int n = 0; n < all; n++)
            sum += x[n];
        grid.sync();
        sums[own] += sum;
    }
}
#ifndef GRIDLANE_PROGRAM
__global__ void keeps(unsigned long long *word)
{
    unsigned low;
    asm volatile("mov.u32 %0, %%envreg2;" : "=r"(low));
    *word = low;
    cg::this_grid().sync();
}
#endif
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
    for (void *kernel : {(void *)turns, (void *)halves}) {
        std::vector<int> zeros(64);
        Device<int> x(zeros), sums(zeros);
        void *values[] = {&x.p, &sums.p};
        CHECK(cudaLaunchCooperativeKernel(kernel, dim3(4), dim3(4, 2, 2), values, 0, nullptr));
        EXPECT(sums.host() == std::vector<int>(64, 3 * 2016 + 64 * 3));
    }
#ifndef GRIDLANE_PROGRAM
    {
        /* A kernel that does more with the launch's word than to meet is not known to meet: its
           blocks would wait in a loop, which those that run in no order cannot. */
        Device<unsigned long long> word(std::vector<unsigned long long>(1));
        void *values[] = {&word.p};
        EXPECT(cudaLaunchCooperativeKernel((void *)keeps, dim3(4), dim3(16), values, 0, nullptr)
               == cudaErrorNotSupported);
    }
#endif
    puts("well");
}
