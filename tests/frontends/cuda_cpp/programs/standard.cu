// What cuda::std and std have on the device, in C++17.
#include <cuda/std/array>
#include <cuda/std/atomic>
#include <cuda/std/bit>
#include <cuda/std/complex>
#include <cuda/std/limits>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/utility>
#include <algorithm>
#include <complex>
#include <iostream>
#include <string>

extern "C" __global__ void words(int *o, int n, int *counter)
{
    cuda::std::array<int, 4> a = {4, 3, 2, 1};
    a[1] = n;
    cuda::std::swap(a[0], a[3]);
    cuda::std::tuple<int, float> t(1, 2.0f), u;
    u = t;
    cuda::std::get<0>(u) += n;
    cuda::std::pair<int, char> p = cuda::std::make_pair(5, 'x');
    cuda::std::optional<int> maybe;
    o[0] = a[0], o[1] = a[1], o[2] = cuda::std::get<0>(u), o[3] = p.first;
    o[4] = maybe.value_or(9);
    maybe = n;
    o[5] = *maybe;
    cuda::std::span<int> view(o, 16);
    view[6] = (int)view.size();
    o[7] = cuda::std::popcount(0xf0fu) + 100 * cuda::std::countl_zero((unsigned short)1);
    o[8] = cuda::std::bit_ceil(33u) + 1000 * cuda::std::bit_width(8u);
    o[9] = cuda::std::rotl((unsigned char)0x81, 1);
    o[10] = cuda::std::is_same_v<cuda::std::remove_const_t<const int>, int>;
    o[11] = cuda::std::numeric_limits<short>::max();
    cuda::std::atomic<int> mine(3);
    o[12] = mine.fetch_add(4) + mine.load();
    cuda::atomic_ref<int, cuda::thread_scope_device>(*counter).fetch_add(2);
    o[13] = std::max(n, 2) + std::min(n, 2);
    std::swap(a[1], a[2]);
    o[14] = a[0] + 10 * a[1] + 100 * a[2] + 1000 * a[3];
    o[15] = view.subspan(2, 3).size() + 10 * (view.subspan(2)[1] == o[3]);
}

extern "C" __global__ void complexes(const float2 *in, float2 *o)
{
    cuda::std::complex<float> x(in[0].x, in[0].y), y(in[1].x, in[1].y);
    std::complex<double> z(in[0].x, in[0].y);
    cuda::std::complex<float> each[] = {x * y, x / y, x + y, exp(x), sqrt(x), std::conj(x) * abs(y)};
    for (int n = 0; n < 6; n++)
        o[n] = make_float2(each[n].real(), each[n].imag());
    std::complex<double> w = std::pow(z, 2.0) + std::log(z) + std::polar(2.0, std::arg(z));
    o[6] = make_float2((float)w.real(), (float)w.imag());
}

int main()
{
    std::string text = "a" + std::string("b");
    std::complex<double> z = std::exp(std::complex<double>(1, 2));
    std::cout << text << z << std::endl;
}
