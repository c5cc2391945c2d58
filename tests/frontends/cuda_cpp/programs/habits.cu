// What programs of public suites do beside their algorithms.
#include <cmath>
#include <iostream>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuComplex.h>
#include <cuda/atomic>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <helper_cuda.h>
#include <helper_functions.h>
#include <helper_math.h>
#include <thrust/copy.h>
#include <thrust/device_vector.h>

namespace cg = cooperative_groups;
using namespace std;

texture<float, 2> image;

// A reduction whose last steps count on a warp in lockstep.
template <typename T> __device__ void in_warp(volatile T *s, int i)
{
    s[i] += s[i + 32];
    s[i] += s[i + 16];
    s[i] += s[i + 8];
    s[i] += s[i + 4];
    s[i] += s[i + 2];
    s[i] += s[i + 1];
}
template <typename T> __global__ void old_sum(const T *x, T *out)
{
    extern __shared__ char memory[];
    T *s = (T *)memory;
    int i = threadIdx.x;
    s[i] = x[i] + x[i + blockDim.x];
    __syncthreads();
    if (i < 32)
        in_warp<T>(s, i);
    if (i == 0)
        *out = s[0];
}

// One lane of those that run has the value that all get.
__global__ void chosen(const int *x, int *out, int *count, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, first;
    if (i >= n || x[i] % 3)
        return;
    auto group = cg::coalesced_threads();
    if (group.thread_rank() == 0)
        first = atomicAdd(count, group.size());
    out[group.shfl(first, 0) + group.thread_rank()] = x[i];
}

template <typename T> __global__ void parts(const T *x, double *out, int n)
{
    int i = threadIdx.x, k = 0, e;
    T v = x[i], whole;
#define PUT(value) out[k++ * n + i] = (double)(value)
    PUT(std::frexp(v, &e));
    PUT(e);
    PUT(std::modf(v, &whole));
    PUT(whole);
    PUT(std::lrint(v));
    PUT(std::llround(v));
    PUT(std::lround((int)v));
    PUT(std::ilogb(v));
    PUT(std::logb(v));
    PUT(std::remainder(v, T(0.75)));
    PUT(std::remquo(v, T(0.75), &e));
    PUT(e & 7);
    PUT(std::scalbln(v, 3l));
    PUT(std::fma(v, 2, 1.0));
    static_assert(sizeof(std::logb(v)) == sizeof(T), "as the argument");
}

__global__ void integers(const unsigned *x, unsigned *out, int n)
{
    int i = threadIdx.x, k = 0;
    unsigned a = x[i], b = x[i + 1], c = x[i + 2];
    bool first;
#undef PUT
#define PUT(value) out[k++ * n + i] = (unsigned)(value)
    PUT(__fns(a, 5, 3));
    PUT(__vimax3_s32(a, b, c));
    PUT(__vimin3_u32(a, b, c));
    PUT(__viaddmax_s32_relu(a, b, c));
    PUT(__viaddmin_u32(a, b, c));
    PUT(__vimin3_s16x2_relu(a, b, c));
    PUT(__viaddmax_u16x2(a, b, c));
    PUT(__vibmax_s32(a, b, &first));
    PUT(first);
}

__global__ void halves(const float *x, float *out)
{
    __half a = x[0], b = x[1], c = a++;
    __nv_bfloat16 d = __float2bfloat16_rz(x[0]);
    out[0] = a, out[1] = c, out[2] = b--, out[3] = b, out[4] = d;
    out[5] = __hfma_relu(a, b, c), out[6] = __hmax_nan(a, __half(x[2])), out[7] = __hmax(a, __half(x[2]));
    out[8] = __hadd_rn(__hmul_rn(a, a), c);
}

