#include "common.h"
__global__ void add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}
template <class T> __global__ void saxpy(T a, const T *x, T *y, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] += a * x[i];
}
int main()
{
    int n = 50001, count = 0;
    CHECK(cudaGetDeviceCount(&count));
    EXPECT(count > 0);
    std::vector<float> a(n), b(n);
    for (int i = 0; i < n; i++)
        a[i] = i, b[i] = 2 * i + 1;
    Device<float> da(a), db(b), dc(std::vector<float>(n, 0));
    add<<<(n + 255) / 256, 256>>>(da.p, db.p, dc.p, n);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    auto c = dc.host();
    for (int i = 0; i < n; i++)
        EXPECT(c[i] == a[i] + b[i]);
    saxpy<float><<<7, 96>>>(3.0f, da.p, dc.p, n);
    c = dc.host();
    for (int i = 0; i < n; i++)
        EXPECT(c[i] == a[i] + b[i] + 3 * a[i]);
    add<<<1, 4096>>>(da.p, db.p, dc.p, n); /* no block is as large */
    EXPECT(cudaPeekAtLastError() == cudaErrorInvalidConfiguration);
    EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
    EXPECT(cudaGetLastError() == cudaSuccess);
    puts("well");
}
