// Whole algorithms.
extern "C" __global__ void mandelbrot(int *y, int w, int limit)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (c >= w || r >= w)
        return;
    double x0 = c * 3.0 / w - 2, y0 = r * 3.0 / w - 1.5, a = 0, b = 0;
    int n = 0;
    for (; n < limit && a * a + b * b <= 4; n++) {
        double t = __dadd_rn(__dsub_rn(__dmul_rn(a, a), __dmul_rn(b, b)), x0);
        b = __dadd_rn(__dmul_rn(2 * a, b), y0);
        a = t;
    }
    y[r * w + c] = n;
}

extern "C" __global__ void bodies(const float4 *x, float4 *force, int n)
{
    __shared__ float4 s[32];
    int i = blockIdx.x * 32 + threadIdx.x;
    float4 own = x[i];
    float fx = 0, fy = 0, fz = 0;
    for (int at = 0; at < n; at += 32) {
        s[threadIdx.x] = x[at + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < 32; k++) {
            float dx = s[k].x - own.x, dy = s[k].y - own.y, dz = s[k].z - own.z;
            float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            float f = s[k].w * inverse * inverse * inverse;
            fx += f * dx, fy += f * dy, fz += f * dz;
        }
        __syncthreads();
    }
    force[i] = make_float4(fx, fy, fz, 0);
}

extern "C" __global__ void life(const unsigned char *x, unsigned char *y, int w)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y, near = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            if (dx || dy)
                near += x[(r + dy + w) % w * w + (c + dx + w) % w];
    y[r * w + c] = near == 3 || (near == 2 && x[r * w + c]);
}

extern "C" __global__ void sparse(const int *starts, const int *cols, const double *values, const double *x, double *y, int n)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= n)
        return;
    double sum = 0;
    for (int k = starts[row] + lane; k < starts[row + 1]; k += 32)
        sum += values[k] * x[cols[k]];
    for (int d = 16; d; d /= 2)
        sum += __shfl_down_sync(~0u, sum, d);
    if (lane == 0)
        y[row] = sum;
}

extern "C" __global__ void breadth(const int *starts, const int *edges, int *level, int depth, int *changed, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && level[i] == depth)
        for (int k = starts[i]; k < starts[i + 1]; k++)
            if (level[edges[k]] < 0) {
                level[edges[k]] = depth + 1;
                *changed = 1;
            }
}

extern "C" __global__ void aligned(const char *a, const char *b, int *score, int n, int m)
{
    extern __shared__ int row[];
    int j = threadIdx.x;
    if (j <= m)
        row[j] = -j * 2;
    for (int i = 1; i <= n; i++) {
        __syncthreads();
        int diagonal = j > 0 ? row[j - 1] : 0, above = row[j];
        __syncthreads();
        for (int k = 0; k <= m; k++) {
            if (j == k) {
                int best = -i * 2;
                if (j > 0) {
                    best = diagonal + (a[i - 1] == b[j - 1] ? 3 : -1);
                    best = max(best, max(above, row[j - 1]) - 2);
                }
                row[j] = best;
            }
            __syncthreads();
        }
    }
    if (j == m)
        *score = row[m];
}

extern "C" __global__ void lower(double *a, int n, int k)
{
    int i = k + 1 + blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double factor = a[i * n + k] / a[k * n + k];
    a[i * n + k] = factor;
    for (int j = k + 1; j < n; j++)
        a[i * n + j] = __dsub_rn(a[i * n + j], __dmul_rn(factor, a[k * n + j]));
}

__device__ unsigned mixed(unsigned h)
{
    h ^= h >> 16, h *= 0x85ebca6b, h ^= h >> 13, h *= 0xc2b2ae35;
    return h ^ h >> 16;
}

extern "C" __global__ void hashed(unsigned *keys, int *values, const unsigned *x, int n, int size)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned at = mixed(x[i]) % size;
    while (true) {
        unsigned seen = atomicCAS(&keys[at], 0xFFFFFFFF, x[i]);
        if (seen == 0xFFFFFFFF || seen == x[i]) {
            atomicAdd(&values[at], 1);
            return;
        }
        at = (at + 1) % size;
    }
}

extern "C" __global__ void quicksort(int *x, int n)
{
    int low[16], high[16], top = 0, *own = x + threadIdx.x * n;
    low[0] = 0, high[0] = n - 1, top = 1;
    while (top) {
        top--;
        int a = low[top], b = high[top];
        if (a >= b)
            continue;
        int pivot = own[(a + b) / 2], i = a - 1, j = b + 1;
        for (;;) {
            do i++; while (own[i] < pivot);
            do j--; while (own[j] > pivot);
            if (i >= j)
                break;
            int t = own[i];
            own[i] = own[j];
            own[j] = t;
        }
        if (j - a > b - j - 1) {
            low[top] = a, high[top++] = j;
            low[top] = j + 1, high[top++] = b;
        } else {
            low[top] = j + 1, high[top++] = b;
            low[top] = a, high[top++] = j;
        }
    }
}

extern "C" __global__ void black_scholes(const float *s, const float *k, float *y)
{
    int i = threadIdx.x;
    float root = sqrtf(2.0f), d1 = (logf(s[i] / k[i]) + (0.02f + 0.045f) * 2) / (0.3f * root), d2 = d1 - 0.3f * root;
    y[i] = s[i] * normcdff(d1) - k[i] * expf(-0.04f) * normcdff(d2);
}

extern "C" __global__ void crc(const unsigned char *x, unsigned *y, int n)
{
    unsigned c = ~0u;
    for (int i = 0; i < n; i++) {
        c ^= x[threadIdx.x * n + i];
        for (int k = 0; k < 8; k++)
            c = c & 1 ? c >> 1 ^ 0xEDB88320 : c >> 1;
    }
    y[threadIdx.x] = ~c;
}

extern "C" __global__ void filtered(cudaTextureObject_t image, float *y, int w)
{
    int c = threadIdx.x, r = blockIdx.x;
    y[r * w + c] = tex2D<float>(image, c + 0.5f, r + 0.5f);
}
