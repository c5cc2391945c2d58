// Clusters of blocks in a whole program: by an attribute of the launch, and by the kernel's own.
#include <cooperative_groups.h>
#include <cstdio>
#include <vector>

namespace cg = cooperative_groups;

__global__ void pass(int *out)
{
    __shared__ int cell;
    cg::cluster_group cluster = cg::this_cluster();
    const unsigned rank = cluster.block_rank(), size = cluster.num_blocks();
    cluster.sync();
    if (threadIdx.x == 0)
        *cluster.map_shared_rank(&cell, (rank + 1) % size) = blockIdx.x;
    cluster.sync();
    if (threadIdx.x == 0)
        out[blockIdx.x] = 100 * size + cell;
}

__global__ void __cluster_dims__(2, 1, 1) pairs(int *out)
{
    out[blockIdx.x] = 10 * __clusterIdx().x + cg::this_cluster().block_rank();
}

static int launch(int blocks, int size, int *out)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(64);
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = size;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    config.attrs = &attribute;
    config.numAttrs = 1;
    int clusters = 0;
    if (size <= 8 && cudaOccupancyMaxActiveClusters(&clusters, pass, &config) == cudaSuccess)
        printf("some clusters: %d\n", clusters > 0);
    return cudaLaunchKernelEx(&config, pass, out);
}

int main()
{
    std::vector<int> host(8);
    int *out;
    cudaMalloc(&out, 8 * sizeof(int));
    auto show = [&] {
        cudaMemcpy(host.data(), out, 8 * sizeof(int), cudaMemcpyDeviceToHost);
        for (int each : host)
            printf("%d ", each);
        printf("\n");
    };
    printf("launch: %d\n", launch(8, 4, out));
    show();
    pairs<<<8, 32>>>(out);
    show();
    int wrong = 0;
    for (int n = 0; n < 20; n++) {  // the library launches some kernels by itself after a while
        cudaMemset(out, 0, 8 * sizeof(int));
        pairs<<<8, 32>>>(out);
        cudaMemcpy(host.data(), out, 8 * sizeof(int), cudaMemcpyDeviceToHost);
        for (int block = 0; block < 8; block++)
            wrong += host[block] != 10 * (block / 2) + block % 2;
        pairs<<<7, 32>>>(out);
        wrong += cudaGetLastError() != cudaErrorInvalidClusterSize;
    }
    pass<<<8, 64>>>(out);
    show();
    cudaFuncSetAttribute(pass, cudaFuncAttributeRequiredClusterWidth, 2);
    cudaFuncSetAttribute(pass, cudaFuncAttributeRequiredClusterHeight, 1);
    cudaFuncSetAttribute(pass, cudaFuncAttributeRequiredClusterDepth, 1);
    for (int n = 0; n < 3; n++)
        pass<<<8, 64>>>(out);
    show();
    printf("wrong: %d\n", wrong);
    printf("7 blocks: %s\n", cudaGetErrorName((cudaError_t)launch(7, 2, out)));
    printf("16 in a cluster: %s\n", cudaGetErrorName((cudaError_t)launch(16, 16, out)));
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(8);
    config.blockDim = dim3(64);
    int size = 0;
    printf("most: %d", cudaOccupancyMaxPotentialClusterSize(&size, pass, &config));
    printf(" %d\n", size);
}
