// Graphs that allocate, free and choose, and the size of malloc's memory.
#include <cstdio>

#define CHECK(what)                                                                            \
    if (int error_ = (what))                                                                   \
        return printf("line %d: %d\n", __LINE__, error_), 1

__global__ void put(int *p, int v) { *p = v; }
__global__ void add(int *to, const int *from) { *to += *from; }
__global__ void allocate(int *there) { void *p = malloc(24 << 20); *there = p != 0; free(p); }
__global__ void count_down(int *n, cudaGraphConditionalHandle go)
{
    *n -= 1;
    cudaGraphSetConditional(go, *n > 0);
}
__global__ void choose(const int *n, cudaGraphConditionalHandle which) { cudaGraphSetConditional(which, *n); }

// A node that runs a kernel in the body number `place` of a conditional node.
static cudaError_t body(cudaGraphNodeParams &node, int place, void *kernel, void **arguments)
{
    cudaGraphNode_t made;
    cudaKernelNodeParams launch = {};
    launch.func = kernel;
    launch.gridDim = launch.blockDim = dim3(1);
    launch.kernelParams = arguments;
    return cudaGraphAddKernelNode(&made, node.conditional.phGraph_out[place], nullptr, 0, &launch);
}
static cudaGraphNodeParams conditional(cudaGraphConditionalHandle handle,
                                       cudaGraphConditionalNodeType type, unsigned size)
{
    cudaGraphNodeParams made = {};
    made.type = cudaGraphNodeTypeConditional;
    made.conditional.handle = handle;
    made.conditional.type = type;
    made.conditional.size = size;
    return made;
}

