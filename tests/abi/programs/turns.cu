/* Threads that use the default stream take turns: a kernel's work is not seen half done. */
#include "common.h"
#include <atomic>
#include <pthread.h>

const int N = 4096, TIMES = 300;
static int *x;
static volatile int *flag;
static std::atomic<int> wrong, copies;

__global__ void count(int *x)
{
    int n = blockIdx.x * blockDim.x + threadIdx.x, now = x[n];
    for (int k = 0; k < 20; k++)
        now = now * 3 + 1 - (now * 3 + 1) + now;
    x[n] = now + 1;
}

__global__ void wait_for(volatile int *flag, int *x)
{
    x[0] = -1;
    while (!*flag)
        ;
    x[0] = 7;
}

static void *launches(void *)
{
    for (int k = 0; k < TIMES; k++)
        count<<<N / 128, 128>>>(x);
    return 0;
}

static void *copies_of_it(void *)
{
    static int host[N];
    for (int k = 0; k < TIMES; k++) {
        CHECK(cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost));
        for (int n = 1; n < N; n++)
            wrong += host[n] != host[0];
    }
    return 0;
}

static void *waits(void *)
{
    wait_for<<<1, 1>>>((int *)flag, x);
    CHECK(cudaGetLastError()); /* the caller waits for what the kernel writes */
    return 0;
}

static void *copies_what_it_leaves(void *)
{
    int made = 0;
    CHECK(cudaMemcpy(&made, x, sizeof made, cudaMemcpyDeviceToHost));
    copies++;
    EXPECT(made == 7);
    return 0;
}

__global__ void sets(int *x, int value)
{
    for (int n = 0; n < N; n++)
        x[n] = value;
}

__global__ void counts(const int *x, int value, int *others)
{
    for (int n = 0; n < N; n++)
        atomicAdd(others, x[n] != value);
}

static void *launches_of(void *graph)
{
    for (int k = 0; k < TIMES; k++)
        CHECK(cudaGraphLaunch((cudaGraphExec_t)graph, 0));
    return 0;
}

/* Graphs that two threads launch on one stream come one after the other as a whole. */
static void graphs_take_turns()
{
    pthread_t threads[2];
    cudaGraphExec_t made[2];
    int *others, found = -1;
    CHECK(cudaMalloc(&others, sizeof *others));
    CHECK(cudaMemset(others, 0, sizeof *others));
    for (int n = 0; n < 2; n++) {
        cudaStream_t stream;
        cudaGraph_t graph;
        CHECK(cudaStreamCreate(&stream));
        CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
        sets<<<1, 1, 0, stream>>>(x, n);
        counts<<<1, 1, 0, stream>>>(x, n, others);
        CHECK(cudaStreamEndCapture(stream, &graph));
        CHECK(cudaGraphInstantiate(&made[n], graph, 0));
    }
    for (int n = 0; n < 2; n++) /* which may not launch while a stream is captured */
        pthread_create(&threads[n], 0, launches_of, made[n]);
    for (pthread_t each : threads)
        pthread_join(each, 0);
    CHECK(cudaMemcpy(&found, others, sizeof found, cudaMemcpyDeviceToHost));
    EXPECT(found == 0);
}

static int *other;
static std::atomic<int> way, waited;

/* What waits for all work of the device. */
static void *waits_for_all(void *)
{
    if (way == 0)
        CHECK(cudaDeviceSynchronize());
    else if (way == 1)
        CHECK(cudaStreamSynchronize(0));
    else
        CHECK(cudaFree(other)); // an earlier kernel may use it
    waited++;
    return 0;
}

static void waits_see_work_of_other_threads()
{
    struct timespec some = { 0, 20 * 1000 * 1000 };
    pthread_t threads[2];
    for (way = 0; way < 3; way++) {
        CHECK(cudaMalloc(&other, 64));
        *flag = waited = 0;
        pthread_create(&threads[0], 0, waits, 0);
        while (__atomic_load_n(x, __ATOMIC_ACQUIRE) != -1)
            ;
        EXPECT(cudaStreamQuery(0) == cudaErrorNotReady);
        pthread_create(&threads[1], 0, waits_for_all, 0);
        nanosleep(&some, 0);
        EXPECT(!waited);
        *flag = 1;
        pthread_join(threads[0], 0);
        pthread_join(threads[1], 0);
        EXPECT(waited && cudaStreamQuery(0) == cudaSuccess);
    }
}

int main()
{
    CHECK(cudaMalloc(&x, N * sizeof *x));
    CHECK(cudaMemset(x, 0, N * sizeof *x));
    pthread_t threads[4];
    for (int n = 0; n < 4; n++)
        pthread_create(&threads[n], 0, n < 3 ? launches : copies_of_it, 0);
    for (pthread_t each : threads)
        pthread_join(each, 0);
    int host[N];
    CHECK(cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost));
    for (int n = 0; n < N; n++)
        wrong += host[n] != 3 * TIMES;
    printf("wrong %d\n", wrong.load());

    CHECK(cudaMallocManaged((void **)&flag, sizeof *flag));
    for (int k = 0; k < 5; k++) {
        *flag = 0;
        copies = 0;
        pthread_create(&threads[0], 0, waits, 0);
        while (__atomic_load_n(x, __ATOMIC_ACQUIRE) != -1) /* a device whose memory is the host's */
            ;
        pthread_create(&threads[1], 0, copies_what_it_leaves, 0);
        struct timespec some = { 0, 20 * 1000 * 1000 };
        nanosleep(&some, 0);
        EXPECT(!copies);
        *flag = 1;
        pthread_join(threads[0], 0);
        pthread_join(threads[1], 0);
    }
    waits_see_work_of_other_threads();
    graphs_take_turns();
    puts("well");
}
