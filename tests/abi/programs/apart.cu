/* Work of a stream in no order with the default one waits for the host; meanwhile the default stream
 * launches, copies, waits and answers queries. */
#include <atomic>
#include <cstdio>
#include <unistd.h>

#include <cuda_runtime.h>

#define CHECK(call)                                                                 \
    do {                                                                            \
        cudaError_t made = (call);                                                  \
        if (made != cudaSuccess) {                                                  \
            printf("%d: %s: %s\n", __LINE__, #call, cudaGetErrorName(made));        \
            _exit(1);                                                               \
        }                                                                           \
    } while (0)

static std::atomic<int> gate, ran;

static void CUDART_CB wait_for_gate(void *)
{
    while (!gate)
        usleep(1000);
    ran++;
}

static __global__ void add(int *x, int by) { atomicAdd(x, by); }

int main()
{
    alarm(60);
    int *x, *y, seen = 0;
    cudaStream_t apart, ordered;
    CHECK(cudaMalloc(&x, sizeof *x));
    CHECK(cudaMalloc(&y, sizeof *y));
    CHECK(cudaMemset(x, 0, sizeof *x));
    CHECK(cudaMemset(y, 0, sizeof *y));
    CHECK(cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking));
    CHECK(cudaStreamCreate(&ordered));
    for (int n = 1; n <= 20; n++) {
        gate = 0;
        CHECK(cudaLaunchHostFunc(apart, wait_for_gate, nullptr));
        add<<<1, 1, 0, apart>>>(y, 1);
        add<<<1, 1, 0, ordered>>>(x, 1);
        add<<<1, 1>>>(x, 2);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(&seen, x, sizeof seen, cudaMemcpyDeviceToHost));
        while (cudaStreamQuery(0) == cudaErrorNotReady)
            usleep(1000);
        CHECK(cudaStreamSynchronize(0));
        if (seen != 3 * n || ran != n - 1 || cudaStreamQuery(apart) != cudaErrorNotReady)
            return printf("%d: x is %d, %d have run\n", n, seen, (int)ran), 1;
        gate = 1;
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaMemcpy(&seen, y, sizeof seen, cudaMemcpyDeviceToHost));
        if (seen != n || ran != n)
            return printf("%d: y is %d, %d have run\n", n, seen, (int)ran), 1;
    }
    puts("well");
    return 0;
}
