// Reductions by template: shared memory, warp shuffles, atomics, of several types and block sizes.
#include <cuda_runtime.h>
#include <iostream>
#include <vector>
#include <numeric>
#include <cstdlib>
template <typename T> struct SharedMemory {
    __device__ inline operator T *() { extern __shared__ int __smem[]; return (T *)__smem; }
};
template <class T, unsigned int blockSize> __global__ void reduce(T *g_idata, T *g_odata, unsigned int n)
{
    T *sdata = SharedMemory<T>();
    unsigned int tid = threadIdx.x, i = blockIdx.x * blockSize * 2 + tid, gridSize = blockSize * 2 * gridDim.x;
    T mySum = 0;
    while (i < n) {
        mySum += g_idata[i];
        if (i + blockSize < n) mySum += g_idata[i + blockSize];
        i += gridSize;
    }
    sdata[tid] = mySum;
    __syncthreads();
    if (blockSize >= 512) { if (tid < 256) sdata[tid] = mySum = mySum + sdata[tid + 256]; __syncthreads(); }
    if (blockSize >= 256) { if (tid < 128) sdata[tid] = mySum = mySum + sdata[tid + 128]; __syncthreads(); }
    if (blockSize >= 128) { if (tid < 64) sdata[tid] = mySum = mySum + sdata[tid + 64]; __syncthreads(); }
    if (tid < 32) {
        if (blockSize >= 64) mySum += sdata[tid + 32];
        for (int offset = warpSize / 2; offset > 0; offset /= 2) mySum += __shfl_down_sync(0xffffffff, mySum, offset);
    }
    if (tid == 0) g_odata[blockIdx.x] = mySum;
}
template <class T> T run(const std::vector<T> &h, int threads)
{
    T *d_i, *d_o;
    int blocks = 8;
    cudaMalloc(&d_i, h.size() * sizeof(T));
    cudaMalloc(&d_o, blocks * sizeof(T));
    cudaMemcpy(d_i, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice);
    size_t smem = threads * sizeof(T);
    switch (threads) {
    case 512: reduce<T, 512><<<blocks, threads, smem>>>(d_i, d_o, h.size()); break;
    case 256: reduce<T, 256><<<blocks, threads, smem>>>(d_i, d_o, h.size()); break;
    case 64: reduce<T, 64><<<blocks, threads, smem>>>(d_i, d_o, h.size()); break;
    }
    std::vector<T> o(blocks);
    cudaMemcpy(o.data(), d_o, blocks * sizeof(T), cudaMemcpyDeviceToHost);
    cudaFree(d_i); cudaFree(d_o);
    return std::accumulate(o.begin(), o.end(), T(0));
}
int main()
{
    std::vector<int> a(100003);
    std::vector<double> b(50001);
    for (size_t i = 0; i < a.size(); i++) a[i] = rand() % 100 - 50;
    for (size_t i = 0; i < b.size(); i++) b[i] = rand() % 1000;
    bool ok = true;
    for (int threads : {64, 256, 512}) {
        ok &= run(a, threads) == std::accumulate(a.begin(), a.end(), 0);
        ok &= run(b, threads) == std::accumulate(b.begin(), b.end(), 0.0);
    }
    std::cout << (ok ? "PASS" : "FAIL") << std::endl;
    return !ok;
}
