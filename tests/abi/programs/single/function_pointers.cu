// Tables of device functions, static and anonymous kernels, namespaces, launches by pointer.
#include <assert.h>
#include <cuda.h>
#include <cuda_runtime.h>
#include <iostream>
#include <map>
#include <string>
using namespace std;
typedef float (*op_t)(float, float);
__device__ float add(float a, float b) { return a + b; }
__device__ float mul(float a, float b) { return a * b; }
__device__ op_t p_add = add, p_mul = mul;
namespace {
const int limit = 40;
__host__ __device__ constexpr float scale(int i) { return i == 0 ? 1.0f : i == 1 ? 0.5f : 0.25f; }
__global__ void apply(op_t op, const float *x, float *y, int n)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < min(n, limit)) y[i] = op(x[i], scale(i % 3));
}
}
namespace outer { namespace inner {
static __global__ void fill(float *x, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = i; }
template <int N, bool flip> struct Params { int a[N]; static constexpr int count = N; };
template <int N, bool flip> __global__ void sum(Params<N, flip> p, float *out)
{
    float s = 0;
#pragma unroll
    for (int i = 0; i < Params<N, flip>::count; i++) s += flip ? -p.a[i] : p.a[i];
    assert(s != 12345);
    *out = s;
}
} }
extern "C" __global__ void plain(float *x) { x[0] += 100; }
int main(int argc, char **argv)
{
    const int n = 50;
    float *x, *y, h[n] = {};
    cudaStream_t stream = 0;
    cudaMalloc((void **)&x, n * sizeof(float));
    cudaMalloc((void **)&y, n * sizeof(float));
    cudaMemset(y, 0, n * sizeof(float));
    outer::inner::fill<<<1, 32, 0, 0>>>(x, n);
    map<string, op_t> ops;
    cudaMemcpyFromSymbol(&ops["add"], p_add, sizeof(op_t));
    cudaMemcpyFromSymbol(&ops["mul"], p_mul, sizeof(op_t));
    apply<<<dim3(2), dim3(32, 1, 1), 0, stream>>>(ops["mul"], x, y, n);
    void (*pointer)(float *) = plain;
    pointer<<<1, 1>>>(y);
    cudaMemcpy(h, y, sizeof(h), cudaMemcpyDeviceToHost);
    bool ok = h[0] == 100;
    for (int i = 1; i < n; i++) ok = ok && h[i] == (i < limit ? i * scale(i % 3) : 0);
    apply<<<2, 32>>>(ops["add"], x, y, n);
    cudaMemcpy(h, y, sizeof(h), cudaMemcpyDeviceToHost);
    ok = ok && h[5] == 5.25f;
    outer::inner::sum<<<1, 1>>>(outer::inner::Params<3, true>{{1, 2, 3}}, y);
    cudaMemcpy(h, y, sizeof(float), cudaMemcpyDeviceToHost);
    ok = ok && h[0] == -6 && max(3, 4) == 4 && min(2.5, 3.0f) == 2.5 && CUDA_VERSION >= 12000;
    cudaFuncAttributes attributes;
    ok = ok && cudaFuncGetAttributes(&attributes, plain) == cudaSuccess && attributes.maxThreadsPerBlock >= 32;
    cout << (ok ? "PASS" : "FAIL") << endl;
    return ok ? 0 : 1;
}
