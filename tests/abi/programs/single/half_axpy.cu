#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cstdio>
__global__ void haxpy(int n, half a, const half *x, half *y)
{
    int start = threadIdx.x + blockDim.x * blockIdx.x, stride = blockDim.x * gridDim.x, n2 = n / 2;
    const half2 *x2 = (const half2 *)x;
    half2 *y2 = (half2 *)y;
    for (int i = start; i < n2; i += stride) y2[i] = __hfma2(__half2half2(a), x2[i], y2[i]);
    if (start == 0 && (n % 2)) y[n - 1] = __hfma(a, x[n - 1], y[n - 1]);
}
__global__ void to_bf16(const float *in, __nv_bfloat16 *out, int n)
{
    int i = threadIdx.x;
    if (i < n) out[i] = __float2bfloat16(in[i]);
}
int main(void)
{
    const int n = 101;
    half hx[n], hy[n], r[n], *x, *y;
    float f[32];
    for (int i = 0; i < n; i++) { hx[i] = __float2half((float)(i % 10)); hy[i] = __float2half(0.5f); }
    cudaMalloc((void **)&x, sizeof(hx)); cudaMalloc((void **)&y, sizeof(hy));
    cudaMemcpy(x, hx, sizeof(hx), cudaMemcpyHostToDevice);
    cudaMemcpy(y, hy, sizeof(hy), cudaMemcpyHostToDevice);
    haxpy<<<2, 32>>>(n, __float2half(2.0f), x, y);
    cudaMemcpy(r, y, sizeof(r), cudaMemcpyDeviceToHost);
    bool ok = sizeof(half) == 2;
    for (int i = 0; i < n; i++) ok = ok && __half2float(r[i]) == 2.0f * (i % 10) + 0.5f;
    __nv_bfloat16 *b, hb[32];
    float *fd;
    for (int i = 0; i < 32; i++) f[i] = i * 0.25f;
    cudaMalloc(&b, sizeof(hb)); cudaMalloc(&fd, sizeof(f));
    cudaMemcpy(fd, f, sizeof(f), cudaMemcpyHostToDevice);
    to_bf16<<<1, 32>>>(fd, b, 32);
    cudaMemcpy(hb, b, sizeof(hb), cudaMemcpyDeviceToHost);
    for (int i = 0; i < 32; i++) ok = ok && __bfloat162float(hb[i]) == f[i];
    printf("%s\n", ok ? "PASS" : "FAIL");
    return !ok;
}
