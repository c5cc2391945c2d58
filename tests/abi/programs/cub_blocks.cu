// cub's parts of blocks and warps: each writes a row of what its threads have.
#include <cub/cub.cuh>
#include <cub/block/block_adjacent_difference.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_run_length_decode.cuh>
#include <cub/block/block_shuffle.cuh>
#include <cub/warp/warp_exchange.cuh>
#include <cub/warp/warp_merge_sort.cuh>
#include <cstdio>
const int THREADS = 64, EACH = 3, ALL = THREADS * EACH, ROWS = 64;
struct less { template <typename T> __host__ __device__ bool operator()(const T &a, const T &b) const { return a < b; } };
struct differ { __host__ __device__ bool operator()(int a, int b) const { return a != b; } };
struct minus { __host__ __device__ int operator()(int a, int b) const { return a - b; } };
struct largest { __host__ __device__ int operator()(int a, int b) const { return a < b ? b : a; } };
struct plus { __host__ __device__ int operator()(int a, int b) const { return a + b; } };
struct Running { int total; __device__ int operator()(int more) { int before = total; total += more; return before; } };
struct Pair { double key; short place; Pair() = default; __host__ __device__ Pair(double key, int place) : key(key), place((short)place) {} };
struct by_tens { __host__ __device__ bool operator()(const Pair &a, const Pair &b) const { return (int)a.key / 10 < (int)b.key / 10; } };
__device__ int row;
__device__ void show(int *out, const int (&items)[EACH]) {
    for (int n = 0; n < EACH; n++) out[row * ALL + threadIdx.x * EACH + n] = items[n];
    __syncthreads();
    if (!threadIdx.x) row++;
    __syncthreads();
}
__device__ void show(int *out, int a, int b = 0, int c = 0) { int items[EACH] = {a, b, c}; show(out, items); }
__global__ void sorts(const int *in, int *out) {
    using Sort = cub::BlockMergeSort<int, THREADS, EACH>;
    using Pairs = cub::BlockMergeSort<Pair, THREADS, EACH, int>;
    using Warp = cub::WarpMergeSort<int, EACH, 16, int>;
    __shared__ union { Sort::TempStorage sort; Pairs::TempStorage pairs; Warp::TempStorage warp[THREADS / 16]; } storage;
    int keys[EACH], values[EACH];
    Pair pairs[EACH];
    cub::LoadDirectBlocked(threadIdx.x, in, keys);
    for (int n = 0; n < EACH; n++) { values[n] = threadIdx.x * EACH + n; pairs[n] = Pair(keys[n] + 100, values[n]); }
    Sort(storage.sort).Sort(keys, less()); show(out, keys);
    cub::LoadDirectBlocked(threadIdx.x, in, keys);
    Sort(storage.sort).Sort(keys, less(), 100, 1000);
    for (int n = 0; n < EACH; n++) keys[n] = threadIdx.x * EACH + n < 100 ? keys[n] : 0;
    show(out, keys);
    Pairs(storage.pairs).StableSort(pairs, values, by_tens()); show(out, values);
    cub::LoadDirectBlocked(threadIdx.x, in, keys);
    Warp(storage.warp[threadIdx.x / 16]).StableSort(keys, values, less()); show(out, keys); show(out, values);
}
__global__ void neighbours(const int *in, int *out) {
    using Difference = cub::BlockAdjacentDifference<int, THREADS>;
    using Shuffle = cub::BlockShuffle<int, THREADS>;
    using Heads = cub::BlockDiscontinuity<int, THREADS>;
    __shared__ Difference::TempStorage difference;
    __shared__ Shuffle::TempStorage shuffle;
    __shared__ Heads::TempStorage heads;
    int items[EACH], made[EACH], more[EACH], one = -1, two = -1, end = 0;
    cub::LoadDirectBlocked(threadIdx.x, in, items);
    Difference(difference).SubtractLeft(items, made, minus()); show(out, made);
    Difference(difference).SubtractLeft(items, made, minus(), 500); show(out, made);
    Difference(difference).SubtractLeftPartialTile(items, made, minus(), 100); show(out, made);
    Difference(difference).SubtractRight(items, made, plus()); show(out, made);
    Difference(difference).SubtractRight(items, made, plus(), 500); show(out, made);
    Difference(difference).SubtractRightPartialTile(items, made, plus(), 100); show(out, made);
    Shuffle(shuffle).Offset(items[0], one, -5); __syncthreads();
    Shuffle(shuffle).Rotate(items[1], two, 7); __syncthreads(); show(out, one, two);
    made[0] = -7; made[2] = -8;
    Shuffle(shuffle).Up(items, made, end); __syncthreads(); show(out, made); show(out, end);
    made[0] = -7; made[2] = -8;
    Shuffle(shuffle).Down(items, made, end); __syncthreads(); show(out, made); show(out, end);
    Heads(heads).FlagHeadsAndTails(made, 3, more, 9, items, differ()); show(out, made); show(out, more);
}
__global__ void runs(const int *in, int *out) {
    using Decode = cub::BlockRunLengthDecode<int, THREADS, 2, EACH>;
    __shared__ Decode::TempStorage storage;
    int values[2] = {(int)threadIdx.x, (int)threadIdx.x + 100}, lengths[2] = {1 + (int)threadIdx.x % 4, 2}, total, items[EACH], places[EACH];
    Decode decode(storage, values, lengths, total);
    for (int from = 0; from + ALL <= total; from += ALL) {
        decode.RunLengthDecode(items, places, from); show(out, items); show(out, places);
    }
    show(out, total);
}
__global__ void exchanges(const int *in, int *out) {
    using Exchange = cub::WarpExchange<int, EACH, 16>;
    using Block = cub::BlockExchange<int, THREADS, EACH>;
    __shared__ Exchange::TempStorage storage[THREADS / 16];
    __shared__ Block::TempStorage block;
    int items[EACH], made[EACH], ranks[EACH];
    Exchange exchange(storage[threadIdx.x / 16]);
    cub::LoadDirectBlocked(threadIdx.x, in, items);
    exchange.BlockedToStriped(items, made); show(out, made);
    exchange.StripedToBlocked(made, made); show(out, made);
    for (int n = 0; n < EACH; n++) ranks[n] = 47 - (threadIdx.x % 16 * EACH + n);
    exchange.ScatterToStriped(items, made, ranks); show(out, made);
    for (int n = 0; n < EACH; n++) ranks[n] = threadIdx.x * EACH + n;
    Block(block).BlockedToStriped(items); __syncthreads();
    ranks[1] = threadIdx.x == 5 ? -1 : ranks[1];
    Block(block).ScatterToStripedGuarded(items, ranks); show(out, items);
}
__global__ void scans(const int *in, int *out) {
    using Scan = cub::BlockScan<int, THREADS>;
    using Warp = cub::WarpScan<int, 16>;
    using Fold = cub::WarpReduce<int, 16>;
    __shared__ Scan::TempStorage storage;
    __shared__ Warp::TempStorage warps[THREADS / 16];
    __shared__ Fold::TempStorage folds[THREADS / 16];
    int items[EACH], made[EACH], a = 0, b = 0, total = 0, w = threadIdx.x / 16;
    cub::LoadDirectBlocked(threadIdx.x, in, items);
    Scan scan(storage);
    Running running = {1000};
    scan.ExclusiveScan(items[0], a, largest(), total); __syncthreads(); show(out, threadIdx.x ? a : 0, total);
    scan.ExclusiveScan(items[0], a, 20, plus(), total); __syncthreads(); show(out, a, total);
    scan.InclusiveScan(items[0], a, plus(), running); __syncthreads(); show(out, a);
    scan.InclusiveScan(items, made, largest(), total); __syncthreads(); show(out, made); show(out, total);
    scan.InclusiveScan(items, made, 20, plus(), total); __syncthreads(); show(out, made); show(out, total);
    scan.ExclusiveScan(items, made, 20, largest(), total); __syncthreads(); show(out, made); show(out, total);
    scan.ExclusiveScan(items, made, plus(), running); __syncthreads(); show(out, made);
    scan.InclusiveScan(items, made, plus(), running); __syncthreads(); show(out, made);
    Warp(warps[w]).InclusiveScan(items[0], a, 20, plus(), total); show(out, a, total);
    Warp(warps[w]).ExclusiveScan(items[0], a, 20, largest(), total); show(out, a, total);
    Warp(warps[w]).ExclusiveScan(items[0], a, plus(), total); show(out, threadIdx.x % 16 ? a : 0, total);
    Warp(warps[w]).Scan(items[0], a, b, 5, plus()); show(out, a, b, Warp(warps[w]).Broadcast(items[1], 3));
    bool flag = threadIdx.x % 5 == 2;
    a = Fold(folds[w]).HeadSegmentedSum(items[0], flag);
    b = Fold(folds[w]).TailSegmentedReduce(items[0], flag, largest());
    bool head = threadIdx.x % 16 == 0 || flag, tail = threadIdx.x % 16 == 0 || (threadIdx.x + 4) % 5 == 2;
    show(out, head ? a : 0, tail ? b : 0);
}
int main() {
    static int in[ALL], out[ROWS][ALL];
    for (int i = 0; i < ALL; i++) in[i] = i * 37 % 101 / 3 - 5;
    int *given, *made, rows = 0;
    cudaMalloc(&given, sizeof in);
    cudaMalloc(&made, sizeof out);
    cudaMemset(made, 0, sizeof out);
    cudaMemcpy(given, in, sizeof in, cudaMemcpyHostToDevice);
    sorts<<<1, THREADS>>>(given, made);
    neighbours<<<1, THREADS>>>(given, made);
    runs<<<1, THREADS>>>(given, made);
    exchanges<<<1, THREADS>>>(given, made);
    scans<<<1, THREADS>>>(given, made);
    cudaMemcpy(out, made, sizeof out, cudaMemcpyDeviceToHost);
    cudaMemcpyFromSymbol(&rows, row, sizeof rows);
    printf("%s: %d rows\n", cudaGetErrorString(cudaGetLastError()), rows);
    for (int r = 0; r < rows; r++) {
        unsigned all = 0;
        for (int i = 0; i < ALL; i++) all = all * 31 + out[r][i];
        printf("%08x:", all);
        for (int i = 0; i < 15; i++) printf(" %d", out[r][i + 12 * (r % 15)]);
        printf("\n");
    }
}
