// A product of matrices for Hopper: a producer warp copies boxes of tensors, two warpgroups
// multiply, and mbarriers pass the stages of shared memory between them.
#include <cuda.h>
#include <stdint.h>

constexpr int M = 128, N = 64, K = 64, STAGES = 3;
constexpr int BYTES = (M + N) * K * 2;

static __device__ uint32_t shared_address(const void *place) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(place));
}

static __device__ void wait(uint64_t *bar, uint32_t parity) {
    asm volatile(
        "{\n.reg .pred done;\nAGAIN:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@done bra END;\n"
        "bra AGAIN;\nEND:\n}" ::"r"(shared_address(bar)), "r"(parity) : "memory");
}

static __device__ void load(void *box, const CUtensorMap &map, uint64_t *bar, int x, int y) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4}], [%2];" ::"r"(shared_address(box)),
        "l"(reinterpret_cast<uint64_t>(&map)), "r"(shared_address(bar)), "r"(x), "r"(y)
        : "memory");
}

static __device__ uint64_t descriptor(const void *start) {
    uint64_t low = (shared_address(start) & 0x3FFFF) >> 4;
    return low | uint64_t(1) << 16 | uint64_t(1024 >> 4) << 32 | uint64_t(1) << 62;
}

#define FOUR(n) "+f"(d[n]), "+f"(d[n + 1]), "+f"(d[n + 2]), "+f"(d[n + 3])

static __device__ void multiply(float (&d)[32], uint64_t a, uint64_t b, int scale) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, "
        "%19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
        "%32, %33, p, 1, 1, 0, 0;\n}"
        : FOUR(0), FOUR(4), FOUR(8), FOUR(12), FOUR(16), FOUR(20), FOUR(24), FOUR(28)
        : "l"(a), "l"(b), "r"(scale));
}

extern "C" __global__ void __launch_bounds__(384)
    product(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float *c, int width,
            int depth) {
    extern __shared__ __align__(1024) unsigned char stages[];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    if (threadIdx.x == 0) {
        for (int n = 0; n < STAGES; n++) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(full + n)));
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 2;" ::"r"(shared_address(empty + n)));
        }
        asm volatile("fence.mbarrier_init.release.cluster;");
    }
    __syncthreads();
    int group = threadIdx.x / 128, row = blockIdx.y * M, column = blockIdx.x * N;
    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0)
            for (int k = 0; k < depth / K; k++) {
                int stage = k % STAGES;
                wait(empty + stage, k / STAGES % 2 ^ 1);
                unsigned char *start = stages + stage * BYTES;
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                                 shared_address(full + stage)), "n"(BYTES));
                load(start, a, full + stage, k * K, row);
                load(start + M * K * 2, b, full + stage, k * K, column);
            }
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    float d[32];
    for (int k = 0; k < depth / K; k++) {
        int stage = k % STAGES;
        wait(full + stage, k / STAGES % 2);
        unsigned char *start = stages + stage * BYTES;
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int step = 0; step < K / 16; step++)
            multiply(d, descriptor(start + (group - 1) * 64 * K * 2 + step * 32),
                     descriptor(start + M * K * 2 + step * 32), k || step);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        if (threadIdx.x % 128 == 0)
            asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(
                shared_address(empty + stage)));
    }
    int thread = threadIdx.x % 128;
    row += (group - 1) * 64 + thread / 32 * 16 + thread % 32 / 4;
    for (int n = 0; n < 32; n++)
        c[(row + n / 2 % 2 * 8) * width + column + n / 4 * 8 + thread % 4 * 2 + n % 2] = d[n];
}
