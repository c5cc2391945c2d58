// Sums and extremes by cooperative groups.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <iostream>
#include <vector>

namespace cg = cooperative_groups;

template <typename T, int BLOCK> __device__ T block_sum(cg::thread_block block, T value)
{
    __shared__ T partial[BLOCK / 32];
    auto warp = cg::tiled_partition<32>(block);
    T sum = cg::reduce(warp, value, cg::plus<T>());
    if (warp.thread_rank() == 0)
        partial[warp.meta_group_rank()] = sum;
    block.sync();
    sum = block.thread_rank() < BLOCK / 32 ? partial[block.thread_rank()] : T(0);
    return warp.meta_group_rank() == 0 ? cg::reduce(warp, sum, cg::plus<T>()) : T(0);
}

template <typename T> __global__ void total(const T *values, T *result, int count)
{
    cg::thread_block block = cg::this_thread_block();
    T own = 0;
    for (unsigned i = cg::this_grid().thread_rank(); i < count; i += cg::this_grid().size())
        own += values[i];
    T sum = block_sum<T, 128>(block, own);
    if (block.thread_rank() == 0)
        atomicAdd(result, sum);
}

struct Place {
    float value;
    int index;
};

__global__ void largest(const float *values, Place *places, int count)
{
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Place own = {i < count ? values[i] : -INFINITY, i};
    Place best = cg::reduce(tile, own, [](const Place &a, const Place &b) {
        return a.value > b.value || (a.value == b.value && a.index < b.index) ? a : b;
    });
    if (tile.thread_rank() == 0)
        places[i / 16] = best;
}

// One atomic for all threads of a warp that have come here.
__global__ void kept(const int *values, int *out, int *counter, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count && values[i] % 3 == 0) {
        cg::coalesced_group active = cg::coalesced_threads();
        int first = 0;
        if (active.thread_rank() == 0)
            first = atomicAdd(counter, (int)active.size());
        out[active.shfl(first, 0) + active.thread_rank()] = values[i];
    }
}

int main()
{
    std::vector<double> host(1000, 1.0);
    double *values, *result;
    cudaMalloc(&values, host.size() * sizeof(double));
    cudaMallocManaged(&result, sizeof(double));
    cudaMemcpy(values, host.data(), host.size() * sizeof(double), cudaMemcpyHostToDevice);
    total<double><<<4, 128>>>(values, result, (int)host.size());
    cudaDeviceSynchronize();
    std::cout << *result << std::endl;
    return *result == 1000.0 ? 0 : 1;
}
