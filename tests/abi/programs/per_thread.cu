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

    /* Copies go to the thread's own stream, too, which can be captured. */
    Device<int> y(std::vector<int>(32, 1));
    cudaGraph_t graph;
    size_t nodes = 0;
    CHECK(cudaStreamBeginCapture(0, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMemsetAsync(y.p, 0, 16));
    more<<<1, 32>>>(y.p, 1);
    CHECK(cudaStreamEndCapture(0, &graph));
    CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
    EXPECT(nodes == 2);
    puts("well");
}
