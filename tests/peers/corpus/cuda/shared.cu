// Shared memory.
extern "C" __global__ void several(const float *x, double *y, int n)
{
    extern __shared__ char bytes[];
    double *wide = (double *)bytes;
    float *narrow = (float *)(wide + n);
    unsigned char *flags = (unsigned char *)(narrow + n);
    int i = threadIdx.x;
    wide[i] = x[i] * 2.0;
    narrow[i] = x[i] + 1;
    flags[i] = i * 3;
    __syncthreads();
    int k = n - 1 - i;
    y[i] = wide[k] + narrow[(i + 1) % n] + flags[k];
}

extern "C" __global__ void transposed(const float *x, float *y, int w, int h)
{
    __shared__ float tile[16][17];
    int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
    if (c < w && r < h)
        tile[threadIdx.y][threadIdx.x] = x[r * w + c];
    __syncthreads();
    c = blockIdx.y * 16 + threadIdx.x;
    r = blockIdx.x * 16 + threadIdx.y;
    if (c < h && r < w)
        y[r * h + c] = tile[threadIdx.x][threadIdx.y];
}

extern "C" __global__ void product(const float *a, const float *b, float *c, int n)
{
    __shared__ float left[16][16], right[16][16];
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int at = 0; at < n; at += 16) {
        left[threadIdx.y][threadIdx.x] = a[row * n + at + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(at + threadIdx.y) * n + col];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; k++)
            sum += left[threadIdx.y][k] * right[k][threadIdx.x];
        __syncthreads();
    }
    c[row * n + col] = sum;
}

extern "C" __global__ void histogram(const unsigned char *x, int *y, int n)
{
    __shared__ int bins[64];
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        atomicAdd(&bins[x[i] >> 2], 1);
    __syncthreads();
    atomicAdd(&y[threadIdx.x], bins[threadIdx.x]);
}

extern "C" __global__ void scanned(const int *x, int *y)
{
    __shared__ int s[2][64];
    int i = threadIdx.x, now = 0;
    s[0][i] = x[i];
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        s[1 - now][i] = s[now][i] + (i >= d ? s[now][i - d] : 0);
        now = 1 - now;
        __syncthreads();
    }
    y[i] = s[now][i];
}

extern "C" __global__ void stencil(const float *x, float *y, int n)
{
    __shared__ float s[64 + 4];
    int i = blockIdx.x * 64 + threadIdx.x, k = threadIdx.x + 2;
    s[k] = i < n ? x[i] : 0;
    if (threadIdx.x < 2) {
        s[k - 2] = i >= 2 ? x[i - 2] : 0;
        s[k + 64] = i + 64 < n ? x[i + 64] : 0;
    }
    __syncthreads();
    if (i < n)
        y[i] = s[k - 2] - 4 * s[k - 1] + 6 * s[k] - 4 * s[k + 1] + s[k + 2];
}

struct Item {
    int key;
    double weight;
    short tag[3];
};

extern "C" __global__ void structs(const int *x, double *y)
{
    __shared__ Item items[32];
    Item own = {x[threadIdx.x], x[threadIdx.x] * 0.5, {1, (short)threadIdx.x, 3}};
    items[31 - threadIdx.x] = own;
    __syncthreads();
    Item *other = &items[threadIdx.x];
    y[threadIdx.x] = other->key + other->weight + other->tag[threadIdx.x % 3];
}

__device__ __noinline__ float summed(const float *values, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += values[i];
    return sum;
}

extern "C" __global__ void generic(const float *x, float *y)
{
    __shared__ float s[32];
    float own[4] = {1, 2, 3, (float)threadIdx.x};
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = summed(s, 32) + summed(x, 32) + summed(own, 4);
}

extern "C" __global__ void votes(const int *x, int *y)
{
    int own = x[threadIdx.x];
    y[threadIdx.x] = __syncthreads_count(own > 50) + 1000 * __syncthreads_or(own > 98)
        + 10000 * __syncthreads_and(own >= 0);
}

extern "C" __global__ void pointed(const int *x, int *y)
{
    __shared__ int *table[32];
    __shared__ int values[32];
    values[threadIdx.x] = x[threadIdx.x];
    table[threadIdx.x] = threadIdx.x & 1 ? &values[31 - threadIdx.x] : &y[threadIdx.x];
    __syncthreads();
    int got = *table[threadIdx.x ^ 1];
    __syncthreads();
    y[threadIdx.x] = got;
}
