// thrust's vectors, iterators and algorithms, which the host calls.
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/sort.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/transform.h>
#include <thrust/sequence.h>
#include <thrust/copy.h>
#include <thrust/execution_policy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/unique.h>
#include <thrust/extrema.h>
#include <thrust/inner_product.h>
#include <cstdio>
struct square { __device__ int operator()(int x) const { return x * x; } };
struct host_only { int operator()(int x) const { return x + 1; } };
struct add_pair { template <class T> __host__ __device__ void operator()(T t) const { thrust::get<1>(t) = thrust::get<0>(t) * 2; } };
__global__ void twice(int *p, int n) { int i = threadIdx.x; if (i < n) p[i] *= 2; }
int main() {
    cudaStreamAttrID id = cudaStreamAttributeAccessPolicyWindow;
    const int n = 1000;
    thrust::host_vector<int> h(n);
    for (int i = 0; i < n; i++) h[i] = (i * 7919) % n;
    thrust::device_vector<int> d = h, e(n), keys(n);
    thrust::sort(d.begin(), d.end());
    printf("%d %d %d %d\n", id, (int)d[0], (int)d[n - 1], (int)thrust::reduce(d.begin(), d.end()));
    thrust::transform(d.begin(), d.end(), e.begin(), square());
    printf("%d\n", thrust::reduce(e.begin(), e.end(), 0, thrust::maximum<int>()));
    thrust::exclusive_scan(d.begin(), d.end(), e.begin());
    printf("%d %d\n", (int)e[n - 1], (int)e[1]);
    thrust::inclusive_scan(d.begin(), d.end(), e.begin());
    printf("%d\n", (int)e.back());
    thrust::sequence(keys.begin(), keys.end());
    thrust::device_vector<int> v = h;
    thrust::sort_by_key(v.begin(), v.end(), keys.begin(), thrust::greater<int>());
    printf("%d %d\n", (int)v[0], h[keys[0]]);
    twice<<<1, 10>>>(thrust::raw_pointer_cast(d.data()), 10);
    thrust::copy(d.begin(), d.end(), h.begin());
    printf("%d %d\n", h[9], h[10]);
    thrust::host_vector<int> hh(4); thrust::sequence(hh.begin(), hh.end(), 3);
    thrust::transform(hh.begin(), hh.end(), hh.begin(), host_only());
    thrust::sort(hh.begin(), hh.end(), thrust::greater<int>());
    printf("%d %d\n", hh[0], thrust::reduce(hh.begin(), hh.end()));
    int *raw; cudaMalloc(&raw, n * 4);
    thrust::fill(thrust::device, raw, raw + n, 3);
    thrust::device_ptr<int> p(raw); p[5] = 9;
    printf("%d %d\n", thrust::reduce(p, p + n), (int)*thrust::max_element(p, p + n));
    auto z = thrust::make_zip_iterator(thrust::make_tuple(d.begin(), e.begin()));
    thrust::for_each(z, z + n, add_pair());
    printf("%d\n", (int)e[500]);
    auto end = thrust::copy_if(thrust::make_counting_iterator(0), thrust::make_counting_iterator(n), e.begin(), [] __device__(int i) { return i % 3 == 0; });
    printf("%d %d\n", (int)(end - e.begin()), (int)e[2]);
    v = std::vector<int>{1, 1, 2, 2, 2, 3};
    printf("%d %d %g\n", (int)(thrust::unique(v.begin(), v.end()) - v.begin()), (int)thrust::count(d.begin(), d.end(), 500), thrust::inner_product(d.begin(), d.begin() + 3, d.begin(), 0.0));
    thrust::copy(h.begin(), h.begin() + 5, p); thrust::host_vector<int> back(p, p + 5); thrust::device_vector<float> f(3, 1.5f); f.push_back(2.5f); f.resize(6);
    printf("%d %g %g %zu\n", back[4], (float)f[3], (float)f[5], f.size());
    std::cout << d[3] << std::endl;
    // Pairs and tuples are assigned on the device.
    thrust::device_vector<thrust::pair<int, float>> pairs(40);
    thrust::device_vector<thrust::tuple<int, char>> tuples(40);
    thrust::device_vector<int> order(40);
    thrust::sequence(order.begin(), order.end(), 39, -1);
    thrust::transform(order.begin(), order.end(), pairs.begin(), [] __device__(int i) { return thrust::make_pair(i, i * 0.5f); });
    thrust::transform(order.begin(), order.end(), tuples.begin(), [] __device__(int i) { return thrust::make_tuple(i, char('a' + i % 26)); });
    thrust::sort_by_key(order.begin(), order.end(), thrust::make_zip_iterator(thrust::make_tuple(pairs.begin(), tuples.begin())));
    thrust::pair<int, float> third = pairs[3];
    thrust::tuple<int, char> last = tuples[39];
    printf("%d %g %d %c\n", third.first, third.second, thrust::get<0>(last), thrust::get<1>(last));
}
