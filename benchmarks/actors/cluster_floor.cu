// The floor of a message between two blocks of a cluster, in CUDA C++: each block's ring is in its own shared memory, and
// each 16 bytes have a sequence word, so that there is no fence. Beside it the same through global memory.
// nvcc -O3 -arch=native -std=c++17 -o cluster_floor cluster_floor.cu && ./cluster_floor
#include <cooperative_groups.h>
#include <cstdio>
namespace cg = cooperative_groups;
using Word = unsigned;
constexpr int SLOTS = 16, SLOT = 32; // of a ring; chunks of a slot

__device__ uint4 look(const uint4 *at) {
    uint4 v;
    asm volatile("ld.volatile.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(at) : "memory");
    return v;
}
__device__ void put(uint4 *at, uint4 v) {
    asm volatile("st.volatile.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(at), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}
// Wait for a message; whether it is torn: a chunk's words are of one message.
__device__ bool receive(const uint4 *ring, Word number, int chunks) {
    const uint4 *slot = ring + (number % SLOTS) * SLOT;
    int lane = threadIdx.x;
    uint4 v;
    do v = look(slot + min(lane, chunks - 1));
    while (!__all_sync(~0u, v.w == number));
    return v.x != number + lane && lane < chunks || v.y != v.w || v.z != v.w;
}
__device__ void send(uint4 *ring, Word number, int chunks) {
    int lane = threadIdx.x;
    if (lane < chunks) put(ring + (number % SLOTS) * SLOT + lane, {number + lane, number, number, number});
}
__global__ void hops(uint4 *rings, Word n, int chunks, bool cluster, Word *torn) {
    __shared__ uint4 own[SLOTS * SLOT];
    cg::cluster_group here = cg::this_cluster();
    Word rank = blockIdx.x & 1, bad = 0;
    for (int k = threadIdx.x; k < SLOTS * SLOT; k += 32) own[k] = {};
    uint4 *mine = cluster ? own : rings + rank * SLOTS * SLOT;
    uint4 *theirs = cluster ? here.map_shared_rank(own, rank ^ 1) : rings + (rank ^ 1) * SLOTS * SLOT;
    here.sync();
    for (Word i = 1; i <= n; i++)
        if (rank) { bad += receive(mine, i, chunks); send(theirs, i, chunks); }
        else { send(theirs, i, chunks); bad += receive(mine, i, chunks); }
    if (bad) atomicAdd(torn, bad);
    here.sync();
}
int main() {
    uint4 *rings;
    Word *torn;
    const Word n = 200000;
    cudaMalloc(&rings, 2 * SLOTS * SLOT * sizeof(uint4));
    cudaMallocManaged(&torn, sizeof *torn);
    for (int chunks : {1, 8, 17}) for (bool cluster : {false, true}) {
        cudaEvent_t a, b;
        cudaEventCreate(&a); cudaEventCreate(&b);
        cudaMemset(rings, 0, 2 * SLOTS * SLOT * sizeof(uint4));
        *torn = 0;
        cudaLaunchConfig_t config = {};
        cudaLaunchAttribute attribute;
        config.gridDim = 2; config.blockDim = 32;
        attribute.id = cudaLaunchAttributeClusterDimension;
        attribute.val.clusterDim.x = cluster ? 2 : 1;
        attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
        config.attrs = &attribute; config.numAttrs = 1;
        cudaEventRecord(a);
        cudaLaunchKernelEx(&config, hops, rings, n, chunks, cluster, torn);
        cudaEventRecord(b);
        cudaDeviceSynchronize();
        float ms = 0;
        cudaEventElapsedTime(&ms, a, b);
        printf("%3d bytes, sequence word in 16 bytes, %-14s one way %.3f us; torn %u; %s\n", chunks * 16,
               cluster ? "in a cluster:" : "global memory:", ms * 500 / n, *torn, cudaGetErrorString(cudaGetLastError()));
    }
}
