// Inclusive scan by blocks, and a bitonic sort of pairs by functors and lambdas.
#include <algorithm>
#include <cassert>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <utility>
#include <vector>
template <typename T, typename Op> __global__ void block_scan(T *data, T *totals, int n, Op op)
{
    extern __shared__ unsigned char raw[];
    T *s = reinterpret_cast<T *>(raw);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = i < n ? data[i] : T();
    __syncthreads();
    for (int offset = 1; offset < blockDim.x; offset <<= 1) {
        T other = threadIdx.x >= offset ? s[threadIdx.x - offset] : T();
        __syncthreads();
        s[threadIdx.x] = op(s[threadIdx.x], other);
        __syncthreads();
    }
    if (i < n) data[i] = s[threadIdx.x];
    if (threadIdx.x == blockDim.x - 1) totals[blockIdx.x] = s[threadIdx.x];
}
template <typename T> __global__ void add_totals(T *data, const T *totals, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    T before = T();
    for (int b = 0; b < blockIdx.x; b++) before += totals[b];
    if (i < n) data[i] += before;
}
struct Plus { template <typename T> __host__ __device__ T operator()(T a, T b) const { return a + b; } };
struct KeyValue { uint32_t key; float value; };
template <typename F> __global__ void bitonic_step(KeyValue *v, int j, int k, F before)
{
    unsigned i = threadIdx.x + blockDim.x * blockIdx.x, ixj = i ^ j;
    if (ixj <= i) return;
    KeyValue a = v[i], b = v[ixj];
    bool up = (i & k) == 0;
    if (up ? before(b, a) : before(a, b)) { v[i] = b; v[ixj] = a; }
}
int main()
{
    const int n = 5000, threads = 256, blocks = (n + threads - 1) / threads;
    std::vector<long long> h(n), e(n);
    for (int i = 0; i < n; i++) e[i] = (h[i] = i % 11 - 4) + (i ? e[i - 1] : 0);
    long long *d, *t;
    cudaMalloc(&d, n * sizeof(*d));
    cudaMalloc(&t, blocks * sizeof(*t));
    cudaMemcpy(d, h.data(), n * sizeof(*d), cudaMemcpyHostToDevice);
    block_scan<<<blocks, threads, threads * sizeof(long long)>>>(d, t, n, Plus());
    add_totals<<<blocks, threads>>>(d, t, n);
    cudaMemcpy(h.data(), d, n * sizeof(*d), cudaMemcpyDeviceToHost);
    bool ok = h == e;
    const int m = 1024;
    std::vector<KeyValue> kv(m);
    for (int i = 0; i < m; i++) kv[i] = {(uint32_t)(i * 2654435761u >> 8), (float)i};
    KeyValue *dkv;
    cudaMalloc(&dkv, m * sizeof(KeyValue));
    cudaMemcpy(dkv, kv.data(), m * sizeof(KeyValue), cudaMemcpyHostToDevice);
    auto before = [] __device__(const KeyValue &a, const KeyValue &b) { return a.key < b.key; };
    for (int k = 2; k <= m; k <<= 1)
        for (int j = k >> 1; j > 0; j >>= 1) bitonic_step<<<m / 256, 256>>>(dkv, j, k, before);
    std::vector<KeyValue> sorted(m);
    cudaMemcpy(sorted.data(), dkv, m * sizeof(KeyValue), cudaMemcpyDeviceToHost);
    std::sort(kv.begin(), kv.end(), [](const KeyValue &a, const KeyValue &b) { return a.key < b.key; });
    for (int i = 0; i < m; i++) ok &= sorted[i].key == kv[i].key && sorted[i].value == kv[i].value;
    printf("%s\n", ok ? "PASS" : "FAIL");
    return !ok;
}
