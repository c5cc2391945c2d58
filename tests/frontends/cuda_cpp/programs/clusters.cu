// Clusters of several blocks: distributed shared memory by cooperative groups.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// Counts of values below `bins`, whose bins the blocks of a cluster share.
extern "C" __global__ void histogram(const int *values, int count, int bins, int *out)
{
    extern __shared__ int part[];
    cg::cluster_group cluster = cg::this_cluster();
    const int own = bins / cluster.num_blocks();
    for (int n = threadIdx.x; n < own; n += blockDim.x)
        part[n] = 0;
    cluster.sync();
    for (int n = cg::this_grid().thread_rank(); n < count; n += cg::this_grid().size()) {
        int *there = cluster.map_shared_rank(part, values[n] / own);
        atomicAdd(there + values[n] % own, 1);
    }
    cluster.sync();
    int *mine = out + cluster.block_rank() * own;
    for (int n = threadIdx.x; n < own; n += blockDim.x)
        atomicAdd(&mine[n], part[n]);
}

// The sum of each cluster's values, which the first block gathers.
extern "C" __global__ void __cluster_dims__(4, 1, 1) sums(const float *values, float *out)
{
    __shared__ float parts[8];
    cg::cluster_group cluster = cg::this_cluster();
    float value = values[blockIdx.x * blockDim.x + threadIdx.x];
    for (int step = 16; step; step /= 2)
        value += __shfl_down_sync(0xffffffff, value, step);
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int n = 1; n < blockDim.x / 32; n++)
            parts[0] += parts[n];
    auto token = cluster.barrier_arrive();
    float total = 0;
    cluster.barrier_wait(static_cast<decltype(token) &&>(token));
    if (cluster.thread_rank() == 0) {
        for (unsigned rank = 0; rank < cluster.num_blocks(); rank++)
            total += *cluster.map_shared_rank(parts, rank);
        out[blockIdx.x / 4] = total;
    }
    cluster.sync();
}

// What a thread knows of its cluster.
extern "C" __global__ void places(int *out)
{
    __shared__ int cell;
    cg::cluster_group cluster = cg::this_cluster();
    const dim3 block = cluster.block_index(), blocks = cluster.dim_blocks();
    const dim3 thread = cluster.thread_index(), threads = cluster.dim_threads();
    const dim3 which = cg::this_grid().cluster_index(), count = cg::this_grid().dim_clusters();
    int *peer = cluster.map_shared_rank(&cell, cluster.num_blocks() - 1);
    const int numbers[] = {
        (int)block.x, (int)block.y, (int)block.z, (int)blocks.x, (int)blocks.y, (int)blocks.z,
        (int)thread.x, (int)thread.y, (int)threads.x, (int)threads.y, (int)which.x, (int)which.y,
        (int)count.x, (int)count.y, (int)cluster.block_rank(), (int)cluster.num_blocks(),
        (int)cluster.thread_rank(), (int)cluster.num_threads(),
        (int)cluster.query_shared_rank(peer), (int)cluster.query_shared_rank(&cell),
    };
    const int size = sizeof(numbers) / sizeof(int);
    const int block_number = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    for (int n = 0; n < size; n++)
        out[(block_number * blockDim.x + threadIdx.x) * size + n] = numbers[n];
}
