// thrust's values in a kernel, beside a host that sorts and reduces with it.
#include <thrust/complex.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/random.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>
#include <thrust/transform_reduce.h>
#include <iostream>

extern "C" __global__ void drawn(float *reals, int *integers, unsigned *words)
{
    int i = threadIdx.x;
    thrust::default_random_engine engine(100 * i);
    thrust::uniform_real_distribution<float> real(-1.0f, 3.0f);
    thrust::uniform_int_distribution<int> integer(-5, 9);
    engine.discard(3 * i);
    reals[i] = real(engine);
    integers[i] = integer(engine);
    words[i] = engine();
    thrust::minstd_rand0 other(i);
    words[32 + i] = other();
}

extern "C" __global__ void complexes(const float2 *in, float2 *out)
{
    int i = threadIdx.x;
    thrust::complex<float> z(in[i].x, in[i].y), w = z * thrust::conj(z) + thrust::exp(z);
    thrust::pair<int, float> two = thrust::make_pair(i, thrust::abs(z));
    thrust::tuple<int, float> more(1, thrust::maximum<float>()(two.second, 2.0f));
    out[i] = make_float2(w.real() + two.first, w.imag() + thrust::get<1>(more));
}

struct Square {
    __host__ __device__ float operator()(float x) const { return x * x; }
};

int main()
{
    thrust::host_vector<int> host(100);
    thrust::device_vector<int> keys = host;
    thrust::device_vector<float> values(100, 1.0f);
    thrust::sort(keys.begin(), keys.end(), thrust::greater<int>());
    thrust::sort_by_key(thrust::device, keys.begin(), keys.end(), values.begin());
    int total = thrust::reduce(keys.begin(), keys.end(), 0, thrust::plus<int>());
    float norm = thrust::transform_reduce(values.begin(), values.end(), Square(), 0.0f,
                                          thrust::plus<float>());
    auto both = thrust::make_zip_iterator(thrust::make_tuple(keys.begin(), values.begin()));
    thrust::for_each(both, both + 100, [] __device__(thrust::tuple<int, float>) {});
    host = keys;
    float *raw = thrust::raw_pointer_cast(values.data());
    drawn<<<1, 32>>>(raw, thrust::raw_pointer_cast(&keys[0]), nullptr);
    std::cout << total << norm << keys[3] << host.size() << std::endl;
}
