/* A million allocations, frees and questions leave no memory behind, nor do streams and events. */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

static long resident(void)
{
    char line[200];
    long pages = 0, kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, "VmRSS:", 6))
            sscanf(line + 6, "%ld", &kib);
    if (file)
        fclose(file);
    return pages + kib;
}

static int once(size_t size)
{
    void *p;
    return cudaMalloc(&p, size) || cudaMemset(p, 1, size) || cudaFree(p) || cudaGetLastError();
}

static int made(int is_seen) /* by Python */
{
    cudaStream_t stream;
    cudaEvent_t event;
    unsigned flags;
    return cudaStreamCreate(&stream) || cudaEventCreate(&event) ||
           (is_seen && (cudaStreamGetFlags(stream, &flags) || cuEventRecordWithFlags(event, stream, 0))) ||
           cudaEventRecord(event, stream) || cudaEventSynchronize(event) ||
           cudaStreamDestroy(stream) || cudaEventDestroy(event);
}

int main(void)
{
    enum { MANY = 300 };
    static void *held[MANY];
    size_t whole;
    CUdeviceptr start;
    if (cuInit(0) || cudaFree(0)) /* Python is there from the first call on */
        return 1;
    for (int n = 0; n < 1000; n++)
        if (once(256) || once(1 + n * 200))
            return 2;
    for (int n = 0; n < 1000; n++)
        if (made(1))
            return 7;
    long before = resident();
    for (int n = 0; n < 100000; n++)
        if (made(0) || (n % 10 == 0 && made(1)))
            return 8;
    for (int n = 0; n < 1000000; n++)
        if (once(1 + n % 3000))
            return 3;
    for (int round = 0; round < 20; round++) { /* and blocks that Python takes over */
        for (int n = 0; n < MANY; n++)
            if (cudaMalloc(&held[n], 200000) || cudaMemset(held[n], 1, 200000))
                return 4;
        for (int n = 0; n < 20; n++)
            if (cuMemGetAddressRange(&start, &whole, (CUdeviceptr)held[n] + 5) || whole != 200000)
                return 5;
        for (int n = 0; n < MANY; n++)
            if (cudaFree(held[n]))
                return 6;
    }
    printf("%ld\n", resident() - before);
    return 0;
}
