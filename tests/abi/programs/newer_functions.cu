// Functions that CUDA has since 13.1 and 13.2.
#include <cstdio>

#define CHECK(what)                                                                            \
    if (int error_ = (what))                                                                   \
        return printf("line %d: %d\n", __LINE__, error_), 1

__global__ void put(int *p, int v, float) { *p = v; }

int main()
{
    cudaGraph_t graph, child, inside, around;
    cudaGraphNode_t first, second, inner;
    cudaGraphExec_t run;
    size_t count = 0;
    CHECK(cudaFuncGetParamCount((const void *)put, &count));
    printf("%zu\n", count);

    CHECK(cudaGraphCreate(&child, 0));
    CHECK(cudaGraphAddEmptyNode(&inner, child, nullptr, 0));
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddEmptyNode(&first, graph, nullptr, 0));
    CHECK(cudaGraphAddChildGraphNode(&second, graph, &first, 1, child));
    CHECK(cudaGraphChildGraphNodeGetGraph(second, &inside));
    count = 1;
    CHECK(cudaGraphGetNodes(inside, &inner, &count));
    CHECK(cudaGraphInstantiate(&run, graph, 0));
    unsigned numbers[3], nodes[2];
    unsigned long long tools[3];
    CHECK(cudaGraphGetId(graph, &numbers[0]));
    CHECK(cudaGraphGetId(inside, &numbers[1]));
    CHECK(cudaGraphExecGetId(run, &numbers[2]));
    CHECK(cudaGraphNodeGetLocalId(first, &nodes[0]));
    CHECK(cudaGraphNodeGetLocalId(second, &nodes[1]));
    CHECK(cudaGraphNodeGetToolsId(first, &tools[0]));
    CHECK(cudaGraphNodeGetToolsId(second, &tools[1]));
    CHECK(cudaGraphNodeGetToolsId(inner, &tools[2]));
    CHECK(cudaGraphNodeGetContainingGraph(inner, &around));
    printf("%d %d %d %d\n", around == inside, nodes[0] != nodes[1],
           numbers[0] != numbers[1] && numbers[1] != numbers[2] && numbers[0] != numbers[2],
           tools[0] != tools[1] && tools[1] != tools[2] && tools[0] != tools[2]);
    cudaError_t wrong = cudaGraphNodeGetContainingGraph(nullptr, &around);
    printf("%s\n", cudaGetErrorName(wrong));
    cudaGetLastError();

    int *p, h[2] = {7, 0};
    cudaMemcpyAttributes how = {};
    how.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    CHECK(cudaMalloc(&p, 4));
    CHECK(cudaMemcpyWithAttributesAsync(p, h, 4, &how, 0));
    CHECK(cudaMemcpyWithAttributesAsync(h + 1, p, 4, &how, 0));
    CHECK(cudaDeviceSynchronize());
    printf("%d\n", h[1]);
}
