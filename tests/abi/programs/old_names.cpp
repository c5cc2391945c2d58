/* The same for a file of the host alone. */
#include <cuda.h>
#ifdef __VECTOR_TYPES_H__
#error "the driver's header has no vectors"
#endif
#include <cuda_runtime.h>
#include <cstdio>

#if !defined __DRIVER_TYPES_H__ || !defined __CUDA_RUNTIME_H__ || !defined __cuda_cuda_h__
#error "a guard is missing"
#endif
__global__ void elsewhere(float4 *);

int main()
{
    cudaDataType_t kind = CUDA_R_32F;
    dim3 grid(2, 3);
    cudaDeviceProp facts;
    cudaGetDeviceProperties(&facts, 0);
    if (cudaThreadSynchronize() || cudaThreadExit() || facts.clockRate < 0)
        return 1;
    printf("%zu %u %u %d\n", sizeof(dim3), grid.y, grid.z, kind);
}
