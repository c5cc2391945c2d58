#include <mma.h>
#include <cuda_fp16.h>
#include <cstdio>
#include <cstdlib>
#include <vector>
using namespace nvcuda;
__global__ void wmma_gemm(const half *a, const half *b, float *c, int M, int N, int K)
{
    int warpM = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize, warpN = blockIdx.y * blockDim.y + threadIdx.y;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> af;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> bf;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
    wmma::fill_fragment(acc, 0.0f);
    for (int k = 0; k < K; k += 16) {
        wmma::load_matrix_sync(af, a + warpM * 16 * K + k, K);
        wmma::load_matrix_sync(bf, b + warpN * 16 * K + k, K);
        wmma::mma_sync(acc, af, bf, acc);
    }
    wmma::store_matrix_sync(c + warpM * 16 * N + warpN * 16, acc, N, wmma::mem_row_major);
}
int main()
{
    const int M = 32, N = 32, K = 48;
    std::vector<half> a(M * K), b(N * K);
    std::vector<float> c(M * N);
    for (int i = 0; i < M * K; i++) a[i] = __float2half(float(i % 5 - 2));
    for (int i = 0; i < N * K; i++) b[i] = __float2half(float(i % 3 - 1));
    half *da, *db; float *dc;
    cudaMalloc(&da, a.size() * 2); cudaMalloc(&db, b.size() * 2); cudaMalloc(&dc, c.size() * 4);
    cudaMemcpy(da, a.data(), a.size() * 2, cudaMemcpyHostToDevice);
    cudaMemcpy(db, b.data(), b.size() * 2, cudaMemcpyHostToDevice);
    wmma_gemm<<<dim3(1, 2), dim3(64, 1)>>>(da, db, dc, M, N, K);
    cudaMemcpy(c.data(), dc, c.size() * 4, cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int i = 0; i < M; i++) for (int j = 0; j < N; j++) {
        float s = 0;
        for (int k = 0; k < K; k++) s += float(i * K + k) * 0 + __half2float(a[i * K + k]) * __half2float(b[j * K + k]);
        wrong += s != c[i * N + j];
    }
    printf("%s\n", wrong ? "FAIL" : "PASS");
    return wrong;
}
