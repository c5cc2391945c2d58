// Gravity between all bodies, in tiles of shared memory of a size that the launch gives.
#include <math.h>
#include <stdio.h>

struct Body {
    float3 position;
    float mass;
};

inline __host__ __device__ float3 operator+(float3 a, float3 b)
{
    return make_float3(a.x + b.x, a.y + b.y, a.z + b.z);
}
inline __host__ __device__ float3 operator*(float3 a, float s)
{
    return make_float3(a.x * s, a.y * s, a.z * s);
}

__device__ float3 pull(float4 other, float3 here, float3 sum)
{
    float3 r = make_float3(other.x - here.x, other.y - here.y, other.z - here.z);
    float square = r.x * r.x + r.y * r.y + r.z * r.z + 1e-3f;
    float inverse = rsqrtf(square);
    return sum + r * (other.w * inverse * inverse * inverse);
}

extern "C" __global__ void accelerate(const float4 *bodies, float3 *forces, int count)
{
    extern __shared__ float4 tile[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 own = i < count ? bodies[i] : make_float4(0, 0, 0, 0);
    float3 here = make_float3(own.x, own.y, own.z), sum = make_float3(0.f, 0.f, 0.f);
    for (int first = 0; first < count; first += blockDim.x) {
        int other = first + threadIdx.x;
        tile[threadIdx.x] = other < count ? bodies[other] : make_float4(0, 0, 0, 0);
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < blockDim.x; k++)
            sum = pull(tile[k], here, sum);
        __syncthreads();
    }
    if (i < count)
        forces[i] = sum;
}

int main()
{
    float4 *bodies;
    float3 *forces;
    int count = 1000, block = 64;
    cudaMalloc((void **)&bodies, count * sizeof(float4));
    cudaMalloc((void **)&forces, count * sizeof(float3));
    accelerate<<<(count + block - 1) / block, block, block * sizeof(float4)>>>(bodies, forces, count);
    printf("%s %f\n", cudaGetErrorString(cudaDeviceSynchronize()), sqrtf(2.0f) + fmaxf(1.f, 2.f));
    return 0;
}
