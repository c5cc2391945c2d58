#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>
typedef unsigned char uchar;
inline __host__ __device__ float3 operator*(float3 a, float s) { return make_float3(a.x * s, a.y * s, a.z * s); }
inline __host__ __device__ float4 lerp(float4 a, float4 b, float t) { return make_float4(a.x + t * (b.x - a.x), a.y + t * (b.y - a.y), a.z + t * (b.z - a.z), a.w + t * (b.w - a.w)); }
struct float3x4 { float4 m[3]; };
__constant__ float3x4 c_matrix;
__device__ float3 mul(const float3x4 &M, const float4 &v)
{
    float r[3];
    for (int i = 0; i < 3; i++) r[i] = M.m[i].x * v.x + M.m[i].y * v.y + M.m[i].z * v.z + M.m[i].w * v.w;
    return make_float3(r[0], r[1], r[2]);
}
__global__ void sample(float *out, cudaTextureObject_t tex, cudaTextureObject_t layered, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float3 p = mul(c_matrix, make_float4(i, i, i, 1)) * 0.5f;
    out[i] = tex3D<float>(tex, p.x, p.y, p.z);
    float4 c = tex2DLayered<float4>(layered, i + 0.5f, 0.5f, i % 2);
    out[n + i] = lerp(c, make_float4(0, 0, 0, 0), 0.5f).y;
}
int main()
{
    const int w = 8, h = 8, d = 8, n = 8;
    std::vector<uchar> volume(w * h * d);
    for (int i = 0; i < w * h * d; i++) volume[i] = (uchar)(i % w * 20);
    cudaExtent size = make_cudaExtent(w, h, d);
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<uchar>();
    cudaArray_t array, layers;
    if (cudaMalloc3DArray(&array, &desc, size)) return 1;
    cudaMemcpy3DParms copy = {0};
    copy.srcPtr = make_cudaPitchedPtr(volume.data(), w, w, h);
    copy.dstArray = array;
    copy.extent = size;
    copy.kind = cudaMemcpyHostToDevice;
    if (cudaMemcpy3D(&copy)) return 2;
    cudaResourceDesc res = {};
    res.resType = cudaResourceTypeArray;
    res.res.array.array = array;
    cudaTextureDesc t = {};
    t.normalizedCoords = true;
    t.filterMode = cudaFilterModeLinear;
    for (auto &m : t.addressMode) m = cudaAddressModeWrap;
    t.readMode = cudaReadModeNormalizedFloat;
    cudaTextureObject_t tex, layered;
    if (cudaCreateTextureObject(&tex, &res, &t, nullptr)) return 3;
    std::vector<float4> planes(n * 1 * 2);
    for (size_t i = 0; i < planes.size(); i++) planes[i] = make_float4(1, 2.0f * i, 3, 4);
    cudaChannelFormatDesc four = cudaCreateChannelDesc<float4>();
    if (cudaMalloc3DArray(&layers, &four, make_cudaExtent(n, 1, 2), cudaArrayLayered)) return 4;
    cudaMemcpy3DParms layer = {};
    layer.srcPtr = make_cudaPitchedPtr(planes.data(), n * sizeof(float4), n, 1);
    layer.dstArray = layers;
    layer.extent = make_cudaExtent(n, 1, 2);
    layer.kind = cudaMemcpyHostToDevice;
    if (cudaMemcpy3D(&layer)) return 5;
    res.res.array.array = layers;
    t = {};
    t.readMode = cudaReadModeElementType;
    if (cudaCreateTextureObject(&layered, &res, &t, nullptr)) return 6;
    float3x4 m = {{make_float4(0.25f, 0, 0, 0.125f), make_float4(0, 0, 0, 0.125f), make_float4(0, 0, 0, 0.125f)}};
    cudaMemcpyToSymbol(c_matrix, &m, sizeof(m));
    float *out, host[2 * n];
    cudaMalloc(&out, sizeof(host));
    sample<<<1, n>>>(out, tex, layered, n);
    if (cudaMemcpy(host, out, sizeof(host), cudaMemcpyDeviceToHost)) return 7;
    bool ok = true;
    for (int i = 0; i < n; i++) {
        float x = (0.25f * i + 0.125f) * 0.5f, at = (x - floorf(x)) * w;
        ok &= fabsf(host[i] - ((int)at % w) * 20 / 255.0f) < 0.01f || fabsf(at - floorf(at) - 0.5f) > 0.01f;
        ok &= host[n + i] == 0.5f * 2.0f * (i + n * (i % 2));
    }
    printf("%s\n", ok ? "PASS" : "FAIL");
    return !ok;
}
