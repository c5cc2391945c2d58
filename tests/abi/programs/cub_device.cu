// cub's algorithms of a whole device.
#include <cub/cub.cuh>
#include "cub_arrays.cuh"
struct even { __host__ __device__ bool operator()(int a) const { return a % 2 == 0; } };
struct larger { template <typename T> __host__ __device__ T operator()(const T &a, const T &b) const { return a < b ? b : a; } };
struct add { template <typename A, typename B> __host__ __device__ auto operator()(const A &a, const B &b) const { return a + b; } };
int main() {
    const int n = 12;
    Array<int> x({5, -3, 8, 8, 0, 7, 7, 7, 2, -9, 4, 1}), y(std::vector<int>(n, -1)), z(std::vector<int>(n, -1)), one({-1});
    Array<float> f({0.5f, -2, 8, -0.25f, 3, -100, 7, 1, 2, 9, 4, 0}), g(std::vector<float>(n, 0));
    Array<unsigned char> flags({1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1});
    TWICE(cub::DeviceReduce::Sum(memory, bytes, x.p, one.p, n)); one.show("sum", 1);
    TWICE(cub::DeviceReduce::Min(memory, bytes, x.p, one.p, n)); one.show("min", 1);
    TWICE(cub::DeviceReduce::Max(memory, bytes, f.p, g.p, n)); g.show("max", 1);
    TWICE(cub::DeviceReduce::Reduce(memory, bytes, x.p, one.p, n, larger(), 3)); one.show("reduce", 1);
    cub::KeyValuePair<int, float> *best, found;
    CHECK(cudaMalloc(&best, sizeof found));
    TWICE(cub::DeviceReduce::ArgMin(memory, bytes, f.p, best, n));
    CHECK(cudaMemcpy(&found, best, sizeof found, cudaMemcpyDeviceToHost));
    printf("argmin: %d %g\n", found.key, found.value);
    TWICE(cub::DeviceScan::ExclusiveSum(memory, bytes, x.p, y.p, n)); y.show("exclusive", n);
    TWICE(cub::DeviceScan::InclusiveSum(memory, bytes, x.p, y.p, n)); y.show("inclusive", n);
    TWICE(cub::DeviceScan::ExclusiveScan(memory, bytes, x.p, y.p, larger(), -5, n)); y.show("largest", n);
    TWICE(cub::DeviceSelect::If(memory, bytes, x.p, y.p, one.p, n, even())); y.show("even", 4); one.show("count", 1);
    TWICE(cub::DeviceSelect::Flagged(memory, bytes, x.p, flags.p, y.p, one.p, n)); y.show("flagged", 6); one.show("count", 1);
    TWICE(cub::DeviceSelect::Unique(memory, bytes, x.p, y.p, one.p, n)); y.show("unique", 9); one.show("count", 1);
    TWICE(cub::DevicePartition::If(memory, bytes, x.p, y.p, one.p, n, even())); y.show("partition", n); one.show("count", 1);
    TWICE(cub::DeviceRunLengthEncode::Encode(memory, bytes, x.p, y.p, z.p, one.p, n)); y.show("runs", 9); z.show("lengths", 9); one.show("count", 1);
    TWICE(cub::DeviceRadixSort::SortKeys(memory, bytes, f.p, g.p, n)); g.show("sorted", n);
    TWICE(cub::DeviceRadixSort::SortPairsDescending(memory, bytes, x.p, y.p, f.p, g.p, n)); y.show("falling", n); g.show("values", n);
    TWICE(cub::DeviceRadixSort::SortPairs(memory, bytes, x.p, y.p, f.p, g.p, n, 0, 2)); y.show("by two bits", n);
    // Small integers are added as int, and floats where the first value is an integer.
    Array<unsigned char> small(std::vector<unsigned char>(n, 100));
    TWICE(cub::DeviceReduce::Sum(memory, bytes, small.p, one.p, n)); one.show("sum", 1);
    TWICE(cub::DeviceScan::InclusiveSum(memory, bytes, small.p, y.p, n)); y.show("inclusive", n);
    TWICE(cub::DeviceReduce::Reduce(memory, bytes, f.p, g.p, n, add(), 0)); g.show("sum", 1);
    TWICE(cub::DeviceReduce::ReduceByKey(memory, bytes, x.p, y.p, small.p, z.p, one.p, add(), n)); z.show("sums", 9); one.show("count", 1);
    cub::DoubleBuffer<int> both(x.p, y.p);
    TWICE(cub::DeviceRadixSort::SortKeys(memory, bytes, both, n));
    z.p = both.Current(); z.show("buffer", n);
}
