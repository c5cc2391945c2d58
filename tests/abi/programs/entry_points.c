/* The driver's functions by the runtime: they work on the runtime's own memory and context. */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdio.h>

#define EXPECT(what) if (!(what)) return printf("line %d: %s\n", __LINE__, #what)

int main(void)
{
    enum cudaDriverEntryPointQueryResult found;
    CUresult (*fill)(CUdeviceptr, unsigned char, size_t), (*free_)(CUdeviceptr);
    CUresult (*fill_async)(CUdeviceptr, unsigned char, size_t, CUstream);
    void *memory, *entry;
    char host[16] = { 0 };

    EXPECT(!cudaMalloc(&memory, sizeof host));
    EXPECT(!cudaGetDriverEntryPoint("cuMemsetD8", (void **)&fill, cudaEnableDefault, &found));
    EXPECT(found == cudaDriverEntryPointSuccess && fill);
    EXPECT(!fill((CUdeviceptr)memory, 7, sizeof host));
    EXPECT(!cudaMemcpy(host, memory, sizeof host, cudaMemcpyDeviceToHost) && host[15] == 7);
    EXPECT(!cudaGetDriverEntryPointByVersion("cuMemFree", (void **)&free_, 12000, 0, &found));
    EXPECT(!cudaGetDriverEntryPoint("cuMemsetD8Async", (void **)&fill_async,
                                    cudaEnablePerThreadDefaultStream, &found));
    EXPECT(!cudaGetDriverEntryPoint("cuMemsetD8Async", &entry, cudaEnableLegacyStream, &found));
    EXPECT(entry && entry != (void *)fill_async);
    EXPECT(!fill_async((CUdeviceptr)memory, 9, sizeof host, NULL));
    EXPECT(!cudaStreamSynchronize(cudaStreamPerThread));
    EXPECT(!cudaMemcpy(host, memory, sizeof host, cudaMemcpyDeviceToHost) && host[3] == 9);
    EXPECT(!free_((CUdeviceptr)memory));
    EXPECT(cudaFree(memory) == cudaErrorInvalidValue && cudaGetLastError());

    EXPECT(!cudaGetDriverEntryPoint("cuNonsense", &entry, cudaEnableDefault, &found));
    EXPECT(found == cudaDriverEntryPointSymbolNotFound && !entry);
    EXPECT(!cudaGetDriverEntryPointByVersion("cuGraphCreate", &entry, 5000, 0, &found));
    EXPECT(found == cudaDriverEntryPointVersionNotSufficent && !entry);
    entry = &found;
    EXPECT(!cudaGetDriverEntryPoint("cuNonsense", &entry, cudaEnableDefault, NULL) && !entry);
    entry = &found;
    EXPECT(!cuGetProcAddress("cuFuncSetAttribute", &entry, 2000, 0, NULL) && !entry);
    EXPECT(!cuGetProcAddress("cuFuncSetAttribute", &entry, 9000, 0, NULL) && entry);
    EXPECT(cudaGetDriverEntryPoint(NULL, &entry, 0, &found) == cudaErrorInvalidValue);
    EXPECT(cudaGetDriverEntryPoint("cuInit", NULL, 0, &found) == cudaErrorInvalidValue);
    EXPECT(cudaGetDriverEntryPoint("cuInit", &entry, 5, &found) == cudaErrorInvalidValue);
    EXPECT(cudaGetDriverEntryPointByVersion("cuInit", &entry, 1000, 0, &found) ==
           cudaErrorInvalidValue);
    EXPECT(cudaGetDriverEntryPointByVersion("cuInit", &entry, 4000000000u, 0, &found) ==
           cudaErrorInvalidValue);
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    puts("well");
    return 0;
}
