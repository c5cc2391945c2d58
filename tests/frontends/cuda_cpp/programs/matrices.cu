// Products of matrices by the fragments of mma.h.
#include <mma.h>
#include <cstdio>

using namespace nvcuda;

template <int M, int N, int K, typename T, typename E, typename D, typename LA, typename LB>
__global__ void product(const E *a, const E *b, const D *c, D *d, bool by_rows)
{
    wmma::fragment<wmma::matrix_a, M, N, K, T, LA> left;
    wmma::fragment<wmma::matrix_b, M, N, K, T, LB> right;
    wmma::fragment<wmma::accumulator, M, N, K, D> sums;
    constexpr bool rows_a = std::is_same<LA, wmma::row_major>::value;
    constexpr bool rows_b = std::is_same<LB, wmma::row_major>::value;
    wmma::layout_t order = by_rows ? wmma::mem_row_major : wmma::mem_col_major;
    wmma::load_matrix_sync(left, a, rows_a ? K : M);
    wmma::load_matrix_sync(right, b, rows_b ? N : K);
    wmma::load_matrix_sync(sums, c, by_rows ? N : M, order);
    wmma::mma_sync(sums, left, right, sums);
    wmma::store_matrix_sync(d, sums, by_rows ? N : M, order);
}

// Through shared memory, with the elements changed in registers.
extern "C" __global__ void relu(const half *a, const half *b, float *d, float scale)
{
    __shared__ half tile[2][256];
    for (int n = threadIdx.x; n < 256; n += 32)
        tile[0][n] = a[n], tile[1][n] = b[n];
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
    wmma::fill_fragment(sums, 0.0f);
    wmma::load_matrix_sync(left, tile[0], 16);
    wmma::load_matrix_sync(right, tile[1], 16);
    for (int t = 0; t < right.num_elements; t++)
        right.x[t] = right.x[t] * half(2);
    wmma::mma_sync(sums, left, right, sums);
    for (int t = 0; t < sums.num_elements; t++)
        sums.x[t] = fmaxf(sums.x[t] * scale, 0.0f);
    wmma::store_matrix_sync(d, sums, 16, wmma::mem_row_major);
}

extern "C" __global__ void limited(const signed char *a, const signed char *b, int *d)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, int> sums;
    wmma::load_matrix_sync(left, a, 16);
    wmma::load_matrix_sync(right, b, 16);
    wmma::load_matrix_sync(sums, d, 16, wmma::mem_row_major);
    wmma::mma_sync(sums, left, right, sums, true);
    wmma::store_matrix_sync(d, sums, 16, wmma::mem_row_major);
}

extern "C" __global__ void rounded(const float *x, float *y)
{
    y[threadIdx.x] = wmma::__float_to_tf32(x[threadIdx.x]);
}

int main()
{
    relu<<<1, 32>>>(nullptr, nullptr, nullptr, 1.0f);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
