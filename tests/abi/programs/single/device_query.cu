#include <cuda_runtime.h>
#include <iostream>
#include <memory>
#include <string>
#include <cstdio>
#include <iomanip>
__global__ void arch(int *out) {
#if defined(__CUDA_ARCH__)
    *out = __CUDA_ARCH__;
#endif
}
int main(int argc, char **argv)
{
    int deviceCount = 0, driverVersion = 0, runtimeVersion = 0;
    cudaError_t error_id = cudaGetDeviceCount(&deviceCount);
    if (error_id != cudaSuccess) { printf("cudaGetDeviceCount returned %d\n-> %s\n", (int)error_id, cudaGetErrorString(error_id)); exit(EXIT_FAILURE); }
    for (int dev = 0; dev < deviceCount; ++dev) {
        cudaSetDevice(dev);
        cudaDeviceProp deviceProp;
        cudaGetDeviceProperties(&deviceProp, dev);
        cudaDriverGetVersion(&driverVersion);
        cudaRuntimeGetVersion(&runtimeVersion);
        std::string name = deviceProp.name;
        if (name.empty() || deviceProp.warpSize != 32 || deviceProp.maxThreadsPerBlock < 256) return 1;
        if (deviceProp.totalGlobalMem == 0 || deviceProp.sharedMemPerBlock < 16384 || deviceProp.maxGridSize[0] < 65535) return 2;
        int clock = 0, major = 0;
        cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, dev);
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, dev);
        if (major != deviceProp.major) return 3;
        std::clog << std::setw(4) << dev << " " << name << " " << clock << std::endl;
    }
    if (driverVersion < runtimeVersion || CUDART_VERSION != runtimeVersion) return 4;
    size_t free_bytes = 0, total = 0;
    if (cudaMemGetInfo(&free_bytes, &total) != cudaSuccess || free_bytes > total) return 5;
    auto host = std::make_unique<int>(0);
    int *d;
    cudaMalloc(&d, 4);
    arch<<<1, 1>>>(d);
    cudaMemcpy(host.get(), d, 4, cudaMemcpyDeviceToHost);
    if (*host < 500 || *host % 10) return 6;
    cudaPointerAttributes attributes;
    if (cudaPointerGetAttributes(&attributes, d) != cudaSuccess || attributes.type != cudaMemoryTypeDevice) return 7;
    if (cudaMalloc(&d, (size_t)1 << 62) != cudaErrorMemoryAllocation || cudaGetLastError() != cudaErrorMemoryAllocation) return 8;
    if (cudaGetLastError() != cudaSuccess) return 9;
    puts("PASS");
}
