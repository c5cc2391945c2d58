/* A vector addition, from the beginning of a process to its end; with an argument, what an idle
 * process takes that has initialised the device, in KiB. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call)                                                                          \
    do {                                                                                     \
        if ((call) != cudaSuccess)                                                           \
            return printf("line %d\n", __LINE__), 1;                                         \
    } while (0)

__global__ void add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

static int idle()
{
    char line[256];
    CHECK(cudaSetDevice(0));
    CHECK(cudaFree(0));
    FILE *status = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, status))
        if (!strncmp(line, "VmRSS:", 6))
            printf("%d\n", atoi(line + 6));
    return 0;
}

int main(int count, char **)
{
    if (count > 1)
        return idle();
    const int n = 1 << 20;
    std::vector<float> a(n, 1.5f), b(n, 2.25f), c(n);
    const size_t size = n * sizeof(float);
    float *x, *y, *z;
    CHECK(cudaMalloc(&x, size));
    CHECK(cudaMalloc(&y, size));
    CHECK(cudaMalloc(&z, size));
    CHECK(cudaMemcpy(x, a.data(), size, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(y, b.data(), size, cudaMemcpyHostToDevice));
    add<<<(n + 255) / 256, 256>>>(x, y, z, n);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(c.data(), z, size, cudaMemcpyDeviceToHost));
    for (float each : c)
        if (each != 3.75f)
            return puts("wrong"), 1;
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    CHECK(cudaFree(z));
    return 0;
}
