// Tiled matrix product with timing by events, as in introductions to CUDA.
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#define TILE 16
#define cudaCheck(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line, bool abort = true)
{
    if (code != cudaSuccess) {
        fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
        if (abort) exit(code);
    }
}
__global__ void matMul(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float As[TILE][TILE], Bs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int t = 0; t < (K + TILE - 1) / TILE; ++t) {
        As[threadIdx.y][threadIdx.x] = row < M && t * TILE + threadIdx.x < K ? A[row * K + t * TILE + threadIdx.x] : 0;
        Bs[threadIdx.y][threadIdx.x] = col < N && t * TILE + threadIdx.y < K ? B[(t * TILE + threadIdx.y) * N + col] : 0;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; ++k) sum += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = sum;
}
int main(int argc, char **argv)
{
    int M = 70, N = 50, K = 90;
    float *hA = (float *)malloc(M * K * sizeof(float)), *hB = (float *)malloc(K * N * sizeof(float));
    float *hC = (float *)malloc(M * N * sizeof(float));
    for (int i = 0; i < M * K; i++) hA[i] = (i % 7) - 3;
    for (int i = 0; i < K * N; i++) hB[i] = (i % 5) - 2;
    float *dA, *dB, *dC;
    cudaCheck(cudaMalloc(&dA, M * K * sizeof(float)));
    cudaCheck(cudaMalloc((void **)&dB, K * N * sizeof(float)));
    cudaCheck(cudaMalloc(&dC, M * N * sizeof(float)));
    cudaCheck(cudaMemcpy(dA, hA, M * K * sizeof(float), cudaMemcpyHostToDevice));
    cudaCheck(cudaMemcpy(dB, hB, K * N * sizeof(float), cudaMemcpyHostToDevice));
    cudaEvent_t start, stop;
    cudaCheck(cudaEventCreate(&start));
    cudaCheck(cudaEventCreate(&stop));
    dim3 block(TILE, TILE), grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    cudaEventRecord(start);
    matMul<<<grid, block>>>(dA, dB, dC, M, N, K);
    cudaEventRecord(stop);
    cudaCheck(cudaEventSynchronize(stop));
    cudaCheck(cudaGetLastError());
    float ms = -1;
    cudaCheck(cudaEventElapsedTime(&ms, start, stop));
    cudaCheck(cudaMemcpy(hC, dC, M * N * sizeof(float), cudaMemcpyDeviceToHost));
    int wrong = ms < 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float s = 0;
            for (int k = 0; k < K; k++) s += hA[i * K + k] * hB[k * N + j];
            wrong += s != hC[i * N + j];
        }
    cudaFree(dA); cudaFree(dB); cudaFree(dC);
    printf("%s\n", wrong ? "FAIL" : "PASS");
    return wrong != 0;
}
