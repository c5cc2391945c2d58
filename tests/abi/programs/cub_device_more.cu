// cub's algorithms of a device by segments, its histograms, merges, and what visits elements.
// CUB 3.0 of CUDA 13.0 has no segments of one size.
#include <cub/cub.cuh>
#include <cuda/std/tuple>
#include "cub_arrays.cuh"
struct add { template <typename A, typename B> __host__ __device__ auto operator()(const A &a, const B &b) const { return a + b; } };
struct falls { template <typename T> __host__ __device__ bool operator()(const T &a, const T &b) const { return b < a; } };
struct less { __host__ __device__ bool operator()(int a, int b) const { return a < b; } };
struct square { __host__ __device__ int operator()(int a) const { return a * a; } };
struct below { int bound; __host__ __device__ bool operator()(int a) const { return a < bound; } };
struct same_half { __host__ __device__ bool operator()(int a, int b) const { return a / 2 == b / 2; } };
struct twice { __device__ void operator()(int &a) { a *= 2; } };
struct set_to { int *p; __device__ void operator()(int i) const { p[i] = 10 * i; } };
struct sum3 { __host__ __device__ float operator()(int a, float b, unsigned char c) const { return a + b * c; } };
template <typename T> void pairs(const char *name, cub::KeyValuePair<int, T> *p, int n) {
    std::vector<cub::KeyValuePair<int, T>> v(n);
    cudaMemcpy(v.data(), p, n * sizeof v[0], cudaMemcpyDeviceToHost);
    printf("%s:", name);
    for (auto each : v) printf(" %d/%g", each.key, (double)each.value);
    printf("\n");
}
int segments() {
    const int n = 12, parts = 5;
    Array<int> x({5, -3, 8, 8, 0, 7, 7, 7, 2, -9, 4, 1}), y(std::vector<int>(n, -1)), z(std::vector<int>(n, -1));
    Array<int> begins({0, 3, 3, 5, 11}), ends({3, 3, 5, 10, 12}), v({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}), w(std::vector<int>(n, -1));
    Array<float> f({0.5f, -2, 8, -0.25f, 3, -100, 7, 1, 2, 9, -0.f, 0}), g(std::vector<float>(n, 0));
    TWICE(cub::DeviceSegmentedReduce::Sum(memory, bytes, x.p, y.p, parts, begins.p, ends.p)); y.show("sums", parts);
    TWICE(cub::DeviceSegmentedReduce::Min(memory, bytes, x.p, y.p, parts, begins.p, ends.p)); y.show("least", parts);
    TWICE(cub::DeviceSegmentedReduce::Max(memory, bytes, f.p, g.p, parts, begins.p, ends.p)); g.show("most", parts);
    TWICE(cub::DeviceSegmentedReduce::Reduce(memory, bytes, x.p, y.p, parts, begins.p, ends.p, add(), 100)); y.show("from 100", parts);
    cub::KeyValuePair<int, float> *best;
    CHECK(cudaMalloc(&best, parts * sizeof *best));
    TWICE(cub::DeviceSegmentedReduce::ArgMin(memory, bytes, f.p, best, parts, begins.p, ends.p)); pairs("argmin", best, parts);
    TWICE(cub::DeviceSegmentedReduce::ArgMax(memory, bytes, f.p, best, parts, begins.p, ends.p)); pairs("argmax", best, parts);
    TWICE(cub::DeviceSegmentedSort::SortKeys(memory, bytes, x.p, y.p, n, parts, begins.p, ends.p)); y.show("sorted", n);
    TWICE(cub::DeviceSegmentedSort::StableSortPairsDescending(memory, bytes, x.p, y.p, v.p, w.p, n, parts, begins.p, ends.p)); y.show("falling", n); w.show("places", n);
    TWICE(cub::DeviceSegmentedRadixSort::SortPairs(memory, bytes, x.p, z.p, v.p, w.p, n, parts, begins.p, ends.p, 0, 2)); z.show("by two bits", n); w.show("places", n);
    TWICE(cub::DeviceSegmentedRadixSort::SortKeysDescending(memory, bytes, f.p, g.p, n, parts, begins.p, ends.p)); g.show("floats", n);
    Array<int> offsets({3, 5});
    cub::DoubleBuffer<float> both(f.p, g.p);
    TWICE(cub::DeviceSegmentedRadixSort::SortKeys(memory, bytes, both, n, 2, begins.p, offsets.p));
    g.p = both.Current(); g.show("buffer", 5);
    return 0;
}
int histograms() {
    Array<float> x({2.2f, 6.1f, 7.1f, 2.9f, 3.5f, 0.3f, 2.9f, 2.1f, 6.1f, 999.5f, -1, 12}), bounds({0, 2, 4, 6, 8, 12});
    Array<unsigned char> pixels({2, 6, 7, 2, 9, 1, 2, 1, 0, 0, 7, 3, 3, 4, 5, 250, 8, 8, 8, 255, 100, 90, 80, 70});
    Array<short> small({-5, -1, 0, 4, 9, 10, 300, -300, 7, 7});
    Array<int> a(std::vector<int>(16, 77)), b(std::vector<int>(16, 77)), c(std::vector<int>(16, 77));
    Array<unsigned> u(std::vector<unsigned>(16, 77));
    TWICE(cub::DeviceHistogram::HistogramEven(memory, bytes, x.p, a.p, 7, 0.f, 12.f, 12)); a.show("even", 6);
    TWICE(cub::DeviceHistogram::HistogramRange(memory, bytes, x.p, u.p, 6, bounds.p, 12)); u.show("range", 5);
    TWICE(cub::DeviceHistogram::HistogramEven(memory, bytes, small.p, a.p, 4, -5, 10, 10)); a.show("integers", 3);
    TWICE(cub::DeviceHistogram::HistogramEven(memory, bytes, pixels.p, a.p, 9, 0, 256, 5, 3, (size_t)8)); a.show("region", 8);
    int *each[3] = {a.p, b.p, c.p}, levels[3] = {5, 3, 9}, lower[3] = {0, 2, 0}, upper[3] = {8, 10, 256};
    TWICE((cub::DeviceHistogram::MultiHistogramEven<4, 3>(memory, bytes, pixels.p, each, levels, lower, upper, 6)));
    a.show("red", 4); b.show("green", 2); c.show("blue", 8);
    Array<int> first({0, 2, 3, 9}), second({1, 5}), third({0, 100, 256});
    const int *steps[3] = {first.p, second.p, third.p};
    int counts[3] = {4, 2, 3};
    TWICE((cub::DeviceHistogram::MultiHistogramRange<3, 3>(memory, bytes, pixels.p, each, counts, steps, 8)));
    a.show("red", 3); b.show("green", 1); c.show("blue", 2);
    return 0;
}
int orders() {
    const int n = 12;
    const std::vector<int> given({5, -3, 8, 8, 0, 7, 7, 7, 2, -9, 4, 1}), counted({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
    Array<int> x(given), y(std::vector<int>(2 * n, -1)), v(counted), w(std::vector<int>(2 * n, -1)), one(std::vector<int>(2, -1)), z(std::vector<int>(n, -1));
    Array<int> odd({-5, 0, 3, 7, 8}), numbers({100, 101, 102, 103, 104}), keys(given);
    TWICE(cub::DeviceMergeSort::StableSortKeysCopy(memory, bytes, x.p, y.p, n, falls())); y.show("falling", n);
    TWICE(cub::DeviceMergeSort::SortPairsCopy(memory, bytes, x.p, v.p, y.p, w.p, 1, falls())); y.show("pair", 2); w.show("value", 2);
    bool asked = false;  // in place, a second call would sort what is sorted
    size_t room = 0; void *memory = nullptr;
    CHECK(cub::DeviceMergeSort::StableSortPairs(memory, room, keys.p, v.p, n, less())); asked = room > 0;
    CHECK(cudaMalloc(&memory, room));
    CHECK(cub::DeviceMergeSort::StableSortPairs(memory, room, keys.p, v.p, n, less())); keys.show("keys", n); v.show("values", n);
    printf("asked: %d\n", asked);
    TWICE(cub::DeviceMerge::MergeKeys(memory, bytes, keys.p, n, odd.p, 5, y.p, less())); y.show("merged", n + 5);
    TWICE(cub::DeviceMerge::MergePairs(memory, bytes, keys.p, v.p, n, odd.p, numbers.p, 5, y.p, w.p, less())); w.show("from", n + 5);
    TWICE(cub::DeviceReduce::TransformReduce(memory, bytes, x.p, one.p, n, add(), square(), 0)); one.show("squares", 1);
    TWICE(cub::DeviceReduce::ArgMax(memory, bytes, x.p, one.p, one.p + 1, n)); one.show("best", 2);
    TWICE(cub::DeviceScan::InclusiveScanInit(memory, bytes, x.p, y.p, add(), 100, n)); y.show("from 100", n);
    TWICE(cub::DeviceScan::ExclusiveScan(memory, bytes, x.p, y.p, add(), cub::FutureValue<int, int *>(one.p), n)); y.show("later", n);
    TWICE(cub::DeviceScan::ExclusiveSumByKey(memory, bytes, x.p, v.p, y.p, n)); y.show("by key", n);
    TWICE(cub::DeviceScan::InclusiveScanByKey(memory, bytes, x.p, v.p, y.p, add(), n, same_half())); y.show("by half", n);
    TWICE(cub::DeviceScan::ExclusiveScanByKey(memory, bytes, x.p, v.p, y.p, add(), 50, n)); y.show("from 50", n);
    TWICE(cub::DeviceScan::InclusiveSumByKey(memory, bytes, x.p, v.p, y.p, n, same_half())); y.show("sums", n);
    TWICE(cub::DeviceSelect::UniqueByKey(memory, bytes, x.p, v.p, y.p, w.p, one.p, n)); y.show("unique", 9); w.show("values", 9); one.show("count", 1);
    TWICE(cub::DeviceSelect::FlaggedIf(memory, bytes, v.p, x.p, y.p, one.p, n, below{5})); y.show("flagged", 6); one.show("count", 1);
    TWICE(cub::DevicePartition::If(memory, bytes, x.p, y.p, w.p, z.p, one.p, n, below{0}, below{6})); y.show("first", 2); w.show("second", 5); z.show("others", 5); one.show("counts", 2);
    TWICE(cub::DeviceRunLengthEncode::NonTrivialRuns(memory, bytes, x.p, y.p, w.p, one.p, n)); y.show("places", 2); w.show("lengths", 2); one.show("runs", 1);
    return 0;
}
int elements() {
    const int n = 8;
    Array<int> x({5, -3, 8, 8, 0, 7, 2, 1}), y(std::vector<int>(n, -1));
    Array<float> f({0.5f, -2, 8, -0.25f, 3, -100, 7, 1}), g(std::vector<float>(n, 0));
    Array<unsigned char> flags({1, 0, 0, 1, 1, 0, 2, 3}), room(std::vector<unsigned char>(2 * n, 9));
    CHECK(cub::DeviceFor::Bulk(n, set_to{y.p})); CHECK(cudaDeviceSynchronize()); y.show("set", n);
    CHECK(cub::DeviceFor::ForEachN(y.p, 3, twice())); CHECK(cub::DeviceFor::ForEach(y.p + 6, y.p + n, twice())); CHECK(cudaDeviceSynchronize()); y.show("twice", n);
    CHECK(cub::DeviceTransform::Transform(cuda::std::make_tuple(x.p, f.p, flags.p), g.p, n, sum3())); CHECK(cudaDeviceSynchronize()); g.show("three", n);
    CHECK(cub::DeviceTransform::Transform(x.p, y.p, n, square())); CHECK(cudaDeviceSynchronize()); y.show("squares", n);
    TWICE(cub::DeviceAdjacentDifference::SubtractLeftCopy(memory, bytes, x.p, y.p, n)); y.show("left", n);
    TWICE(cub::DeviceAdjacentDifference::SubtractRightCopy(memory, bytes, x.p, y.p, n, add())); y.show("right", n);
    TWICE(cub::DeviceAdjacentDifference::SubtractRight(memory, bytes, x.p, n)); x.show("in place", n);
    Array<const int *> from({x.p + 4, x.p, x.p + 2}); Array<int *> to({y.p, y.p + 3, y.p + 7}); Array<int> sizes({3, 4, 0});
    TWICE(cub::DeviceCopy::Batched(memory, bytes, from.p, to.p, sizes.p, 3)); y.show("copied", n);
    Array<const void *> begin({flags.p + 1, flags.p + 5}); Array<void *> end({room.p + 9, room.p}); Array<unsigned> size({4, 3});
    TWICE(cub::DeviceMemcpy::Batched(memory, bytes, begin.p, end.p, size.p, 2)); room.show("bytes", 2 * n);
    return 0;
}
#ifndef CUB_3_0
int sizes() {
    Array<int> x({5, -3, 8, 8, 0, 7, 7, 7, 2, -9, 4, 1}), y(std::vector<int>(12, -1));
    TWICE(cub::DeviceSegmentedReduce::Sum(memory, bytes, x.p, y.p, 4, 3)); y.show("by three", 4);
    TWICE(cub::DeviceSegmentedReduce::Reduce(memory, bytes, x.p, y.p, 3, 4, add(), 1)); y.show("by four", 3);
    return 0;
}
#else
int sizes() { return 0; }
#endif
int main() { return segments() || histograms() || orders() || elements() || sizes(); }
