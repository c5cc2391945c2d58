// The parts of cub for the elements of a block.
#include <cub/cub.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <vector>

template <typename K, int Threads, int N> __global__ void sorted(const K *in, K *out, K *down)
{
    using Load = cub::BlockLoad<K, Threads, N, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
    using Store = cub::BlockStore<K, Threads, N>;
    using Sort = cub::BlockRadixSort<K, Threads, N>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Store::TempStorage store;
        typename Sort::TempStorage sort;
    } storage;
    K keys[N];
    Load(storage.load).Load(in + blockIdx.x * Threads * N, keys);
    __syncthreads();
    Sort(storage.sort).Sort(keys);
    __syncthreads();
    Store(storage.store).Store(out + blockIdx.x * Threads * N, keys);
    __syncthreads();
    Sort(storage.sort).SortDescendingBlockedToStriped(keys);
    cub::StoreDirectStriped<Threads>(threadIdx.x, down + blockIdx.x * Threads * N, keys);
}

// Pairs by some bits of their keys: equal ones keep their order.
extern "C" __global__ void pairs(unsigned *keys, int *places, int valid)
{
    using Sort = cub::BlockRadixSort<unsigned, 48, 2, int>;
    __shared__ Sort::TempStorage storage;
    unsigned key[2];
    int place[2];
    cub::BlockLoad<unsigned, 48, 2>().Load(keys, key, valid, 0xffffffffu);
    for (int n = 0; n < 2; n++)
        place[n] = threadIdx.x * 2 + n;
    Sort(storage).Sort(key, place, 4, 8);
    cub::StoreDirectBlocked(threadIdx.x, keys, key, valid);
    cub::StoreDirectBlocked(threadIdx.x, places, place);
}

struct Running {
    int total;
    __device__ int operator()(int more)
    {
        int before = total;
        total += more;
        return before;
    }
};

extern "C" __global__ void arranged(const int *in, int *out, int *flags, unsigned *bins, int *sums)
{
    using Exchange = cub::BlockExchange<int, 64, 3>;
    using Heads = cub::BlockDiscontinuity<int, 64>;
    using Histogram = cub::BlockHistogram<int, 64, 3, 10>;
    using Scan = cub::BlockScan<int, 64>;
    __shared__ Exchange::TempStorage exchange;
    __shared__ Heads::TempStorage heads;
    __shared__ Histogram::TempStorage histogram;
    __shared__ Scan::TempStorage scan;
    __shared__ unsigned counts[10];
    int items[3], flag[3], largest[3], sum[3];
    cub::LoadDirectStriped<64>(threadIdx.x, in, items);
    Exchange(exchange).StripedToBlocked(items);
    cub::StoreDirectBlocked(threadIdx.x, out, items);
    Heads(heads).FlagHeads(flag, items, cub::Inequality());
    cub::StoreDirectBlocked(threadIdx.x, flags, flag);
    Histogram(histogram).Histogram(items, counts);
    __syncthreads();
    if (threadIdx.x < 10)
        bins[threadIdx.x] = counts[threadIdx.x];
    Scan(scan).InclusiveScan(items, largest, cub::Max());
    cub::StoreDirectBlocked(threadIdx.x, sums, largest);
    __syncthreads();
    Running running = {1000};
    for (int n = 0; n < 2; n++) {
        Scan(scan).ExclusiveSum(items, sum, running);
        __syncthreads();
        cub::StoreDirectBlocked(threadIdx.x, sums + 192 * (n + 1), sum);
    }
}

int main()
{
    std::vector<int> host(4);
    void *temporary = nullptr;
    size_t bytes = 0;
    int *d = nullptr;
    cub::DeviceReduce::Sum(temporary, bytes, d, d, 4);
    cub::DeviceRadixSort::SortPairs(temporary, bytes, d, d, d, d, 4, 0, 8);
    sorted<float, 64, 4><<<1, 64>>>(nullptr, nullptr, nullptr);
}
