// Running sums: in a warp by shuffles, in a block by shared memory, then over blocks.
#include <cuda.h>
#include <cuda_runtime_api.h>

#define FULL 0xffffffffu

template <class T> __device__ __forceinline__ T warp_scan(T v)
{
#pragma unroll
    for (int by = 1; by < warpSize; by <<= 1) {
        T other = __shfl_up_sync(FULL, v, by);
        if ((threadIdx.x & 31) >= by)
            v += other;
    }
    return v;
}

template <class T> __global__ void scan_blocks(const T *in, T *out, T *sums, int n)
{
    __shared__ T totals[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
    T v = warp_scan(i < n ? in[i] : T(0));
    if (lane == warpSize - 1)
        totals[warp] = v;
    __syncthreads();
    if (warp == 0)
        totals[lane] = warp_scan(lane < blockDim.x / warpSize ? totals[lane] : T(0));
    __syncthreads();
    if (warp > 0)
        v += totals[warp - 1];
    if (i < n)
        out[i] = v;
    if (threadIdx.x == blockDim.x - 1)
        sums[blockIdx.x] = v;
}

template <class T> __global__ void add_sums(T *out, const T *sums, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && blockIdx.x > 0)
        out[i] += sums[blockIdx.x - 1];
}

// Which threads of a warp hold the same key, and how many of them come before.
extern "C" __global__ void ranks(const int *keys, int *rank, int *leaders)
{
    int i = threadIdx.x;
    unsigned same = __match_any_sync(FULL, keys[i]);
    unsigned before = same & ((1u << (i & 31)) - 1);
    rank[i] = __popc(before);
    unsigned heads = __ballot_sync(FULL, before == 0);
    int all;
    __match_all_sync(FULL, keys[i] >> 4, &all);
    leaders[i] = __popc(heads) + 100 * all + 1000 * __syncthreads_count(keys[i] == 1) +
        (__syncthreads_or(keys[i] > 6) ? 100000 : 0) + (__syncthreads_and(keys[i] >= 0) ? 200000 : 0);
}

int main()
{
    long *in = nullptr, *out = nullptr, *sums = nullptr;
    const int n = 1000;
    scan_blocks<<<(n + 127) / 128, 128>>>(in, out, sums, n);
    scan_blocks<long><<<1, 128>>>(sums, sums, sums + 64, 8);
    add_sums<<<(n + 127) / 128, 128>>>(out, sums, n);
    return cudaPeekAtLastError();
}
