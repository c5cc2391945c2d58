/* Calls whose arguments and results the program prints itself, for the trace to be compared with. */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdio.h>

static void show(const char *name, unsigned long long value)
{
    printf("%s %#llx\n", name, value);
}

int main(void)
{
    char name[64];
    void *made = NULL, *entry = NULL;
    int value = 0, version = 0;
    size_t count = 3;
    CUdriverProcAddressQueryResult found;
    CUmemLocation place = { .type = CU_MEM_LOCATION_TYPE_DEVICE };
    struct cudaPointerAttributes about;

    cuInit(0);
    cuDeviceGetName(name, sizeof name, 0);
    printf("device %s\n", name);
    cudaMalloc(&made, 4096);
    show("made", (unsigned long long)made);
    show("place", (unsigned long long)&made);
    cudaMemcpy(&value, made, 4, cudaMemcpyDeviceToHost);
    cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0);
    cudaPointerGetAttributes(&about, made);
    cudaMallocPitch(&entry, &count, 100, 2);
    printf("pitch %zu\n", count);
    cuGetProcAddress("cuInit", &entry, 12000, 0, &found);
    show("entry", (unsigned long long)entry);
    cudaRuntimeGetVersion(&version);
    printf("error %s\n", cudaGetErrorString(cudaErrorInvalidValue));
    cudaCreateChannelDesc(8, 16, 0, 0, cudaChannelFormatKindUnsigned);
    cuMemPrefetchAsync((CUdeviceptr)made, 64, place, 0, NULL);
    cuCtxSetCurrent((CUcontext)0x99);
    cudaMalloc(NULL, 1);
    cudaStreamSynchronize(cudaStreamPerThread);
    cuModuleLoadData((CUmodule *)&entry, "no \"PTX\"\n");
    cuDeviceGetByPCIBusId(&value, "a \"quoted\"\n name");
    return 0;
}
