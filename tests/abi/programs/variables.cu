#include "common.h"
__constant__ float weights[8] = { 1, 2, 3 };
__device__ int counter = 40;
__device__ int table[16];
static __device__ double hidden = 0.5;
__global__ void use(float *out)
{
    out[threadIdx.x] = weights[threadIdx.x] * (float)hidden;
    table[threadIdx.x] = threadIdx.x * 3;
    if (!threadIdx.x)
        counter += 2;
}
int main()
{
    Device<float> out(std::vector<float>(8));
    use<<<1, 8>>>(out.p);
    EXPECT((out.host() == std::vector<float>{ .5f, 1, 1.5f, 0, 0, 0, 0, 0 }));
    float other[2] = { 20, 40 };
    CHECK(cudaMemcpyToSymbol(weights, other, sizeof other, 6 * sizeof(float)));
    use<<<1, 8>>>(out.p);
    EXPECT((out.host() == std::vector<float>{ .5f, 1, 1.5f, 0, 0, 0, 10, 20 }));
    int found = 0, part[4];
    CHECK(cudaMemcpyFromSymbol(&found, counter, sizeof found));
    EXPECT(found == 44);
    CHECK(cudaMemcpyFromSymbol(part, table, sizeof part, 4 * sizeof(int)));
    for (int i = 0; i < 4; i++)
        EXPECT(part[i] == 3 * (i + 4));
    void *address = nullptr;
    size_t size = 0;
    CHECK(cudaGetSymbolAddress(&address, table));
    CHECK(cudaGetSymbolSize(&size, table));
    EXPECT(size == sizeof table);
    CHECK(cudaMemset(address, 0, size));
    CHECK(cudaMemcpyFromSymbol(part, table, sizeof part, 4 * sizeof(int)));
    EXPECT(!part[0] && !part[3]);
    puts("well");
}
