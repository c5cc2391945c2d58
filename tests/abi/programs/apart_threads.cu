/* Work of a blocking stream waits for the host; meanwhile the default stream of a thread, which is
 * in no order with it, launches, copies, waits and answers queries. Also compiled with
 * --default-stream per-thread. */
#include <atomic>
#include <cstdio>
#include <thread>
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
#define EXPECT(is_right)                                      \
    do {                                                      \
        if (!(is_right)) {                                    \
            printf("%d: not %s\n", __LINE__, #is_right);      \
            _exit(1);                                         \
        }                                                     \
    } while (0)

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define OWN ((cudaStream_t)0)
#else
#define OWN cudaStreamPerThread
#endif

static std::atomic<int> gate, ran;
static cudaStream_t other;

static void CUDART_CB wait_for_gate(void *)
{
    while (!gate)
        usleep(1000);
    ran++;
}

static __global__ void add(int *x, int by) { atomicAdd(x, by); }

static __global__ void late(int *x, int by)
{
    for (int n = 0; n < 100000; n++)
        atomicAdd(x + 1, n & 1);
    atomicAdd(x, by);
}

static int read(const int *x)
{
    int seen;
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
    CHECK(cudaMemcpy(&seen, x, sizeof seen, cudaMemcpyDeviceToHost));
#else
    CHECK(cudaMemcpyAsync(&seen, x, sizeof seen, cudaMemcpyDeviceToHost, OWN));
    CHECK(cudaStreamSynchronize(OWN));
#endif
    return seen;
}

static void beside(int rounds)
{
    int *x;
    cudaEvent_t event;
    CHECK(cudaMalloc(&x, 2 * sizeof *x));
    CHECK(cudaEventCreate(&event));
    CHECK(cudaMemsetAsync(x, 0, 2 * sizeof *x, OWN));
    for (int n = 1; n <= rounds; n++) {
        const cudaStream_t own = n % 2 ? OWN : cudaStreamPerThread;
        add<<<1, 1, 0, own>>>(x, 1);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(event, own));
        CHECK(cudaEventSynchronize(event));
        CHECK(cudaStreamWaitEvent(own, event, 0));
        late<<<1, 1, 0, own>>>(x, 2);
        EXPECT(read(x) == 3 * n);
        CHECK(cudaStreamSynchronize(own));
        while (cudaStreamQuery(own) == cudaErrorNotReady)
            usleep(1000);
    }
    CHECK(cudaEventDestroy(event));
}

int main()
{
    alarm(60);
    int *y;
    CHECK(cudaMalloc(&y, 2 * sizeof *y));
    CHECK(cudaMemset(y, 0, 2 * sizeof *y));
    CHECK(cudaStreamCreate(&other));
    EXPECT(cudaStreamDestroy(cudaStreamPerThread) != cudaSuccess);
    cudaGetLastError();
    for (int n = 1; n <= 4; n++) {
        gate = 0;
        CHECK(cudaLaunchHostFunc(other, wait_for_gate, nullptr));
        add<<<1, 1, 0, other>>>(y, 1);
        beside(5);
        std::thread first(beside, 5), second(beside, 5);
        first.join();
        second.join();
        EXPECT(ran == n - 1 && cudaStreamQuery(other) == cudaErrorNotReady);
        gate = 1;
        CHECK(cudaDeviceSynchronize());
        EXPECT(ran == n && read(y) == n);
    }

    /* Its own work waits for the host, and the legacy stream waits for its work. */
    for (int n = 1; n <= 20; n++) {
        gate = 0;
        CHECK(cudaMemsetAsync(y, 0, 4, OWN));
        CHECK(cudaLaunchHostFunc(OWN, wait_for_gate, nullptr));
        add<<<1, 1, 0, OWN>>>(y, 1);
        EXPECT(cudaStreamQuery(OWN) == cudaErrorNotReady);
        gate = 1;
        late<<<1, 1, 0, OWN>>>(y, 2);
        add<<<1, 1, 0, cudaStreamLegacy>>>(y, 4);
        int seen = 0;
        CHECK(cudaMemcpyAsync(&seen, y, 4, cudaMemcpyDeviceToHost, cudaStreamLegacy));
        CHECK(cudaStreamSynchronize(cudaStreamLegacy));
        EXPECT(seen == 7);
        late<<<1, 1, 0, cudaStreamLegacy>>>(y, 8);
        add<<<1, 1, 0, OWN>>>(y, 16);
        EXPECT(read(y) == 31);
    }

    /* The work of a thread that has ended is still done. */
    CHECK(cudaMemset(y, 0, 4));
    for (int n = 0; n < 50; n++)
        std::thread([&] {
            late<<<1, 1, 0, OWN>>>(y, 1);
            CHECK(cudaGetLastError());
        }).join();
    CHECK(cudaDeviceSynchronize());
    EXPECT(read(y) == 50);
    puts("well");
    return 0;
}
