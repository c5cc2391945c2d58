/* Compiled with --default-stream per-thread. */
#include "common.h"
#include <thread>
__global__ void more(int *x, int by) { x[threadIdx.x] += by; }
static void work(int number, int *ok)
{
    Device<int> x(std::vector<int>(32, number));
    for (int n = 0; n < 20; n++)
        more<<<1, 32>>>(x.p, n);
    CHECK(cudaStreamSynchronize(0));
    *ok = x.host() == std::vector<int>(32, number + 190);
}
int main()
{
    int ok[4] = {};
    std::vector<std::thread> threads;
    for (int n = 0; n < 4; n++)
        threads.emplace_back(work, n, &ok[n]);
    for (auto &each : threads)
        each.join();
    EXPECT(ok[0] && ok[1] && ok[2] && ok[3]);
    puts("well");
}