__global__ void copied(const int *x, int *out, cuda::atomic<int> *count)
{
    __shared__ alignas(16) int kept[64];
    auto block = cg::this_thread_block();
    using Size = cuda::aligned_size_t<16>;
    cg::memcpy_async(block, kept, Size(32), x, Size(64));
    cg::memcpy_async(block, kept + 32, x + 32, Size(128));
    cg::wait(block);
    auto token = block.barrier_arrive();
    block.barrier_wait(std::move(token));
    cg::invoke_one(block, [&] { count->fetch_add(5); });
    cuda::std::atomic_ref<int>(out[64]).fetch_add(1);
    cuda::std::atomic_thread_fence(cuda::std::memory_order_seq_cst);
    cuDoubleComplex z = cuComplexFloatToDouble(make_cuFloatComplex(1, 2));
    out[block.thread_rank()] = kept[63 - block.thread_rank()] * (int)z.y;
}

// std has a function of this name. nvcc takes special registers by one % in an assembly.
__global__ void fill(unsigned *out)
{
    unsigned lane, size;
    asm("mov.u32 %0, %laneid;" : "=r"(lane));
    asm volatile("{\n\t"
                 "mov.u32 %0, %ntid.x; }" : "=r"(size));
    asm volatile("// %laneid");
    out[threadIdx.x] = lane + 100 * size;
}

__global__ void vectors(const float4 *p, float4 *out)
{
    float3 a = make_float3(p[0]), b = make_float3(p[1]);
    a += 2.0f * b;
    a = clamp(a / 4.0f, make_float3(-1.0f), make_float3(1.0f, 2.0f, 0.5f));
    out[0] = make_float4(cross(a, b) - a, dot(a, b));
    out[1] = lerp(p[0], p[1], 0.25f) * p[1];
    int3 q = max(-make_int3(floorf(b)), make_int3(-1)) * 3;
    out[2] = make_float4(make_float3(q), length(make_float2(3.0f, 4.0f)));
    out[3] = make_float4(reflect(a, b), smoothstep(0.0f, 2.0f, 0.5f));
}

int main(int argc, char **argv)
{
    int device = findCudaDevice(argc, (const char **)argv), cores = _ConvertSMVer2Cores(8, 0);
    StopWatchInterface *timer = NULL;
    float *pixels = NULL;
    unsigned width, height;
    sdkCreateTimer(&timer);
    if (checkCmdLineFlag(argc, (const char **)argv, "image"))
        sdkLoadPGM(sdkFindFilePath("image.pgm", argv[0]), &pixels, &width, &height);
    checkCudaErrors(cudaSetDevice(device + cores * MIN(1, 2)));
    getLastCudaError("launch");
    cudaArray *array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaBindTextureToArray(&image, array, &format);
    thrust::device_vector<float> v(8, 1.0f);
    thrust::copy(v.begin(), v.end(), std::ostream_iterator<float>(std::cout, " "));
    static_assert(THRUST_VERSION >= 200000);
    old_sum<double><<<1, 64, 512>>>(nullptr, nullptr);
}

// Atomic functions with an order and a scope.
extern "C" __global__ void ordered(int *x, unsigned long long *y, float *f)
{
    int t = threadIdx.x, last, mine = t;
    __nv_atomic_fetch_add(&x[0], t, __NV_ATOMIC_RELAXED);
    __nv_atomic_max(&x[1], t, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
    __nv_atomic_min(&x[2], -t, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_BLOCK);
    __nv_atomic_or(&x[3], 1 << t % 30, __NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_BLOCK);
    __nv_atomic_add(f, 0.5f, __NV_ATOMIC_RELAXED);
    unsigned long long was = __nv_atomic_load_n(y, __NV_ATOMIC_RELAXED), next;
    do
        next = was * 3 + 1;
    while (!__nv_atomic_compare_exchange_n(y, &was, next, false, __NV_ATOMIC_ACQ_REL,
                                           __NV_ATOMIC_RELAXED));
    if (t == 5) {
        __nv_atomic_exchange(&x[4], &mine, &last, __NV_ATOMIC_RELAXED);
        __nv_atomic_store_n(&x[5], last, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_SYSTEM);
    }
    if (t == 6) {
        __nv_atomic_load(&x[7], &last, __NV_ATOMIC_ACQUIRE);
        x[6] = last + __nv_atomic_exchange_n(&x[8], 4, __NV_ATOMIC_RELAXED);
    }
}
