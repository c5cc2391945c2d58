#include "common.h"
__global__ void total(const int *x, int n, long long *out)
{
    extern __shared__ long long part[];
    long long sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += x[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half; half /= 2) {
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (!threadIdx.x)
        atomicAdd((unsigned long long *)out, (unsigned long long)part[0]);
}
__global__ void histogram(const unsigned char *x, int n, unsigned *bins)
{
    __shared__ unsigned own[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        own[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[x[i]], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        atomicAdd(&bins[i], own[i]);
}
constexpr int T = 16;
__global__ void product(const float *a, const float *b, float *c, int n)
{
    __shared__ float as[T][T], bs[T][T];
    int row = blockIdx.y * T + threadIdx.y, column = blockIdx.x * T + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < n; t += T) {
        as[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
        bs[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + column];
        __syncthreads();
        for (int k = 0; k < T; k++)
            sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
int main()
{
    int n = 100000;
    std::vector<int> x(n);
    std::vector<unsigned char> y(n);
    std::vector<unsigned> expected(256);
    long long sum = 0;
    for (int i = 0; i < n; i++) {
        x[i] = i % 1013 - 300, sum += x[i];
        y[i] = (i * 7919) >> 3, expected[y[i]]++;
    }
    Device<int> dx(x);
    Device<unsigned char> dy(y);
    Device<unsigned> bins(std::vector<unsigned>(256));
    Device<long long> out(std::vector<long long>(1));
    total<<<20, 128, 128 * sizeof(long long)>>>(dx.p, n, out.p);
    histogram<<<13, 192>>>(dy.p, n, bins.p);
    EXPECT(out.host()[0] == sum);
    EXPECT(bins.host() == expected);
    int m = 64;
    std::vector<float> a(m * m), b(m * m);
    for (int i = 0; i < m * m; i++)
        a[i] = i % 7, b[i] = i % 5;
    Device<float> da(a), db(b), dc(std::vector<float>(m * m));
    product<<<dim3(m / T, m / T), dim3(T, T)>>>(da.p, db.p, dc.p, m);
    auto c = dc.host();
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) {
            float s = 0;
            for (int k = 0; k < m; k++)
                s += a[i * m + k] * b[k * m + j];
            EXPECT(c[i * m + j] == s);
        }
    puts("well");
}
