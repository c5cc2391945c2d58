// Overlapped copies and kernels on several streams, with host callbacks and events between them.
#include <stdio.h>
#include <stdlib.h>
#include <cuda_runtime.h>
#define CUDA_SAFE_CALL(call)                                                              \
    do {                                                                                  \
        cudaError_t err = call;                                                           \
        if (cudaSuccess != err) {                                                         \
            fprintf(stderr, "Cuda error in file '%s' in line %i : %s.\n", __FILE__, __LINE__, \
                    cudaGetErrorString(err));                                             \
            exit(EXIT_FAILURE);                                                           \
        }                                                                                 \
    } while (0)
const int N = 1 << 16, STREAMS = 4;
static int called = 0;
void CUDART_CB count_it(void *data) { __sync_fetch_and_add((int *)data, 1); }
__global__ void incKernel(int *g_out, int *g_in, int size, int inner_reps)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < size)
        for (int i = 0; i < inner_reps; ++i) g_out[idx] = g_in[idx] + 1;
}
int main(int argc, char *argv[])
{
    int *h_in, *h_out, *d_in[STREAMS], *d_out[STREAMS];
    cudaStream_t stream[STREAMS];
    cudaEvent_t done[STREAMS], all;
    CUDA_SAFE_CALL(cudaMallocHost(&h_in, STREAMS * N * sizeof(int)));
    CUDA_SAFE_CALL(cudaMallocHost(&h_out, STREAMS * N * sizeof(int)));
    for (int i = 0; i < STREAMS * N; i++) h_in[i] = i;
    int least, greatest;
    CUDA_SAFE_CALL(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    for (int i = 0; i < STREAMS; i++) {
        if (i % 2) CUDA_SAFE_CALL(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
        else CUDA_SAFE_CALL(cudaStreamCreateWithPriority(&stream[i], cudaStreamDefault, greatest));
        CUDA_SAFE_CALL(cudaEventCreateWithFlags(&done[i], cudaEventDisableTiming));
        CUDA_SAFE_CALL(cudaMalloc(&d_in[i], N * sizeof(int)));
        CUDA_SAFE_CALL(cudaMalloc(&d_out[i], N * sizeof(int)));
    }
    CUDA_SAFE_CALL(cudaEventCreate(&all));
    for (int i = 0; i < STREAMS; i++) {
        CUDA_SAFE_CALL(cudaMemcpyAsync(d_in[i], h_in + i * N, N * sizeof(int), cudaMemcpyHostToDevice, stream[i]));
        incKernel<<<(N + 511) / 512, 512, 0, stream[i]>>>(d_out[i], d_in[i], N, 3);
        CUDA_SAFE_CALL(cudaGetLastError());
        CUDA_SAFE_CALL(cudaMemcpyAsync(h_out + i * N, d_out[i], N * sizeof(int), cudaMemcpyDeviceToHost, stream[i]));
        CUDA_SAFE_CALL(cudaLaunchHostFunc(stream[i], count_it, &called));
        CUDA_SAFE_CALL(cudaEventRecord(done[i], stream[i]));
        if (i) CUDA_SAFE_CALL(cudaStreamWaitEvent(stream[0], done[i], 0));
    }
    CUDA_SAFE_CALL(cudaEventRecord(all, stream[0]));
    CUDA_SAFE_CALL(cudaEventSynchronize(all));
    CUDA_SAFE_CALL(cudaDeviceSynchronize());
    int wrong = called != STREAMS || cudaStreamQuery(stream[1]) != cudaSuccess;
    for (int i = 0; i < STREAMS * N; i++) wrong += h_out[i] != i + 1;
    for (int i = 0; i < STREAMS; i++) {
        CUDA_SAFE_CALL(cudaStreamDestroy(stream[i]));
        CUDA_SAFE_CALL(cudaFree(d_in[i]));
    }
    printf(wrong ? "FAIL\n" : "PASS\n");
    return wrong;
}
