#include <cstdio>
#include <vector>
#include <cmath>
#define KERNEL_RADIUS 4
#define KERNEL_LENGTH (2 * KERNEL_RADIUS + 1)
__constant__ float c_Kernel[KERNEL_LENGTH];
__device__ unsigned long long visited = 0;
static __device__ __forceinline__ int clampi(int v, int lo, int hi) { return max(lo, min(v, hi)); }
__global__ void convolutionRows(float *dst, const float *__restrict__ src, int w, int h, size_t pitch)
{
    const int x = blockDim.x * blockIdx.x + threadIdx.x, y = blockDim.y * blockIdx.y + threadIdx.y;
    if (x >= w || y >= h) return;
    const float *row = (const float *)((const char *)src + y * pitch);
    float sum = 0;
#pragma unroll
    for (int k = -KERNEL_RADIUS; k <= KERNEL_RADIUS; k++) sum = fmaf(row[clampi(x + k, 0, w - 1)], c_Kernel[KERNEL_RADIUS - k], sum);
    *(float *)((char *)dst + y * pitch + x * sizeof(float)) = sum;
    atomicAdd(&visited, 1ULL);
}
int main()
{
    const int w = 77, h = 33;
    std::vector<float> src(w * h), dst(w * h);
    float kernel[KERNEL_LENGTH];
    for (int i = 0; i < KERNEL_LENGTH; i++) kernel[i] = (float)(i + 1) / 8;
    for (int i = 0; i < w * h; i++) src[i] = (float)((i * 31) % 17) / 4;
    cudaMemcpyToSymbol(c_Kernel, kernel, sizeof(kernel));
    float *dsrc, *ddst;
    size_t pitch, pitch2;
    cudaMallocPitch(&dsrc, &pitch, w * sizeof(float), h);
    cudaMallocPitch((void **)&ddst, &pitch2, w * sizeof(float), h);
    cudaMemcpy2D(dsrc, pitch, src.data(), w * sizeof(float), w * sizeof(float), h, cudaMemcpyHostToDevice);
    convolutionRows<<<dim3((w + 15) / 16, (h + 7) / 8), dim3(16, 8)>>>(ddst, dsrc, w, h, pitch);
    cudaMemcpy2D(dst.data(), w * sizeof(float), ddst, pitch, w * sizeof(float), h, cudaMemcpyDeviceToHost);
    unsigned long long count = 0;
    cudaMemcpyFromSymbol(&count, visited, sizeof(count));
    void *address = nullptr;
    size_t bytes = 0;
    bool ok = pitch == pitch2 && count == w * h;
    ok &= cudaGetSymbolAddress(&address, c_Kernel) == cudaSuccess && address;
    ok &= cudaGetSymbolSize(&bytes, c_Kernel) == cudaSuccess && bytes == sizeof(kernel);
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            float sum = 0;
            for (int k = -KERNEL_RADIUS; k <= KERNEL_RADIUS; k++) {
                int at = x + k < 0 ? 0 : x + k >= w ? w - 1 : x + k;
                sum = std::fma(src[y * w + at], kernel[KERNEL_RADIUS - k], sum);
            }
            ok &= sum == dst[y * w + x];
        }
    puts(ok ? "PASS" : "FAIL");
    return !ok;
}