int main()
{
    size_t size = 0;
    CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 48 << 20));
    CHECK(cudaDeviceGetLimit(&size, cudaLimitMallocHeapSize));
    CHECK(cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, 32));
    int *n, *sum, h[2] = {-1, -1};
    CHECK(cudaMalloc(&n, 4));
    CHECK(cudaMalloc(&sum, 4));
    allocate<<<1, 1>>>(n);
    CHECK(cudaMemcpy(h, n, 4, cudaMemcpyDeviceToHost));
    printf("%zu %d %d\n", size >> 20, h[0], cudaDeviceSetLimit(cudaLimitMallocHeapSize, 96 << 20));
    cudaGetLastError();

    // Memory of a capture: a part is freed by the graph, a part by the program.
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t run;
    int *inner, *outer;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMemset(sum, 0, 4));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync(&inner, 4, stream));
    CHECK(cudaMallocAsync(&outer, 4, stream));
    put<<<1, 1, 0, stream>>>(inner, 5);
    put<<<1, 1, 0, stream>>>(outer, 7);
    add<<<1, 1, 0, stream>>>(sum, inner);
    add<<<1, 1, 0, stream>>>(sum, outer);
    CHECK(cudaFreeAsync(inner, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&run, graph, 0));
    for (int time = 0; time < 3; time++) {
        CHECK(cudaGraphLaunch(run, stream));
        CHECK(cudaMemcpyAsync(h + 1, outer, 4, cudaMemcpyDeviceToHost, stream));
        CHECK(time == 1 ? cudaFree(outer) : cudaFreeAsync(outer, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(h, sum, 4, cudaMemcpyDeviceToHost));
    cudaGraphNode_t nodes[8];
    size_t count = 8;
    cudaGraphNodeType first, last;
    CHECK(cudaGraphGetNodes(graph, nodes, &count));
    CHECK(cudaGraphNodeGetType(nodes[0], &first));
    CHECK(cudaGraphNodeGetType(nodes[count - 1], &last));
    printf("%d %d %d %d\n", h[0], h[1], first == cudaGraphNodeTypeMemAlloc,
           last == cudaGraphNodeTypeMemFree);
    CHECK(cudaGraphExecDestroy(run));
    CHECK(cudaGraphDestroy(graph));
    printf("%d\n", cudaFree(inner) == cudaErrorInvalidValue);
    cudaGetLastError();

    // The same by nodes; then a loop, a branch and a switch.
    cudaMemAllocNodeParams memory = {};
    memory.poolProps.allocType = cudaMemAllocationTypePinned;
    memory.poolProps.location.type = cudaMemLocationTypeDevice;
    memory.bytesize = 64;
    cudaGraphConditionalHandle go, branch, which;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemAllocNode(&nodes[0], graph, nullptr, 0, &memory));
    CHECK(cudaGraphConditionalHandleCreate(&go, graph, 1, cudaGraphCondAssignDefault));
    CHECK(cudaGraphConditionalHandleCreate(&branch, graph, 0, cudaGraphCondAssignDefault));
    CHECK(cudaGraphConditionalHandleCreate(&which, graph));
    int *p = (int *)memory.dptr, four = 4, two = 2;
    void *put_four[] = {&p, &four}, *down[] = {&n, &go}, *sum_of[] = {&sum, &p};
    void *chosen[] = {&n, &which}, *put_two[] = {&n, &two};
    cudaKernelNodeParams launch = {};
    launch.func = (void *)put;
    launch.gridDim = launch.blockDim = dim3(1);
    launch.kernelParams = put_four;
    CHECK(cudaGraphAddKernelNode(&nodes[1], graph, &nodes[0], 1, &launch));
    cudaGraphNodeParams loop = conditional(go, cudaGraphCondTypeWhile, 1);
    CHECK(cudaGraphAddNode(&nodes[2], graph, &nodes[1], nullptr, 1, &loop));
    CHECK(body(loop, 0, (void *)count_down, down));
    cudaGraphNodeParams either = conditional(branch, cudaGraphCondTypeIf, 2);
    CHECK(cudaGraphAddNode(&nodes[3], graph, &nodes[2], nullptr, 1, &either));
    CHECK(body(either, 1, (void *)put, put_two));
    launch.func = (void *)choose;
    launch.kernelParams = chosen;
    CHECK(cudaGraphAddKernelNode(&nodes[4], graph, &nodes[3], 1, &launch));
    cudaGraphNodeParams cases = conditional(which, cudaGraphCondTypeSwitch, 3);
    CHECK(cudaGraphAddNode(&nodes[5], graph, &nodes[4], nullptr, 1, &cases));
    CHECK(body(cases, 2, (void *)add, sum_of));
    CHECK(cudaGraphAddMemFreeNode(&nodes[6], graph, &nodes[5], 1, memory.dptr));
    CHECK(cudaGraphInstantiate(&run, graph, 0));
    CHECK(cudaMemset(sum, 0, 4));
    for (int time = 0; time < 2; time++) {
        put<<<1, 1, 0, stream>>>(n, 3);
        CHECK(cudaGraphLaunch(run, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(h, sum, 4, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(h + 1, n, 4, cudaMemcpyDeviceToHost));
    printf("%d %d\n", h[0], h[1]); // the loop ended at 0, the branch put 2, case 2 added 4, twice
    CHECK(cudaGraphExecDestroy(run));
    CHECK(cudaGraphDestroy(graph));

    // A node frees memory that the program has freed and a launch will allocate again. The memory
    // counts as the graphs' until it is free and trimmed. A capture into a graph has no other result.
    cudaGraph_t frees, captured;
    cudaGraphExec_t allocation, release;
    unsigned long long used[4] = {}, zero = 0;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphCreate(&frees, 0));
    CHECK(cudaGraphCreate(&captured, 0));
    CHECK(cudaGraphAddMemAllocNode(&nodes[0], graph, nullptr, 0, &memory));
    CHECK(cudaGraphInstantiate(&allocation, graph, 0));
    CHECK(cudaGraphLaunch(allocation, stream));
    CHECK(cudaFreeAsync(memory.dptr, stream));
    CHECK(cudaGraphAddMemFreeNode(&nodes[1], frees, nullptr, 0, memory.dptr));
    CHECK(cudaGraphInstantiate(&release, frees, 0));
    CHECK(cudaDeviceGraphMemTrim(0));
    CHECK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &zero));
    CHECK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &used[0]));
    CHECK(cudaGraphLaunch(allocation, stream));
    CHECK(cudaGraphLaunch(release, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used[1]));
    CHECK(cudaDeviceGraphMemTrim(0));
    CHECK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used[2]));
    CHECK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &used[3]));
    const bool refused = cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &zero) == cudaErrorInvalidValue;
    cudaGetLastError();
    CHECK(cudaStreamBeginCaptureToGraph(stream, captured, nullptr, nullptr, 0, cudaStreamCaptureModeGlobal));
    put<<<1, 1, 0, stream>>>(n, 3);
    CHECK(cudaStreamEndCapture(stream, nullptr));
    CHECK(cudaGraphGetNodes(captured, nullptr, &count));
    printf("%llu %llu %llu %llu %d %zu\n", used[0], used[1], used[2], used[3], refused, count);
}
