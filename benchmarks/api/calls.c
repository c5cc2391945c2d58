/* Nanoseconds of calls of CUDA's runtime from C, each the least of seven runs. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * t.tv_sec + t.tv_nsec;
}

#define MEASURE(name, count, call)                                                     \
    do {                                                                               \
        double least = 1e18;                                                           \
        for (int run = 0; run < 7; run++) {                                            \
            double start = now();                                                      \
            for (int n = 0; n < (count); n++) {                                        \
                call;                                                                  \
            }                                                                          \
            double each = (now() - start) / (count);                                   \
            least = each < least ? each : least;                                       \
        }                                                                              \
        printf("%s %.1f\n", name, least);                                              \
    } while (0)

static char from[64 << 20], to[64 << 20];

int main(void)
{
    int device, version, value = 1;
    void *p, *large;
    if (cudaMalloc(&p, 256) || cudaMalloc(&large, sizeof from))
        return 1;
    memset(from, 1, sizeof from);
    memset(to, 1, sizeof to);
    MEASURE("cudaGetLastError", 20000, cudaGetLastError());
    MEASURE("cudaGetDevice", 20000, cudaGetDevice(&device));
    MEASURE("cudaMalloc+cudaFree", 5000, void *q; cudaMalloc(&q, 256); cudaFree(q));
    MEASURE("cudaMemcpy-4-bytes", 5000, cudaMemcpy(p, &value, 4, cudaMemcpyHostToDevice));
    cudaEvent_t event;
    if (cudaEventCreate(&event))
        return 1;
    MEASURE("cudaEventRecord", 5000, cudaEventRecord(event, 0));
    MEASURE("cudaEventQuery", 5000, cudaEventQuery(event));
    cudaStream_t stream;
    if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking))
        return 1;
    MEASURE("cudaStreamSynchronize-own", 5000, cudaStreamSynchronize(stream));
    MEASURE("cudaStreamQuery-own", 5000, cudaStreamQuery(stream));
    MEASURE("cudaMemcpyAsync-4-bytes-own", 5000,
            cudaMemcpyAsync(p, &value, 4, cudaMemcpyHostToDevice, stream));
    MEASURE("cudaMemsetAsync-4-bytes-own", 5000, cudaMemsetAsync(p, 0, 4, stream));
    MEASURE("cudaEventRecord-own", 5000, cudaEventRecord(event, stream));
    MEASURE("cudaStreamWaitEvent-own", 5000, cudaStreamWaitEvent(stream, event, 0));
    MEASURE("cudaStreamCreate+cudaStreamDestroy", 2000, cudaStream_t q; cudaStreamCreate(&q);
            cudaStreamDestroy(q));
    MEASURE("cudaEventCreate+cudaEventDestroy", 2000, cudaEvent_t q; cudaEventCreate(&q);
            cudaEventDestroy(q));
    MEASURE("cudaMalloc+cudaFree-1-MiB", 500, void *q; cudaMalloc(&q, 1 << 20); cudaFree(q));
    MEASURE("cudaProfilerStop", 5000, cudaProfilerStop());
    MEASURE("cudaDriverGetVersion", 5000, cudaDriverGetVersion(&version));
    MEASURE("cudaDeviceSynchronize", 5000, cudaDeviceSynchronize());
    MEASURE("cudaMemcpy-64-MiB", 3, cudaMemcpy(large, from, sizeof from, cudaMemcpyHostToDevice));
    MEASURE("memcpy-64-MiB", 3, memcpy(to, from, sizeof from));
    return 0;
}
