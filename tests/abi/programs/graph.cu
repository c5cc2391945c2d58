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

    /* A graph made by hand names kernels by their functions of the host. */
    int by = 7;
    void *values[] = {&x.p, &by};
    cudaKernelNodeParams launch = {(void *)more, dim3(1), dim3(32), 0, values, nullptr};
    cudaGraphNode_t first, second;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddKernelNode(&first, graph, nullptr, 0, &launch));
    EXPECT(launch.func == (void *)more);
    cudaGraphNodeParams any = {cudaGraphNodeTypeKernel};
    any.kernel.func = (void *)more;
    any.kernel.gridDim = dim3(1);
    any.kernel.blockDim = dim3(32);
    any.kernel.kernelParams = values;
#if CUDART_VERSION >= 13000
    CHECK(cudaGraphAddNode(&second, graph, &first, nullptr, 1, &any));
#else
    CHECK(cudaGraphAddNode(&second, graph, &first, 1, &any));
#endif
    CHECK(cudaGraphInstantiate(&made, graph, 0));
    by = 10;
    CHECK(cudaGraphExecKernelNodeSetParams(made, first, &launch));
    CHECK(cudaGraphLaunch(made, stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(x.host() == std::vector<int>(32, 29 + 7 + 10));
    launch.func = &by;
    EXPECT(cudaGraphKernelNodeSetParams(first, &launch) == cudaErrorInvalidDeviceFunction);
    CHECK(cudaGraphExecDestroy(made));
    CHECK(cudaGraphDestroy(graph));
    puts("well");
}
