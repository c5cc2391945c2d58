// Launches from kernels in a whole program: prints "cudaSuccess no error", then "10 11 12 13 20 0".
#include <cstdio>

__global__ void append(int *log, int *count, int v) { log[(*count)++] = v; }

__global__ void middle(int *log, int *count, int v) {
    append<<<1, 1, 0, cudaStreamTailLaunch>>>(log, count, v + 3);
    append<<<1, 1>>>(log, count, v + 1);
    append<<<1, 1>>>(log, count, v + 2);
    log[(*count)++] = v;
    cudaError_t error = cudaGetLastError();
    printf("%s %s\n", cudaGetErrorName(error), cudaGetErrorString(error));
}

int main() {
    int *d, h[16] = {};
    cudaMalloc(&d, sizeof h);
    cudaMemset(d, 0, sizeof h);
    middle<<<1, 1>>>(d + 1, d, 10);
    append<<<1, 1>>>(d + 1, d, 20);
    cudaError_t error = cudaGetLastError();
    cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
    for (int n = 0; n < h[0]; n++) printf("%d ", h[n + 1]);
    printf("%d\n", error);
}
