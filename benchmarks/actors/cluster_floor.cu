// The floor of a message between two blocks of a cluster, in CUDA C++, by the ring of actors: each block's ring is in its
// own shared memory, and each 16 bytes have a sequence word, so that there is no fence. Beside it the same through global
// memory. nvcc -O3 -arch=native -std=c++17 -I../../src/gridlane/actors/engine -o cluster_floor cluster_floor.cu && ./cluster_floor
#include <cooperative_groups.h>
#include <cstdio>
namespace cg = cooperative_groups;
#include "ring.h"
using Word = unsigned;
constexpr int SHIFT = 4, SLOT = 32; // log2 of the slots of a ring; chunks of a slot

__device__ gl_chunk *slot_of(gl_chunk *ring, Word ticket) {
    return gl_place_of((uint8_t *)ring, ticket, SHIFT, SLOT * sizeof *ring);
}
// Wait for a message; whether it is torn: a chunk's words are of one message.
__device__ bool receive(gl_chunk *ring, Word ticket, int chunks) {
    int lane = threadIdx.x;
    const gl_chunk *at = slot_of(ring, ticket) + min(lane, chunks - 1);
    Word piece[3], sequence = gl_sequence_of(ticket, SHIFT);
    while (!__all_sync(~0u, gl_peek_chunk(at, piece, sequence))) continue;
    return piece[0] != ticket + lane && lane < chunks || piece[1] != ticket || piece[2] != ticket;
}
__device__ void send(gl_chunk *ring, Word ticket, int chunks) {
    int lane = threadIdx.x;
    Word piece[3] = {ticket + lane, ticket, ticket};
    if (lane < chunks) gl_push_chunk(slot_of(ring, ticket) + lane, piece, sizeof piece, gl_sequence_of(ticket, SHIFT));
}
__global__ void hops(gl_chunk *rings, Word n, int chunks, bool cluster, Word *torn) {
    __shared__ gl_chunk own[SLOT << SHIFT];
    cg::cluster_group here = cg::this_cluster();
    Word rank = blockIdx.x & 1, bad = 0;
    for (int k = threadIdx.x; k < SLOT << SHIFT; k += 32) own[k] = {};
    gl_chunk *mine = cluster ? own : rings + rank * (SLOT << SHIFT);
    gl_chunk *theirs = cluster ? here.map_shared_rank(own, rank ^ 1) : rings + (rank ^ 1) * (SLOT << SHIFT);
    here.sync();
    for (Word i = 1; i <= n; i++)
        if (rank) { bad += receive(mine, i, chunks); send(theirs, i, chunks); }
        else { send(theirs, i, chunks); bad += receive(mine, i, chunks); }
    if (bad) atomicAdd(torn, bad);
    here.sync();
}
int main() {
    gl_chunk *rings;
    Word *torn;
    const Word n = 200000;
    cudaMalloc(&rings, 2 * (SLOT << SHIFT) * sizeof *rings);
    cudaMallocManaged(&torn, sizeof *torn);
    for (int chunks : {1, 8, 17}) for (bool cluster : {false, true}) {
        cudaEvent_t a, b;
        cudaEventCreate(&a); cudaEventCreate(&b);
        cudaMemset(rings, 0, 2 * (SLOT << SHIFT) * sizeof *rings);
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
