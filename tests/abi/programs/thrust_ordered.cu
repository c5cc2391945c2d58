// thrust's merges, sets, partitions, searches and algorithms by key. With ON_HOST the host runs them.
#include <thrust/binary_search.h>
#include <thrust/copy.h>
#include <thrust/device_malloc.h>
#include <thrust/device_free.h>
#include <thrust/device_vector.h>
#include <thrust/equal.h>
#include <thrust/gather.h>
#include <thrust/host_vector.h>
#include <thrust/merge.h>
#include <thrust/mismatch.h>
#include <thrust/partition.h>
#include <thrust/reduce.h>
#include <thrust/remove.h>
#include <thrust/replace.h>
#include <thrust/reverse.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/set_operations.h>
#include <thrust/sort.h>
#include <thrust/swap.h>
#include <thrust/transform_scan.h>
#include <thrust/system_error.h>
#include <thrust/transform.h>
#include <thrust/unique.h>
#include <cuda/std/functional>
#include <cstdio>
#include <utility>
#include <vector>
#ifdef ON_HOST
template <typename T> using Vector = thrust::host_vector<T>;
#else
template <typename T> using Vector = thrust::device_vector<T>;
#endif
typedef Vector<int> Ints;
struct falls { template <typename T> __host__ __device__ bool operator()(const T &a, const T &b) const { return b < a; } };
struct even { __host__ __device__ bool operator()(int a) const { return a % 2 == 0; } };
struct tens { __host__ __device__ bool operator()(int a, int b) const { return a / 10 == b / 10; } };
struct times { __host__ __device__ int operator()(int a, int b) const { return a * b % 1000; } };
struct low { __host__ __device__ bool operator()(int a) const { return a < 7; } };

template <typename V> void show(const char *name, const V &v, ptrdiff_t n)
{
    printf("%s:", name);
    for (ptrdiff_t i = 0; i < n; i++)
        printf(" %d", (int)v[i]);
    printf("\n");
}

int main()
{
    const std::vector<int> first{1, 2, 2, 2, 5, 7, 7, 9}, second{2, 2, 3, 7, 7, 7, 8};
    Ints a = first, b = second, v(8), w(7), out(20), values(20);
    thrust::sequence(v.begin(), v.end(), 100);
    thrust::sequence(w.begin(), w.end(), 200);
#define BOTH(name)                                                                              \
    show(#name, out, thrust::name(a.begin(), a.end(), b.begin(), b.end(), out.begin()) - out.begin());
#define BY_KEY(name)                                                                            \
    {                                                                                           \
        auto end = thrust::name##_by_key(a.begin(), a.end(), b.begin(), b.end(), v.begin(), w.begin(), out.begin(), values.begin()); \
        show(#name " keys", out, end.first - out.begin());                                      \
        show("values", values, end.second - values.begin());                                    \
    }
    BOTH(merge) BOTH(set_union) BOTH(set_intersection) BOTH(set_difference) BOTH(set_symmetric_difference)
    BY_KEY(merge) BY_KEY(set_union) BY_KEY(set_difference) BY_KEY(set_symmetric_difference)
    auto both = thrust::set_intersection_by_key(a.begin(), a.end(), b.begin(), b.end(), v.begin(), out.begin(), values.begin());
    show("intersection values", values, both.second - values.begin());
    Ints c(a.rbegin(), a.rend()), d(b.rbegin(), b.rend());
    show("falling", out, thrust::merge(c.begin(), c.end(), d.begin(), d.end(), out.begin(), falls()) - out.begin());
    show("falling union", out, thrust::set_union(c.begin(), c.end(), d.begin(), d.end(), out.begin(), falls()) - out.begin());

    Ints e = a;
    printf("%d ", (int)(thrust::stable_partition(e.begin(), e.end(), even()) - e.begin()));
    show("partition", e, 8);
    auto parts = thrust::stable_partition_copy(v.begin(), v.end(), out.begin(), values.begin(), even());
    show("even", out, parts.first - out.begin());
    show("odd", values, parts.second - values.begin());
    printf("%d %d %d\n", (int)thrust::is_partitioned(a.begin(), a.end(), low()), (int)thrust::is_partitioned(a.begin(), a.end(), even()),
           (int)(thrust::partition_point(a.begin(), a.end(), low()) - a.begin()));

    for (int sought : {0, 2, 6, 9, 10})
        printf("%d%d%d ", (int)(thrust::lower_bound(a.begin(), a.end(), sought) - a.begin()), (int)(thrust::upper_bound(a.begin(), a.end(), sought) - a.begin()),
               (int)thrust::binary_search(a.begin(), a.end(), sought));
    show("lower", out, thrust::lower_bound(a.begin(), a.end(), b.begin(), b.end(), out.begin()) - out.begin());
    show("upper, falling", out, thrust::upper_bound(c.begin(), c.end(), b.begin(), b.end(), out.begin(), falls()) - out.begin());
    auto range = thrust::equal_range(a.begin(), a.end(), 7);
    auto differ = thrust::mismatch(a.begin(), a.begin() + 7, b.begin());
    printf("%d %d %d %d %d\n", (int)(range.first - a.begin()), (int)(range.second - a.begin()), (int)(differ.first - a.begin()),
           (int)thrust::equal(a.begin(), a.end(), v.begin(), tens()), (int)(thrust::is_sorted_until(c.begin(), c.end()) - c.begin()));

    const std::vector<int> keys{11, 12, 25, 26, 26, 31, 11, 12}, numbers{1, 2, 3, 4, 5, 6, 7, 8};
    Ints k = keys, x = numbers;
    thrust::inclusive_scan_by_key(k.begin(), k.end(), x.begin(), out.begin());
    show("scan by key", out, 8);
    thrust::inclusive_scan_by_key(k.begin(), k.end(), x.begin(), out.begin(), tens(), times());
    show("of tens", out, 8);
    thrust::exclusive_scan_by_key(k.begin(), k.end(), x.begin(), out.begin(), 50, tens());
    show("exclusive", out, 8);
    auto sums = thrust::reduce_by_key(k.begin(), k.end(), x.begin(), out.begin(), values.begin(), tens(), times());
    show("keys", out, sums.first - out.begin());
    show("products", values, sums.second - values.begin());
    auto unique = thrust::unique_by_key_copy(k.begin(), k.end(), x.begin(), out.begin(), values.begin(), tens());
    show("unique", values, unique.second - values.begin());
    show("copies", out, thrust::remove_copy(k.begin(), k.end(), out.begin(), 26) - out.begin());
    thrust::replace_copy_if(k.begin(), k.end(), out.begin(), even(), 0);
    show("replaced", out, 8);
    thrust::swap_ranges(k.begin(), k.begin() + 4, x.begin());
    show("swapped", x, 8);
    thrust::transform_exclusive_scan(x.begin(), x.end(), out.begin(), cuda::std::identity(), 5, times());
    show("transformed", out, 8);
    show("reversed", out, thrust::reverse_copy(x.begin(), x.end(), out.begin()) - out.begin());
#ifndef ON_HOST
    thrust::device_ptr<void> bytes = thrust::device_malloc(64);
    thrust::device_ptr<int> p((int *)bytes.get());
    p[3] = 4;
    printf("%d ", (int)p[3]);
    thrust::device_free(bytes);
    try {
        thrust::device_free(thrust::device_ptr<int>((int *)8));
    } catch (thrust::system_error &error) {
        printf("%s\n", error.code().value() == cudaErrorInvalidValue ? "thrown" : error.what());
    }
#endif
}
