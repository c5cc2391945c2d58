#include "common.h"
__global__ void more(int *x, int by) { x[threadIdx.x] += by; }
int main()
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t made;
    CHECK(cudaStreamCreate(&stream));
    std::vector<int> start(32, 5);
    Device<int> x(start);
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int n = 1; n <= 3; n++)
        more<<<1, 32, 0, stream>>>(x.p, n);
    CHECK(cudaStreamEndCapture(stream, &graph));
    size_t count = 0;
    CHECK(cudaGraphGetNodes(graph, nullptr, &count));
    EXPECT(count == 3);
    EXPECT(x.host() == start);
    CHECK(cudaGraphInstantiate(&made, graph, 0));
    for (int n = 0; n < 4; n++)
        CHECK(cudaGraphLaunch(made, stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(x.host() == std::vector<int>(32, 5 + 4 * 6));
    CHECK(cudaGraphExecDestroy(made));
    CHECK(cudaGraphDestroy(graph));
    puts("well");
}
