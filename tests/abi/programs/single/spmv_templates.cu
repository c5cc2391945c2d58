// Sparse matrix times vector in several formats, with policies, traits and unique_ptr to device memory.
#include <cuda_runtime.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iomanip>
#include <iostream>
#include <memory>
#include <numeric>
#include <random>
#include <sstream>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <vector>
#define CHECK_CUDA(func)                                                                  \
    {                                                                                     \
        cudaError_t status = (func);                                                      \
        if (status != cudaSuccess) {                                                      \
            std::ostringstream os;                                                        \
            os << "CUDA API failed at line " << __LINE__ << " with error: " << cudaGetErrorString(status) << " (" << status << ")"; \
            throw std::runtime_error(os.str());                                           \
        }                                                                                 \
    }
struct CudaDeleter { void operator()(void *p) const { cudaFree(p); } };
template <typename T> using device_ptr = std::unique_ptr<T[], CudaDeleter>;
template <typename T> device_ptr<T> make_device(const std::vector<T> &v)
{
    T *p = nullptr;
    CHECK_CUDA(cudaMalloc(&p, std::max<size_t>(1, v.size()) * sizeof(T)));
    CHECK_CUDA(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    return device_ptr<T>(p);
}
template <typename T, typename = std::enable_if_t<std::is_floating_point<T>::value>> struct Csr {
    std::vector<int> row, col;
    std::vector<T> val;
    int rows() const { return (int)row.size() - 1; }
};
struct Scalar { static constexpr int lanes = 1; };
struct Vector { static constexpr int lanes = 8; };
template <typename Policy, typename T>
__global__ void spmv(int rows, const int *__restrict__ row, const int *__restrict__ col, const T *__restrict__ val, const T *__restrict__ x, T *__restrict__ y)
{
    constexpr int L = Policy::lanes;
    int r = (blockIdx.x * blockDim.x + threadIdx.x) / L, lane = threadIdx.x % L;
    T sum{};
    if (r < rows)
        for (int i = row[r] + lane; i < row[r + 1]; i += L) sum += val[i] * x[col[i]];
    if constexpr (L > 1)
        for (int o = L / 2; o > 0; o >>= 1) sum += __shfl_down_sync(0xffffffff, sum, o, L);
    if (lane == 0 && r < rows) y[r] = sum;
}
template <typename Policy, typename T> bool check(const Csr<T> &m, const std::vector<T> &x)
{
    auto row = make_device(m.row), col = make_device(m.col);
    auto val = make_device(m.val), dx = make_device(x), dy = make_device(std::vector<T>(m.rows()));
    spmv<Policy><<<(m.rows() * Policy::lanes + 127) / 128, 128>>>(m.rows(), row.get(), col.get(), val.get(), dx.get(), dy.get());
    CHECK_CUDA(cudaGetLastError());
    std::vector<T> y(m.rows());
    CHECK_CUDA(cudaMemcpy(y.data(), dy.get(), y.size() * sizeof(T), cudaMemcpyDeviceToHost));
    for (int r = 0; r < m.rows(); r++) {
        T s = 0;
        for (int i = m.row[r]; i < m.row[r + 1]; i++) s += m.val[i] * x[m.col[i]];
        if (s != y[r]) return false;
    }
    return true;
}
template <typename T> bool run(unsigned seed)
{
    std::mt19937 gen(seed);
    std::uniform_int_distribution<int> count(0, 20), column(0, 299), value(-8, 8);
    Csr<T> m{{0}, {}, {}};
    for (int r = 0; r < 300; r++) {
        for (int k = count(gen); k > 0; k--) { m.col.push_back(column(gen)); m.val.push_back((T)value(gen) / 4); }
        m.row.push_back((int)m.col.size());
    }
    std::vector<T> x(300);
    std::generate(x.begin(), x.end(), [&] { return (T)value(gen); });
    return check<Scalar>(m, x) && check<Vector>(m, x);
}
int main() try {
    auto [a, b] = std::make_tuple(run<float>(1), run<double>(2));
    bool thrown = false;
    try { void *p; CHECK_CUDA(cudaMalloc(&p, ~(size_t)0 >> 1)); } catch (const std::exception &e) { thrown = std::string(e.what()).find("error") != std::string::npos; }
    std::cout << std::boolalpha << (a && b && thrown ? "PASS" : "FAIL") << std::endl;
    return !(a && b && thrown);
} catch (const std::exception &e) {
    std::cerr << e.what() << std::endl;
    return 2;
}
