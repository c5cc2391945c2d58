// Boxes of a tensor to shared memory and back, by descriptions that the host makes.
#include <cstdint>
#include <cstdio>
#include <cuda.h>

static __device__ uint32_t shared_address(const void *place) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(place));
}

__global__ void copy(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap out) {
    __shared__ alignas(128) float box[4][8];
    __shared__ uint64_t bar;
    uint32_t start = shared_address(box), place = shared_address(&bar), x = blockIdx.x * 8;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(place));
        asm volatile("fence.proxy.async;");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 128;" ::"r"(place));
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                     "[%0], [%1, {%2, %3}], [%4];" ::"r"(start),
                     "l"(&in), "r"(x), "r"(0), "r"(place)
                     : "memory");
    }
    __syncthreads();
    asm volatile("{\n.reg .pred p;\nAGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n"
                 "@!p bra AGAIN;\n}" ::"r"(place)
                 : "memory");
    box[threadIdx.x / 8][threadIdx.x % 8] += 100;
    asm volatile("fence.proxy.async;");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::
                         "l"(&out), "r"(x), "r"(0), "r"(start)
                     : "memory");
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    }
}

int main() {
    float values[4][24], *given, *made;
    for (int n = 0; n < 96; n++) values[n / 24][n % 24] = n;
    cudaMalloc(&given, sizeof values);
    cudaMalloc(&made, sizeof values);
    cudaMemcpy(given, values, sizeof values, cudaMemcpyHostToDevice);
    cudaMemset(made, 0, sizeof values);
    CUtensorMap maps[2];
    for (int n = 0; n < 2; n++) {
        cuuint64_t extents[] = {20, 4}, strides[] = {96};
        cuuint32_t box[] = {8, 4}, steps[] = {1, 1};
        CUresult error = cuTensorMapEncodeTiled(
            &maps[n], CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, n ? made : given, extents, strides, box,
            steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
            CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
        if (error) return printf("error %d\n", error);
    }
    copy<<<3, 32>>>(maps[0], maps[1]);
    cudaMemcpy(values, made, sizeof values, cudaMemcpyDeviceToHost);
    for (int n = 0; n < 96; n++)
        if (values[n / 24][n % 24] != (n % 24 < 20 ? n + 100 : 0)) return printf("wrong at %d\n", n);
    printf("well\n");
}
