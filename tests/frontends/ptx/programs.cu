// Kernels that test_programs.py compares with numpy. NVRTC and clang compile them, without a GPU.
#include <cuda_fp16.h>

struct Mixed {
    float scale;
    int count;
    double shift;
    const float *values;
    char bytes[5];
};

__constant__ float table[4] = {1.5f, -2.0f, 3.25f, 4.0f};

__device__ __noinline__ float repeated(float x, int count)
{
    for (int i = 0; i < count; i++)
        x = x * 0.5f + table[i & 3];
    return x;
}

__device__ __noinline__ float2 both(float x, float y)
{
    return make_float2(x + y, x * y);
}

__device__ __noinline__ int *same(int *p)
{
    return p;
}

extern "C" __global__ void returned(int *x, int *y)
{
    __shared__ int s[32];
    int i = threadIdx.x, own[4] = {i, i + 1, i + 2, i + 3};
    own[i & 3] = 50;
    s[i] = 3 * i;
    __syncthreads();
    if (x[i] > 3)
        y[i] = *same(&own[(i + 1) & 3]) + 100 * *same(&x[i]) + 10000 * *same(&s[31 - i]);
}

extern "C" __global__ void calls(const float *x, float *y, int n)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= n)
        return;
    float2 pair = both(x[i], repeated(x[i], i % 7));
    y[i] = pair.x - pair.y;
}

extern "C" __global__ void structs(Mixed p, float *y)
{
    int i = threadIdx.x;
    if (i < p.count)
        y[i] = p.scale * p.values[i] + (float)p.shift + p.bytes[i % 5];
}

extern "C" __global__ void switches(const int *x, int *y, int n)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= n)
        return;
    int v = x[i];
    switch (v) {
    case 0: v = 7; break;
    case 1: v *= 3; // falls through
    case 2: v += 11; break;
    case 3: v ^= 0x55; break;
    case 4: v = -v; break;
    case 5: v <<= 3; break;
    case 6: v *= v; break;
    case 7: v = 99; break;
    default: v = -1;
    }
    y[i] = v;
}

extern "C" __global__ void sorted(const int *x, int *y, int n)
{
    int i = threadIdx.x, a[16];
    for (int k = 0; k < 16; k++)
        a[k] = x[(i + k) % n];
    for (int k = 0; k < 15; k++)
        for (int j = 0; j < 15 - k; j++)
            if (a[j] > a[j + 1]) {
                int t = a[j];
                a[j] = a[j + 1];
                a[j + 1] = t;
            }
    y[i] = a[x[i] & 15];
}

extern "C" __global__ void warps(const int *x, int *y)
{
    int own = x[threadIdx.x], sum = own;
    for (int d = 16; d; d >>= 1)
        sum += __shfl_down_sync(~0u, sum, d);
    int other = __shfl_xor_sync(~0u, own, 5, 16);
    unsigned ballot = __ballot_sync(~0u, own > 3);
    y[threadIdx.x] = (threadIdx.x % 32 ? 0 : sum) + other * 3 + __popc(ballot)
        + __any_sync(~0u, other == 2) + __reduce_add_sync(~0u, (unsigned)other);
}

extern "C" __global__ void vectors(const float4 *x, float4 *y, int n)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n) {
        float4 v = x[i];
        v.x += v.y;
        v.z *= v.w;
        y[i] = v;
    }
}

extern "C" __global__ void halves(const __half *x, __half *y, int n)
{
    int i = threadIdx.x;
    if (i < n)
        y[i] = __hadd(__hmul(x[i], x[i]), __float2half(1.5f));
}

extern "C" __global__ void doubles(const double *x, double *y, int n)
{
    int i = threadIdx.x;
    if (i < n)
        y[i] = sqrt(x[i]) + sin(x[i]) * exp(-x[i]) + pow(x[i], 1.7);
}

extern "C" __global__ void floats(const float *x, float *y, int n)
{
    int i = threadIdx.x;
    if (i < n)
        y[i] = sqrtf(x[i]) + sinf(x[i]) * expf(-x[i]) + powf(x[i], 1.7f) + logf(x[i])
            + tanhf(x[i]) + x[i] / 3.0f;
}

extern "C" __global__ void wide(const long long *x, long long *y, int n)
{
    int i = threadIdx.x;
    if (i < n)
        y[i] = x[i] / (i + 3) + x[i] % (i + 7) + __clzll(x[i]) + __brevll(x[i]) % 1000 + __ffsll(x[i])
            + __mul64hi(x[i], 1LL << 40);
}

extern "C" __global__ void shared(const int *x, int *y)
{
    extern __shared__ int s[];
    short *t = (short *)(s + blockDim.x);
    s[threadIdx.x] = x[threadIdx.x];
    t[threadIdx.x] = (short)(x[threadIdx.x] * 2);
    __syncthreads();
    y[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x] + t[(threadIdx.x + 1) % blockDim.x];
}

extern "C" __global__ void reduced(const float *x, float *total, int n)
{
    __shared__ float s[128];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += x[i];
    s[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half >>= 1) {
        if (threadIdx.x < half)
            s[threadIdx.x] += s[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicAdd(total, s[0]);
}

extern "C" __global__ void locked(int *lock, int *total)
{
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(lock, 0, 1))
            ;
        *(volatile int *)total += 1;
        __threadfence();
        atomicExch(lock, 0);
    }
}

extern "C" __global__ void nested(const int *x, int *y, int n)
{
    int i = threadIdx.x, s = 0;
    for (int a = 0; a < n; a++) {
        if (x[a] == i)
            continue;
        for (int b = a; b < n; b++) {
            if (x[b] > x[a] + i)
                break;
            if ((x[b] ^ x[a]) & 1) {
                s += x[b];
                if (s > 1000)
                    goto done;
            } else {
                s -= 1;
            }
        }
    }
done:
    y[i] = s;
}

extern "C" __global__ void chosen(float *a, float *b, const int *f)
{
    int i = threadIdx.x;
    float *p = f[i] ? a : b;
    p[i] = f[i] * 2.0f + 1.0f;
}

extern "C" __global__ void atomics(unsigned *a, unsigned long long *l, int *m)
{
    int i = threadIdx.x;
    atomicAdd(&a[0], i);
    atomicMax(&m[0], i * 7 % 13);
    atomicMin(&m[1], -i);
    atomicXor(&a[1], 1u << i % 32);
    atomicInc(&a[2], 5);
    atomicAdd(l, (unsigned long long)i << 33);
    atomicExch(&a[3], 9u);
    atomicAnd(&a[4], ~(1u << i % 32));
}

template <typename T, int N> __global__ void scaled(T *x)
{
    x[threadIdx.x] *= N;
}

extern "C" __global__ void kept(const int *x, int *y)
{
    volatile int sum = 3;
    for (int i = 0; i < 4; i++)
        sum = sum * 2 + x[threadIdx.x];
    y[threadIdx.x] = sum;
}

// Variables without an initial value: compilers leave their registers unwritten.
extern "C" __global__ void states(const int *in, int *out, int count)
{
    int i = threadIdx.x, last, x, y, state = 0, sum = 0;
    bool known = false;
    for (int n = 0; n < count; n++) {
        int v = in[(i + n) & 31];
        if (known && last > v)
            sum += last - v;
        if (v & 1)
            last = v, known = true;
        if (state == 0)
            x = v;
        else if (state == 1)
            y = 3 * x;
        else
            sum += x + y;
        state = (state + 1) % 3;
    }
    out[i] = sum;
}
