// Pinned, mapped and registered host memory; callbacks; pitched and 3-D copies; large shared memory.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thread>
#include <atomic>
#include <vector>
static std::atomic<int> calls{0};
static void CUDART_CB callback(cudaStream_t, cudaError_t status, void *data) { if (status == cudaSuccess) calls += *(int *)data; }
__global__ void doubled(const int *in, int *out, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = 2 * in[i]; }
__global__ void cube(cudaPitchedPtr p, cudaExtent e)
{
    for (int z = 0; z < e.depth; z++)
        for (int y = threadIdx.y; y < e.height; y += blockDim.y) {
            short *row = (short *)((char *)p.ptr + (z * p.ysize + y) * p.pitch);
            for (int x = threadIdx.x; x < e.width / sizeof(short); x += blockDim.x) row[x] = row[x] * 2 + z;
        }
}
__global__ void large(int *out)
{
    extern __shared__ int buffer[];
    for (int i = threadIdx.x; i < 10000; i += blockDim.x) buffer[i] = i;
    __syncthreads();
    volatile int *v = buffer;
    if (threadIdx.x == 0) *out = v[9999] + v[1];
}
#define OK(call) if ((call) != cudaSuccess) { printf("line %d: %s\n", __LINE__, cudaGetErrorString(cudaGetLastError())); return 1; }
int main()
{
    const int n = 3000;
    int *mapped, *device, *registered = (int *)malloc(n * sizeof(int)), *view;
    OK(cudaSetDeviceFlags(cudaDeviceMapHost));
    OK(cudaHostAlloc(&mapped, n * sizeof(int), cudaHostAllocMapped | cudaHostAllocPortable));
    for (int i = 0; i < n; i++) mapped[i] = i;
    OK(cudaHostGetDevicePointer(&device, mapped, 0));
    OK(cudaHostRegister(registered, n * sizeof(int), cudaHostRegisterMapped));
    OK(cudaHostGetDevicePointer((void **)&view, registered, 0));
    doubled<<<(n + 255) / 256, 256>>>(device, view, n);
    cudaStream_t s;
    OK(cudaStreamCreate(&s));
    int by = 5;
    OK(cudaStreamAddCallback(s, callback, &by, 0));
    OK(cudaStreamSynchronize(s));
    OK(cudaDeviceSynchronize());
    int wrong = calls != 5;
    for (int i = 0; i < n; i++) wrong += registered[i] != 2 * i;
    OK(cudaHostUnregister(registered));
    OK(cudaFreeHost(mapped));
    const int w = 10, h = 7, d = 3;
    std::vector<short> box(w * h * d), back(box.size());
    for (size_t i = 0; i < box.size(); i++) box[i] = i;
    cudaExtent extent = make_cudaExtent(w * sizeof(short), h, d);
    cudaPitchedPtr pitched;
    OK(cudaMalloc3D(&pitched, extent));
    cudaMemcpy3DParms copy = {0};
    copy.srcPtr = make_cudaPitchedPtr(box.data(), w * sizeof(short), w, h);
    copy.dstPtr = pitched;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&copy));
    cube<<<1, dim3(8, 4)>>>(pitched, extent);
    copy.dstPtr = make_cudaPitchedPtr(back.data(), w * sizeof(short), w, h);
    copy.srcPtr = pitched;
    copy.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3D(&copy));
    for (size_t i = 0; i < box.size(); i++) wrong += back[i] != 2 * box[i] + (short)(i / (w * h));
    int *out, result = 0;
    OK(cudaMalloc(&out, sizeof(int)));
    OK(cudaFuncSetAttribute(large, cudaFuncAttributeMaxDynamicSharedMemorySize, 40000));
    large<<<1, 128, 40000>>>(out);
    OK(cudaGetLastError());
    OK(cudaMemcpy(&result, out, sizeof(int), cudaMemcpyDeviceToHost));
    wrong += result != 10000;
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; t++)
        threads.emplace_back([&, t] {
            int *p, v[64];
            cudaMalloc(&p, sizeof(v));
            cudaMemset(p, t + 1, sizeof(v));
            doubled<<<1, 64, 0, cudaStreamPerThread>>>(p, p, 64);
            cudaMemcpyAsync(v, p, sizeof(v), cudaMemcpyDeviceToHost, cudaStreamPerThread);
            cudaStreamSynchronize(cudaStreamPerThread);
            if (v[63] != 2 * 0x01010101 * (t + 1)) calls = -1000;
        });
    for (auto &t : threads) t.join();
    wrong += calls != 5;
    printf("%s\n", wrong ? "FAIL" : "PASS");
    return wrong != 0;
}
