// Kernels of the default stream that wait for the host, by pinned and managed memory and by a copy of
// another stream: launches return before they end, and what comes after them keeps its order.
#include <cstdio>

#define GOOD(call) do { cudaError_t e = (call); if (e) { printf("%s: %s\n", #call, cudaGetErrorString(e)); return 1; } } while (0)
#define WANT(what, value) do { long seen_ = (long)(what); if (seen_ != (value)) { printf("%s is %ld, not %ld\n", #what, seen_, (long)(value)); return 1; } } while (0)

__managed__ int of_managed[2];

__global__ void wait(volatile int *flag, int *sum)
{
    while (!*flag)
        ;
    atomicAdd(sum, *flag);
    __threadfence_system();
    flag[1] = 7;
}

__global__ void add(int *sum, int n) { *sum += n; }

int main()
{
    int *flag, *sum, *there, got = 0;
    cudaEvent_t end;
    cudaStream_t stream, apart;
    GOOD(cudaMalloc(&sum, 4));
    GOOD(cudaMemset(sum, 0, 4));
    GOOD(cudaStreamCreate(&stream));
    GOOD(cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking));
    GOOD(cudaEventCreate(&end));
    add<<<1, 1>>>(sum, 1); // known to C from here on
    add<<<1, 1, 0, stream>>>(sum, 1);
    add<<<1, 1, 0, apart>>>(sum, 1);
    GOOD(cudaDeviceSynchronize());
    GOOD(cudaMallocHost(&flag, 2 * sizeof *flag));
    flag[0] = flag[1] = 0;

    wait<<<1, 1>>>(flag, sum);
    GOOD(cudaEventRecord(end));
    add<<<1, 1>>>(sum, 10);
    add<<<1, 1, 0, stream>>>(sum, 10);
    WANT(cudaEventQuery(end), cudaErrorNotReady);
    WANT(cudaStreamQuery(0), cudaErrorNotReady);
    WANT(cudaStreamQuery(stream), cudaErrorNotReady);
    flag[0] = 100;
    GOOD(cudaEventSynchronize(end));
    WANT(flag[1], 7);
    GOOD(cudaStreamSynchronize(stream));
    GOOD(cudaMemcpy(&got, sum, 4, cudaMemcpyDeviceToHost));
    WANT(got, 123);

    GOOD(cudaMalloc(&there, 8));
    GOOD(cudaMemset(there, 0, 8));
    wait<<<1, 1>>>(there, sum);
    GOOD(cudaMemcpyAsync(there, flag, 4, cudaMemcpyHostToDevice, apart));
    GOOD(cudaDeviceSynchronize());
    for (int n = 0; n < 100; n++)
        add<<<1, 1>>>(sum, 1);
    GOOD(cudaMemcpy(&got, sum, 4, cudaMemcpyDeviceToHost));
    WANT(got, 323);

    of_managed[0] = 0;
    wait<<<1, 1>>>(of_managed, sum);
    of_managed[0] = 1;
    GOOD(cudaFree(there)); // waits for the kernel
    WANT(of_managed[1], 7);

    flag[0] = 0;
    wait<<<1, 1>>>(flag, sum); // nobody ends this wait but the limit
    WANT(cudaDeviceSynchronize() != cudaSuccess, 1);
    WANT(cudaMemset(sum, 0, 4) != cudaSuccess, 1);
    printf("well\n"); return 0;
}
