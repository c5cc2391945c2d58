// What CUDA 12 takes beside CUDA 13's API: guards, old names, forms of C++.
#include <cuda.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <cstdio>
#include <iostream>
#include <utility>
#include <vector>

#if !defined __DRIVER_TYPES_H__ || !defined __CUDA_RUNTIME_H__ || !defined __cuda_cuda_h__ || \
    !defined __CUDA_RUNTIME_API_H__ || !defined __VECTOR_TYPES_H__ || !defined __CUDA_FP16_H__ || \
    !defined __DEVICE_LAUNCH_PARAMETERS_H__ || !defined __LIBRARY_TYPES_H__
#error "a guard is missing"
#endif

template <class T> __global__ void set(T *to, T value) { *to = value; }
#include "old_names.cuh"

__device__ int cell;
std::vector<std::vector<std::pair<int, int>> > nested;
struct Counted {
    static int ended;
    ~Counted() { ended++; }
};
int Counted::ended;

#define CHECK(what)                                                                            \
    if (!(what))                                                                               \
        return printf("line %d: " #what "\n", __LINE__), 1

int main()
{
    int *p, h = 0;
    CHECK(!cudaMalloc(&p, 4));
    launch(p, 7);
    CHECK(!cudaThreadSynchronize());
    CHECK(!cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost) && h == 7);
    set<int><<<1, {1, 1}>> >(p, 8);
    CHECK(!cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost) && h == 8);
    std::operator<< <std::char_traits<char>>(std::cout, "<< <1>> >(\n");

    size_t limit;
    cudaFuncCache config = cudaFuncCachePreferL1;
    CHECK(!cudaThreadGetLimit(&limit, cudaLimitStackSize) && limit > 0);
    CHECK(!cudaThreadSetCacheConfig(config) && !cudaThreadGetCacheConfig(&config));

    cudaDeviceProp facts;
    int clock, ratio, overlap;
    CHECK(!cudaGetDeviceProperties(&facts, 0));
    CHECK(!cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, 0) && facts.clockRate == clock);
    CHECK(!cudaDeviceGetAttribute(&overlap, cudaDevAttrGpuOverlap, 0));
    CHECK(!cudaDeviceGetAttribute(&ratio, cudaDevAttrSingleToDoublePrecisionPerfRatio, 0));
    CHECK(facts.singleToDoublePrecisionPerfRatio == ratio && overlap && facts.deviceOverlap == overlap);
    CHECK(facts.computeMode == cudaComputeModeDefault && facts.maxTexture1DLinear > 0);
    CHECK(!facts.kernelExecTimeoutEnabled && !facts.cooperativeMultiDeviceLaunch);
    CHECK(facts.memoryClockRate >= 0 && facts.maxThreadsPerBlock >= 512);

    cudaGraph_t graph;
    cudaGraphNode_t nodes[2], from, to;
    cudaGraphExec_t made;
    cudaGraphExecUpdateResult result;
    size_t count = 1;
    CHECK(!cudaGraphCreate(&graph, 0));
    CHECK(!cudaGraphAddEmptyNode(&nodes[0], graph, nullptr, 0));
    CHECK(!cudaGraphAddMemcpyNodeToSymbol(&nodes[1], graph, nullptr, 0, cell, &h, 4, 0,
                                          cudaMemcpyHostToDevice));
    CHECK(!cudaGraphAddDependencies(graph, &nodes[0], &nodes[1], 1));
    CHECK(!cudaGraphGetEdges(graph, &from, &to, &count) && count == 1 && to == nodes[1]);
    CHECK(!cudaGraphNodeGetDependencies(nodes[1], &from, &count) && from == nodes[0]);
    CHECK(!cudaGraphNodeGetDependentNodes(nodes[0], &to, &count) && to == nodes[1]);
    CHECK(!cudaGraphInstantiate(&made, graph, nullptr, nullptr, 0));
    CHECK(!cudaGraphExecUpdate(made, graph, (cudaGraphNode_t *)nullptr, &result));
    CHECK(result == cudaGraphExecUpdateSuccess);
    int other = 11;
    CHECK(!cudaGraphExecMemcpyNodeSetParamsToSymbol(made, nodes[1], cell, &other, 4, 0,
                                                    cudaMemcpyHostToDevice));
    CHECK(!cudaGraphLaunch(made, 0) && !cudaMemcpyFromSymbol(&h, cell, 4) && h == 11);
    cudaUserObject_t object;
    CHECK(!cudaUserObjectCreate(&object, new Counted, 1, cudaUserObjectNoDestructorSync));
    CHECK(!cudaUserObjectRelease(object) && !cudaThreadSynchronize());
    CHECK(cudaCreateChannelDescHalf2().y == 16);

    CUcontext context; // in CUDA 12's form
    CHECK(!cuInit(0) && !cuCtxCreate(&context, 0, 0) && !cuCtxDestroy(context));
    CHECK(!cudaThreadExit());
    puts("well");
}
