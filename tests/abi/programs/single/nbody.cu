#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#define SOFTENING 1e-9f
#define BLOCK_SIZE 64
typedef struct { float4 *pos, *vel; } BodySystem;
__host__ __device__ inline float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
__device__ float3 bodyBodyInteraction(float4 bi, float4 bj, float3 ai)
{
    float3 r = {bj.x - bi.x, bj.y - bi.y, bj.z - bi.z};
    float distSqr = r.x * r.x + r.y * r.y + r.z * r.z + SOFTENING;
    float invDist = rsqrtf(distSqr), s = bj.w * invDist * invDist * invDist;
    return ai + make_float3(r.x * s, r.y * s, r.z * s);
}
__global__ void bodyForce(BodySystem b, float dt, int n)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    float3 a = {0, 0, 0};
    for (int tile = 0; tile < gridDim.x; tile++) {
        __shared__ float4 spos[BLOCK_SIZE];
        spos[threadIdx.x] = b.pos[tile * blockDim.x + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < BLOCK_SIZE; j++) a = bodyBodyInteraction(b.pos[i], spos[j], a);
        __syncthreads();
    }
    if (i < n) { b.vel[i].x += dt * a.x; b.vel[i].y += dt * a.y; b.vel[i].z += dt * a.z; }
}
int main()
{
    const int n = 256;
    std::vector<float4> pos(n), vel(n, make_float4(0, 0, 0, 0));
    srand(7);
    for (auto &p : pos) p = make_float4(rand() / (float)RAND_MAX, rand() / (float)RAND_MAX, rand() / (float)RAND_MAX, 1);
    BodySystem d;
    cudaMalloc(&d.pos, n * sizeof(float4));
    cudaMalloc(&d.vel, n * sizeof(float4));
    cudaMemcpy(d.pos, pos.data(), n * sizeof(float4), cudaMemcpyHostToDevice);
    cudaMemcpy(d.vel, vel.data(), n * sizeof(float4), cudaMemcpyHostToDevice);
    bodyForce<<<n / BLOCK_SIZE, BLOCK_SIZE>>>(d, 0.01f, n);
    cudaMemcpy(vel.data(), d.vel, n * sizeof(float4), cudaMemcpyDeviceToHost);
    double worst = 0;
    for (int i = 0; i < n; i++) {
        double a[3] = {};
        for (int j = 0; j < n; j++) {
            double r[3] = {pos[j].x - pos[i].x, pos[j].y - pos[i].y, pos[j].z - pos[i].z};
            double inv = 1 / std::sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + SOFTENING);
            for (int k = 0; k < 3; k++) a[k] += r[k] * inv * inv * inv;
        }
        float v[3] = {vel[i].x, vel[i].y, vel[i].z};
        for (int k = 0; k < 3; k++) worst = std::fmax(worst, std::fabs(v[k] - 0.01 * a[k]) / (1 + std::fabs(0.01 * a[k])));
    }
    printf("%s\n", worst < 1e-4 ? "PASS" : "FAIL");
    return !(worst < 1e-4);
}
