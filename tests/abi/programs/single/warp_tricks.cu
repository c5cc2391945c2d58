#include <cstdio>
#include <cstdint>
#include <cuda_runtime.h>
#if defined(__CUDACC_VER_MAJOR__) && (__CUDACC_VER_MAJOR__ < 9)
#error "too old"
#endif
#define FULL_MASK 0xffffffffu
__device__ __inline__ unsigned lane_id() { unsigned ret; asm volatile("mov.u32 %0, %laneid;" : "=r"(ret)); return ret; }
__device__ unsigned bfe(unsigned x, unsigned bit, unsigned n) { unsigned r; asm("bfe.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(bit), "r"(n)); return r; }
__host__ __device__ int which()
{
#ifdef __CUDA_ARCH__
    return 1;
#else
    return 2;
#endif
}
__global__ void tricks(unsigned *out, unsigned long long *wide, double *sums, float *least)
{
    unsigned lane = lane_id(), t = threadIdx.x;
    unsigned even = __ballot_sync(FULL_MASK, lane % 2 == 0);
    int scan = 1;
    for (int d = 1; d < 32; d <<= 1) { int v = __shfl_up_sync(FULL_MASK, scan, d); if (lane >= d) scan += v; }
    int butterfly = t;
    for (int m = 16; m; m >>= 1) butterfly += __shfl_xor_sync(FULL_MASK, butterfly, m);
    unsigned same = __match_any_sync(FULL_MASK, lane / 8);
    if (lane == 31) {
        unsigned *o = out + 8 * (t / 32);
        o[0] = even, o[1] = scan, o[2] = butterfly, o[3] = same;
        o[4] = __popc(even) + __clz(256) * 100 + __ffs(8) * 10000, o[5] = __brev(1), o[6] = __byte_perm(0x03020100, 0x07060504, 0x7410), o[7] = bfe(0xabcd, 4, 8);
    }
    atomicAdd(sums, 0.5);
    atomicMax(wide, (unsigned long long)t << 33);
    unsigned *bits = (unsigned *)least, old = *bits, assumed;
    do {
        assumed = old;
        old = atomicCAS(bits, assumed, __float_as_uint(fminf(1.0f / (t + 1), __uint_as_float(assumed))));
    } while (assumed != old);
    if (__any_sync(FULL_MASK, t == 40) && __all_sync(FULL_MASK, t > 3)) atomicExch(&out[16], which() + __mul24(3, 4) + __umulhi(1u << 31, 6));
    __syncwarp();
    __threadfence_block();
    if (t == 0) out[17] = (unsigned)(clock64() != 0) + (unsigned)__double2int_rn(2.5) + __float2int_rz(3.9f) + (int)rintf(2.5f) + (unsigned)__fdividef(8, 2);
}
int main()
{
    unsigned *out, h[18] = {};
    unsigned long long *wide, w;
    double *sums, s;
    float *least, l = 1e9f;
    cudaMalloc(&out, sizeof h); cudaMalloc(&wide, 8); cudaMalloc(&sums, 8); cudaMalloc(&least, 4);
    cudaMemset(out, 0, sizeof h); cudaMemset(wide, 0, 8); cudaMemset(sums, 0, 8);
    cudaMemcpy(least, &l, 4, cudaMemcpyHostToDevice);
    tricks<<<1, 64>>>(out, wide, sums, least);
    cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost);
    cudaMemcpy(&w, wide, 8, cudaMemcpyDeviceToHost);
    cudaMemcpy(&s, sums, 8, cudaMemcpyDeviceToHost);
    cudaMemcpy(&l, least, 4, cudaMemcpyDeviceToHost);
    unsigned first[] = {0x55555555u, 32, 496, 0xff000000u, 16 + 2300 + 40000, 0x80000000u, 0x07040100u, 0xbc};
    bool ok = s == 32.0 && w == 63ull << 33 && l == 1.0f / 64 && which() == 2;
    for (int i = 0; i < 8; i++) ok &= h[i] == first[i];
    ok &= h[10] == 1520 && h[16] == 1 + 12 + 3 && h[17] == 1 + 2 + 3 + 2 + 4;
    if (!ok) for (int i = 0; i < 18; i++) printf("%d: %x\n", i, h[i]);
    printf("%s\n", ok ? "PASS" : "FAIL");
    return !ok;
}
