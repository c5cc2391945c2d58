// NVIDIA's own libraries of templates.
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_run_length_decode.cuh>
#include <cub/block/block_discontinuity.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
#include <cub/warp/warp_merge_sort.cuh>
#include <cuda/std/array>
#include <cuda/std/complex>
#include <cuda/std/tuple>
#include <cuda/std/optional>
#include <cuda/std/bit>
#include <cuda/std/utility>

extern "C" __global__ void block_reduce(const int *x, int *y)
{
    using Reduce = cub::BlockReduce<int, 128>;
    __shared__ typename Reduce::TempStorage memory;
    int sum = Reduce(memory).Sum(x[threadIdx.x]);
    if (threadIdx.x == 0)
        *y = sum;
}

extern "C" __global__ void block_scan(const int *x, int *y)
{
    using Scan = cub::BlockScan<int, 128>;
    __shared__ typename Scan::TempStorage memory;
    int items[4];
    for (int k = 0; k < 4; k++)
        items[k] = x[threadIdx.x * 4 + k];
    Scan(memory).InclusiveSum(items, items);
    for (int k = 0; k < 4; k++)
        y[threadIdx.x * 4 + k] = items[k];
}

extern "C" __global__ void block_sort(const unsigned *x, unsigned *y)
{
    using Sort = cub::BlockRadixSort<unsigned, 64, 4>;
    __shared__ typename Sort::TempStorage memory;
    unsigned items[4];
    for (int k = 0; k < 4; k++)
        items[k] = x[threadIdx.x * 4 + k];
    Sort(memory).Sort(items);
    for (int k = 0; k < 4; k++)
        y[threadIdx.x * 4 + k] = items[k];
}

extern "C" __global__ void block_load(const float *x, float *y, int n)
{
    using Load = cub::BlockLoad<float, 64, 4, cub::BLOCK_LOAD_TRANSPOSE>;
    using Store = cub::BlockStore<float, 64, 4, cub::BLOCK_STORE_WARP_TRANSPOSE>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Store::TempStorage store;
    } memory;
    float items[4];
    Load(memory.load).Load(x + blockIdx.x * 256, items, n - blockIdx.x * 256, 0.0f);
    for (int k = 0; k < 4; k++)
        items[k] *= 2;
    __syncthreads();
    Store(memory.store).Store(y + blockIdx.x * 256, items, n - blockIdx.x * 256);
}

extern "C" __global__ void block_histogram(const unsigned char *x, int *y)
{
    using Histogram = cub::BlockHistogram<unsigned char, 64, 4, 256, cub::BLOCK_HISTO_ATOMIC>;
    __shared__ typename Histogram::TempStorage memory;
    __shared__ int bins[256];
    unsigned char items[4];
    for (int k = 0; k < 4; k++)
        items[k] = x[threadIdx.x * 4 + k];
    Histogram(memory).Histogram(items, bins);
    __syncthreads();
    for (int k = threadIdx.x; k < 256; k += 64)
        y[k] = bins[k];
}

struct Less {
    template <typename T> __device__ bool operator()(const T &a, const T &b) const { return a < b; }
};

extern "C" __global__ void merge_sort(const int *x, int *y)
{
    using Sort = cub::BlockMergeSort<int, 64, 4>;
    __shared__ typename Sort::TempStorage memory;
    int items[4];
    for (int k = 0; k < 4; k++)
        items[k] = x[threadIdx.x * 4 + k];
    Sort(memory).Sort(items, Less());
    for (int k = 0; k < 4; k++)
        y[threadIdx.x * 4 + k] = items[k];
}

extern "C" __global__ void heads(const int *x, int *y)
{
    using Flags = cub::BlockDiscontinuity<int, 64>;
    __shared__ typename Flags::TempStorage memory;
    int items[2] = {x[threadIdx.x * 2], x[threadIdx.x * 2 + 1]}, flags[2];
    Flags(memory).FlagHeads(flags, items, cuda::std::not_equal_to<>());
    y[threadIdx.x * 2] = flags[0];
    y[threadIdx.x * 2 + 1] = flags[1];
}

extern "C" __global__ void warp_both(const float *x, float *y, int *z)
{
    __shared__ typename cub::WarpReduce<float>::TempStorage reduce[2];
    __shared__ typename cub::WarpScan<int>::TempStorage scan[2];
    int warp = threadIdx.x / 32, made;
    float most = cub::WarpReduce<float>(reduce[warp]).Reduce(x[threadIdx.x], cuda::maximum<>());
    cub::WarpScan<int>(scan[warp]).ExclusiveSum((int)(x[threadIdx.x] * 10), made);
    if (threadIdx.x % 32 == 0)
        y[warp] = most;
    z[threadIdx.x] = made;
}

extern "C" __global__ void complexes(const float2 *x, float2 *y)
{
    cuda::std::complex<float> v(x[threadIdx.x].x, x[threadIdx.x].y);
    v = v * v + cuda::std::conj(v) / cuda::std::complex<float>(1.5f, 0.5f);
    y[threadIdx.x] = {v.real(), v.imag()};
}

extern "C" __global__ void standard(const int *x, int *y)
{
    cuda::std::array<int, 8> own;
    for (int k = 0; k < 8; k++)
        own[k] = x[(threadIdx.x + k * 5) % 32];
    for (int k = 1; k < 8; k++)
        for (int j = k; j > 0 && own[j] < own[j - 1]; j--)
            cuda::std::swap(own[j], own[j - 1]);
    auto [low, high] = cuda::std::make_tuple(own.front(), own.back());
    cuda::std::optional<int> found;
    for (int v : own)
        if (v > 40 && !found)
            found = v;
    y[threadIdx.x] = low + 1000 * high + 1000000 * found.value_or(7)
        + (int)cuda::std::popcount((unsigned)own[3]);
}
