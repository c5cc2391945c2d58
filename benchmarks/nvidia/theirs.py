"""The kernels of ours.py in CUDA C++, as a good programmer writes them; NVRTC compiles them."""

VECADD = r"""
extern "C" __global__ void vecadd(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}"""

NBODY = r"""
extern "C" __global__ void nbody(const float4 *p, float4 *f, int n) {
    __shared__ float4 tile[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
    float4 own = p[i];
    float ax = 0, ay = 0, az = 0;
    for (int base = 0; base < n; base += 256) {
        tile[t] = p[base + t];
        __syncthreads();
        for (int j = 0; j < 256; j++) {
            float dx = tile[j].x - own.x, dy = tile[j].y - own.y, dz = tile[j].z - own.z;
            float r = dx * dx + dy * dy + dz * dz + 1e-3f;
            float inverse = rsqrtf(r);
            float w = tile[j].w * inverse * inverse * inverse;
            ax += dx * w; ay += dy * w; az += dz * w;
        }
        __syncthreads();
    }
    f[i] = make_float4(ax, ay, az, 0);
}"""

MATMUL = r"""
extern "C" __global__ void matmul(const float *a, const float *b, float *c, int n) {
    __shared__ float sa[32][32], sb[32][32];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * 32 + tx, y = blockIdx.y * 32 + ty;
    float total = 0;
    for (int k = 0; k < n / 32; k++) {
        sa[ty][tx] = a[y * n + k * 32 + tx];
        sb[ty][tx] = b[(k * 32 + ty) * n + x];
        __syncthreads();
#pragma unroll
        for (int j = 0; j < 32; j++) total += sa[ty][j] * sb[j][tx];
        __syncthreads();
    }
    c[y * n + x] = total;
}"""

REDUCTION = r"""
extern "C" __global__ void reduction(const float *x, float *out, int n) {
    __shared__ float sums[32];
    int t = threadIdx.x;
    float total = 0;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) total += x[i];
    for (int shift = 16; shift; shift /= 2) total += __shfl_down_sync(~0u, total, shift);
    if (t % 32 == 0) sums[t / 32] = total;
    __syncthreads();
    if (t < 32) {
        total = t < blockDim.x / 32 ? sums[t] : 0;
        for (int shift = 16; shift; shift /= 2) total += __shfl_down_sync(~0u, total, shift);
        if (t == 0) atomicAdd(out, total);
    }
}"""

TRANSPOSE = r"""
extern "C" __global__ void transpose(const float *a, float *b, int n) {
    __shared__ float tile[32][33];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * 32 + tx, y = blockIdx.y * 32 + ty;
    for (int j = 0; j < 32; j += 8) tile[ty + j][tx] = a[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + tx; y = blockIdx.x * 32 + ty;
    for (int j = 0; j < 32; j += 8) b[(y + j) * n + x] = tile[tx][ty + j];
}"""

HISTOGRAM = r"""
extern "C" __global__ void histogram(const unsigned char *x, unsigned *bins, int n) {
    __shared__ unsigned own[256];
    int t = threadIdx.x;
    own[t] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[x[i]], 1);
    __syncthreads();
    atomicAdd(&bins[t], own[t]);
}"""

BLACKSCHOLES = r"""
__device__ float normal_cdf(float d) { return 0.5f * erfcf(-d * 0.70710678f); }
extern "C" __global__ void blackscholes(const float *price, const float *strike, const float *years,
        float *call, float *put, float rate, float volatility, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float s = price[i], x = strike[i], t = years[i];
        float root = sqrtf(t);
        float d1 = (logf(s / x) + (rate + 0.5f * volatility * volatility) * t)
                   / (volatility * root);
        float d2 = d1 - volatility * root;
        float discounted = x * expf(-rate * t);
        float c1 = normal_cdf(d1), c2 = normal_cdf(d2);
        call[i] = s * c1 - discounted * c2;
        put[i] = discounted * (1.0f - c2) - s * (1.0f - c1);
    }
}"""

STENCIL = r"""
extern "C" __global__ void stencil(const float *a, float *b, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (0 < x && x < n - 1 && 0 < y && y < n - 1)
        b[y * n + x] = 0.25f * (a[y * n + x - 1] + a[y * n + x + 1] + a[(y - 1) * n + x]
                                + a[(y + 1) * n + x]);
}"""

SCAN = r"""
extern "C" __global__ void scan(const float *x, float *out, float *sums, int n) {
    __shared__ float warp_sums[8];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, lane = t % 32, warp = t / 32;
    float value = i < n ? x[i] : 0;
    for (int power = 0; power < 5; power++) {
        float other = __shfl_up_sync(~0u, value, 1 << power);
        if (lane >= 1 << power) value += other;
    }
    if (lane == 31) warp_sums[warp] = value;
    __syncthreads();
    float before = 0;
    for (int w = 0; w < 8; w++) if (w < warp) before += warp_sums[w];
    value += before;
    if (i < n) out[i] = value;
    if (t == 255) sums[blockIdx.x] = value;
}"""

MANDELBROT = r"""
extern "C" __global__ void mandelbrot(int *out, int width, int height, int limit) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) {
        float cr = (float)x / (float)width * 3.5f - 2.5f;
        float ci = (float)y / (float)height * 2.0f - 1.0f;
        float zr = 0, zi = 0;
        int steps = 0;
        while (steps < limit && zr * zr + zi * zi <= 4.0f) {
            float following = zr * zr - zi * zi + cr;
            zi = 2.0f * zr * zi + ci;
            zr = following;
            steps++;
        }
        out[y * width + x] = steps;
    }
}"""

SOURCES = {
    "vecadd": VECADD,
    "nbody": NBODY,
    "matmul": MATMUL,
    "reduction": REDUCTION,
    "transpose": TRANSPOSE,
    "histogram": HISTOGRAM,
    "blackscholes": BLACKSCHOLES,
    "stencil": STENCIL,
    "scan": SCAN,
    "mandelbrot": MANDELBROT,
}
FAST = ("nbody", "matmul")
"""Compiled with --use_fast_math, as ours have fastmath=True."""
