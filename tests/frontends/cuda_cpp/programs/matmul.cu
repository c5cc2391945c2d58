// C = alpha A B + beta C, in tiles, for any element type.
#include <cassert>
#include <chrono>
#include <cstdio>
#include <memory>
#include <type_traits>

template <typename T> struct Wider { using type = T; };
template <> struct Wider<signed char> { using type = int; };

template <typename T, int TILE, typename A = typename Wider<T>::type>
__global__ void gemm(const T *a, const T *b, A *c, int m, int n, int k, A alpha, A beta)
{
    static_assert(std::is_arithmetic<T>::value, "numbers");
    __shared__ T as[TILE][TILE + 1], bs[TILE][TILE + 1];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    A sum = A();
    for (int first = 0; first < k; first += TILE) {
        as[threadIdx.y][threadIdx.x] =
            row < m && first + threadIdx.x < k ? a[row * k + first + threadIdx.x] : T(0);
        bs[threadIdx.y][threadIdx.x] =
            column < n && first + threadIdx.y < k ? b[(first + threadIdx.y) * n + column] : T(0);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; ++i)
            sum += A(as[threadIdx.y][i]) * A(bs[i][threadIdx.x]);
        __syncthreads();
    }
    if (row < m && column < n)
        c[row * n + column] = alpha * sum + beta * c[row * n + column];
}

// Sums of products of bytes, four at a time.
extern "C" __global__ void dots(const int *a, const int *b, int *out, int words)
{
    int sum = 0;
    for (int i = 0; i < words; i++)
        sum = __dp4a(a[threadIdx.x * words + i], b[i], sum);
    out[threadIdx.x] = sum;
}

int main()
{
    auto begin = std::chrono::steady_clock::now();
    float *a = nullptr, *b = nullptr, *c = nullptr;
    dim3 block(16, 16);
    dim3 grid = {4, 4, 1};
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    gemm<float, 16><<<grid, block, 0, stream>>>(a, b, c, 64, 64, 64, 1.0f, 0.0f);
    cudaStreamSynchronize(stream);
    cudaDeviceProp prop;
    cudaGetDeviceProperties(&prop, 0);
    std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    printf("%s: %g s\n", prop.name, passed.count());
    assert(prop.warpSize == 32);
}
