// A sum of tiles, of which the next one is copied while this one is added.
#include <cuda_pipeline.h>

__global__ void sums(const float4 *in, float4 *out, int tiles)
{
    __shared__ float4 stage[2][32];
    float4 sum = make_float4(0, 0, 0, 0);
    int t = threadIdx.x;
    __pipeline_memcpy_async(&stage[0][t], &in[t], sizeof(float4));
    __pipeline_commit();
    for (int n = 0; n < tiles; n++) {
        if (n + 1 < tiles)
            __pipeline_memcpy_async(&stage[(n + 1) & 1][t], &in[(n + 1) * 32 + t], sizeof(float4));
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        float4 v = stage[n & 1][t ^ 1];
        sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
        __syncthreads();
    }
    out[t] = sum;
}

// The last bytes are zeros.
__global__ void parts(const int2 *in, int2 *out)
{
    __shared__ int2 stage[32];
    __pipeline_memcpy_async(&stage[threadIdx.x], &in[threadIdx.x], 8, threadIdx.x % 2 * 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[threadIdx.x] = stage[threadIdx.x];
}

int main() {}
