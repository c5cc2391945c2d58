// Parts of CUDA's own C++ library that C++17's has not.
#include <cuda/annotated_ptr>
#include <cuda/cmath>
#include <cuda/functional>
#include <cuda/latch>
#include <cuda/semaphore>
#include <cuda/std/concepts>
#include <cuda/std/expected>
#include <cuda/std/mdspan>
#include <cuda/std/numbers>
#include <cuda/std/string_view>
#include <nv/target>
namespace cs = cuda::std;

__device__ cs::expected<int, char> root(int x)
{
    if (x < 0)
        return cs::unexpected<char>('n');
    int r = 0;
    while ((r + 1) * (r + 1) <= x)
        r++;
    return r;
}
template <typename T> __device__ int kind() { return cs::integral<T> + 2 * cs::floating_point<T>; }

__global__ void views(float *data, float *out, int rows)
{
    cs::mdspan<float, cs::dextents<int, 2>> m(data, rows, 3);
    cs::mdspan<float, cs::extents<int, 3, cs::dynamic_extent>, cs::layout_left> left(data, rows);
    cs::layout_stride::mapping<cs::dextents<int, 2>> steps(cs::dextents<int, 2>(2, 2), cs::array<int, 2>{4, 1});
    cs::mdspan<float, cs::dextents<int, 2>, cs::layout_stride> strided(data, steps);
    cs::mdspan line(data, 5);
    int k = 0;
    out[k++] = m(1, 2), out[k++] = left(1, 2), out[k++] = strided(1, 1), out[k++] = line[4];
    out[k++] = m.extent(0) * 100 + m.extent(1) * 10 + m.stride(0);
    out[k++] = left.stride(1) + left.static_extent(0) * 10 + left.size() * 100;
    out[k++] = line.rank() + m.size() * 10 + left.mapping().required_span_size() * 1000;
    m(0, 1) += 0.5f;
    out[k++] = m.data_handle()[1] + cs::numbers::pi_v<float>;
}
__global__ void values(int *out, int *shared)
{
    int k = 0;
    auto good = root(30), bad = root(-1);
    out[k++] = good.value() * 10 + good.has_value(), out[k++] = bad.error() + bad.value_or(7) * 1000;
    out[k++] = *good.transform([](int x) { return x + 1; }) + (bad.and_then(root) ? 100 : 0);
    out[k++] = kind<int>() + 10 * kind<double>() + 100 * cs::same_as<int, float>;
    out[k++] = cuda::ceil_div(7, 2) + 10 * cuda::round_up(7, 4) + 1000 * cuda::ilog2(100);
    out[k++] = cuda::maximum<>{}(3, 9) + 10 * cuda::minimum<int>{}(3, 9);
    out[k++] = cuda::proclaim_return_type<int>([] __device__(float x) { return (int)(x * 2); })(2.7f);
    cs::string_view text("a kernel");
    out[k++] = text.size() * 10 + text.find('k');
    cuda::annotated_ptr<int, cuda::access_property::persisting> p(shared);
    p[0] = 5, *p += 1;
    out[k++] = p.get()[0];
    NV_IF_TARGET(NV_IS_DEVICE, (out[k++] = 1;))
    NV_IF_ELSE_TARGET(NV_PROVIDES_SM_75, (out[k++] = 75;), (out[k++] = 0;))
    NV_DISPATCH_TARGET(NV_IS_HOST, (out[k++] = 1;), NV_PROVIDES_SM_100, (out[k++] = 100;),
                       NV_PROVIDES_SM_80, (out[k++] = 80;), NV_ANY_TARGET, (out[k++] = 2;))
}
__global__ void met(int *out)
{
    __shared__ cuda::latch<cuda::thread_scope_block> *ready;
    __shared__ cuda::binary_semaphore<cuda::thread_scope_block> *one;
    __shared__ alignas(8) char places[2][16];
    __shared__ int count, parts[128];
    int i = threadIdx.x;
    if (i == 0) {
        ready = new (places[0]) cuda::latch<cuda::thread_scope_block>(blockDim.x);
        one = new (places[1]) cuda::binary_semaphore<cuda::thread_scope_block>(1);
        count = 0;
    }
    __syncthreads();
    parts[i] = i;
    if (i % 32 == 0) {
        one->acquire();
        count = count + 1;
        one->release();
    }
    ready->arrive_and_wait();
    out[i] = parts[blockDim.x - 1 - i] + 1000 * count;
}
