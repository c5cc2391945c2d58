// Reductions and scans of warps and blocks by cub's names.
#include <cub/cub.cuh>

template <typename T, int BLOCK> __global__ void blocks(const T *in, T *out, int valid)
{
    typedef cub::BlockReduce<T, BLOCK> Reduce;
    typedef cub::BlockScan<T, BLOCK> Scan;
    __shared__ union {
        typename Reduce::TempStorage reduce;
        typename Scan::TempStorage scan;
    } temp;
    T v = in[threadIdx.x], inclusive, exclusive, total;
    T sum = Reduce(temp.reduce).Sum(v);
    __syncthreads();
    T most = Reduce(temp.reduce).Reduce(v, cub::Max());
    __syncthreads();
    T some = Reduce(temp.reduce).Sum(v, valid);
    __syncthreads();
    Scan(temp.scan).InclusiveSum(v, inclusive);
    __syncthreads();
    Scan(temp.scan).ExclusiveSum(v, exclusive, total);
    __syncthreads();
    T two[2] = {v, T(1)};
    Scan(temp.scan).ExclusiveSum(two, two);
    T *row = out + 8 * threadIdx.x;
    row[0] = inclusive, row[1] = exclusive, row[2] = total, row[3] = two[0], row[4] = two[1];
    if (threadIdx.x == 0)
        row[5] = sum, row[6] = most, row[7] = some;
}

template <int WIDTH> __global__ void warps(const int *in, int *out)
{
    typedef cub::WarpReduce<int, WIDTH> Reduce;
    typedef cub::WarpScan<int, WIDTH> Scan;
    __shared__ typename Reduce::TempStorage reduce[32];
    __shared__ typename Scan::TempStorage scan[32];
    int part = threadIdx.x / WIDTH, v = in[threadIdx.x], total, first;
    int sum = Reduce(reduce[part]).Sum(v), least = Reduce(reduce[part]).Reduce(v, cub::Min(), 3);
    Scan(scan[part]).ExclusiveSum(v, first, total);
    Scan(scan[part]).InclusiveScan(v, v, cub::Max());
    int *row = out + 5 * threadIdx.x;
    row[0] = first, row[1] = total, row[2] = v;
    row[3] = threadIdx.x % WIDTH ? 0 : sum, row[4] = threadIdx.x % WIDTH ? 0 : least;
}

__global__ void place_of_most(const float *in, int *place)
{
    typedef cub::KeyValuePair<int, float> Pair;
    typedef cub::BlockReduce<Pair, 64> Reduce;
    __shared__ typename Reduce::TempStorage temp;
    Pair best = Reduce(temp).Reduce(Pair{(int)threadIdx.x, in[threadIdx.x]}, cub::ArgMax());
    if (threadIdx.x == 0)
        *place = best.key;
}

int main() { return 0; }
