/* Work on streams of the program's own keeps its order, whoever appends it: launches in a row, which
 * C appends alone, between copies, events, callbacks, captures, waits and the work of other streams.
 * No two steps may change places: x becomes 3x + k. */
#include "common.h"
#include <cuda.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

const int N = 64, THREADS = 4;
typedef unsigned u;

__global__ void step(u *x, u k, int rounds)
{
    u now = x[threadIdx.x];
    for (int n = 0; n < rounds; n++) /* so that launches wait for each other */
        now = (now ^ n) ^ n;
    x[threadIdx.x] = now * 3 + k;
}

__global__ void add(u *x, const u *y)
{
    x[threadIdx.x] = x[threadIdx.x] * 3 + y[threadIdx.x];
}

__global__ void wait_for(volatile int *flag)
{
    while (!*flag)
        ;
}

__global__ void fails(int *x, int thread)
{
    if (threadIdx.x == thread)
        asm("trap;");
    *x = 1;
}

struct Own { /* memory with a stream, and what is to be in it */
    cudaStream_t stream;
    u *x, expected = 1, host[N];

    explicit Own(unsigned flags = cudaStreamNonBlocking)
    {
        u ones[N];
        for (u &each : ones)
            each = 1;
        CHECK(cudaStreamCreateWithFlags(&stream, flags));
        CHECK(cudaMalloc(&x, sizeof ones));
        CHECK(cudaMemcpy(x, ones, sizeof ones, cudaMemcpyHostToDevice));
    }
    void launch(u k, int rounds = 200)
    {
        step<<<1, N, 0, stream>>>(x, k, rounds);
        CHECK(cudaGetLastError());
        expected = expected * 3 + k;
    }
    void launches(int count)
    {
        for (int n = 0; n < count; n++)
            launch(n);
    }
    void check(int line)
    {
        CHECK(cudaMemcpyAsync(host, x, sizeof host, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
        for (u each : host)
            if (each != expected) {
                printf("line %d: %u is not %u\n", line, each, expected);
                exit(1);
            }
    }
};

static void CUDART_CB triple(void *place)
{
    u *x = (u *)place; /* the device's memory is the host's */
    for (int n = 0; n < N; n++)
        x[n] = x[n] * 3 + 5;
}

static void mixed()
{
    Own a, b;
    cudaEvent_t event;
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    for (int round = 0; round < 30; round++) {
        a.launches(round % 7 + 1);
        b.launches(round % 5 + 1);
        switch (round % 6) {
        case 0:
            CHECK(cudaMemsetAsync(a.x, 0, sizeof a.host, a.stream));
            a.expected = 0;
            break;
        case 1:
            CHECK(cudaLaunchHostFunc(a.stream, triple, a.x));
            a.expected = a.expected * 3 + 5;
            break;
        case 2: /* b's work is read by a, and not changed before */
            CHECK(cudaEventRecord(event, b.stream));
            CHECK(cudaStreamWaitEvent(a.stream, event, 0));
            add<<<1, N, 0, a.stream>>>(a.x, b.x);
            a.expected = a.expected * 3 + b.expected;
            CHECK(cudaEventRecord(event, a.stream));
            CHECK(cudaStreamWaitEvent(b.stream, event, 0));
            break;
        case 3:
            CHECK(cudaMemcpyAsync(a.x, b.x, 0, cudaMemcpyDeviceToDevice, a.stream));
            break;
        case 4:
            CHECK(cudaEventRecord(event, a.stream));
            CHECK(cudaEventSynchronize(event));
            break;
        default:
            while (cudaStreamQuery(b.stream) == cudaErrorNotReady)
                usleep(50);
            b.launches(3);
        }
    }
    a.check(__LINE__);
    b.check(__LINE__);
    a.launches(50);
    CHECK(cudaDeviceSynchronize());
    a.check(__LINE__);
}

static void captured()
{
    Own a;
    cudaGraph_t graph;
    cudaGraphExec_t made;
    a.launches(20);
    u before = a.expected;
    CHECK(cudaStreamBeginCapture(a.stream, cudaStreamCaptureModeThreadLocal));
    a.launch(9), a.launch(8);
    CHECK(cudaStreamEndCapture(a.stream, &graph));
    CHECK(cudaGraphInstantiate(&made, graph, 0));
    a.expected = before;
    a.check(__LINE__); /* what was captured has not run */
    for (int n = 0; n < 3; n++) {
        a.launches(4);
        CHECK(cudaGraphLaunch(made, a.stream));
        a.expected = (a.expected * 3 + 9) * 3 + 8;
    }
    a.launches(4);
    a.check(__LINE__);
}

static void with_the_default_stream()
{
    Own a(cudaStreamDefault);
    for (int n = 0; n < 30; n++) {
        a.launches(3);
        step<<<1, N>>>(a.x, n, 10); /* comes after the work of the stream, and before its next */
        a.expected = a.expected * 3 + n;
    }
    a.check(__LINE__);
}

static void CUDART_CB waits_there(void *place)
{
    *(cudaError_t *)place = cudaStreamSynchronize(*(cudaStream_t *)((char *)place + 8));
}

static void waited_for()
{
    Own a, b;
    for (int n = 0; n < 300; n++) {
        a.launch(n, 20);
        if (n % 3 == 0)
            b.launch(n);
        if (n % 50 == 20)
            usleep(3000); /* the stream rests */
        CHECK(cudaStreamSynchronize(a.stream));
        EXPECT(a.x[N - 1] == a.expected); /* the device's memory is the host's */
        CHECK(cudaStreamQuery(a.stream));
        if (n % 40 == 0)
            CHECK(cudaDeviceSynchronize());
        if (n % 40 == 7) {
            CHECK(cudaStreamSynchronize(b.stream));
            CHECK(cudaStreamQuery(0));
        }
        if (n % 60 == 0) {
            CHECK(cudaLaunchHostFunc(a.stream, triple, a.x));
            a.expected = a.expected * 3 + 5;
            CHECK(cudaStreamSynchronize(a.stream));
            EXPECT(a.x[0] == a.expected);
        }
    }
    b.check(__LINE__);
    struct {
        cudaError_t code;
        alignas(8) cudaStream_t stream;
    } told = { cudaSuccess, a.stream };
    CHECK(cudaLaunchHostFunc(a.stream, waits_there, &told)); /* which CUDA forbids */
    a.launches(20);
    CHECK(cudaStreamSynchronize(a.stream));
    printf("a wait of a stream for itself: %s\n", cudaGetErrorName(told.code));
    a.check(__LINE__);
    CHECK(cudaStreamSynchronize(a.stream));
    CHECK(cudaStreamBeginCapture(a.stream, cudaStreamCaptureModeThreadLocal));
    printf("a wait for a captured stream: %s", cudaGetErrorName(cudaStreamSynchronize(a.stream)));
    cudaGraph_t graph;
    printf(" %s\n", cudaGetErrorName(cudaStreamEndCapture(a.stream, &graph)));
    cudaGetLastError();
    CHECK(cudaStreamSynchronize(a.stream));
    a.check(__LINE__);
    CHECK(cudaStreamSynchronize(b.stream));
    CHECK(cudaStreamDestroy(b.stream));
    printf("a wait for a stream that ended: %s", cudaGetErrorName(cudaStreamSynchronize(b.stream)));
    printf(" %s\n", cudaGetErrorName(cudaStreamQuery(b.stream)));
    cudaGetLastError();
}

static void copied()
{
    const size_t sizes[] = { 4, sizeof(u[N]), 100000, 3 << 20 };
    for (size_t size : sizes) {
        Own a, b;
        u *there, *here, *pinned, *managed, seen = 1, count = size / 4;
        CHECK(cudaMalloc(&there, size));
        CHECK(cudaMalloc(&here, size));
        CHECK(cudaMallocHost(&pinned, size));
        CHECK(cudaMallocManaged(&managed, size));
        std::vector<u> own(count), back(count), last(count);
        for (int n = 0; n < 30; n++) {
            u rest[] = { seen * 3 + 1, 7, 0 };
            if (n % 4 == 1)
                CHECK(cudaStreamSynchronize(a.stream));
            if (n % 10 == 5)
                CHECK(cudaLaunchHostFunc(a.stream, triple, a.x));
            step<<<1, 1, 0, a.stream>>>(there, 1, 2000);
            for (u &each : own)
                each = n;
            CHECK(cudaMemcpyAsync(there, own.data(), size, cudaMemcpyHostToDevice, a.stream));
            own[0] = 12345; /* which was read */
            step<<<1, 1, 0, a.stream>>>(there, 5, 2000);
            CHECK(cudaMemcpyAsync(here, there, size, cudaMemcpyDeviceToDevice, a.stream));
            CHECK(cudaMemsetAsync(there, n, size, a.stream));
            CHECK(cudaMemcpyAsync(pinned, here, size, cudaMemcpyDeviceToHost, a.stream));
            step<<<1, 1, 0, a.stream>>>(here, 1, 2000);
            CHECK(cudaMemcpyAsync(managed, pinned, size, cudaMemcpyDefault, a.stream));
            step<<<1, 1, 0, a.stream>>>(managed, 2, 2000);
            CHECK(cudaMemcpyAsync(back.data(), managed, size, cudaMemcpyDefault, a.stream));
            EXPECT(back[0] == (n * 3 + 5) * 3 + 2); /* it is there when the call returns */
            EXPECT(back[count - 1] == (count > 1 ? n : back[0]));
            CHECK(cudaMemcpyAsync(last.data(), back.data(), size, cudaMemcpyHostToHost, a.stream));
            EXPECT(last == back);
            CHECK(cudaMemcpyAsync(rest, there + count - 1, 4, cudaMemcpyDeviceToHost, a.stream));
            EXPECT(rest[0] == n * 0x1010101u);
            CHECK(cudaMemcpyAsync(&seen, here, 4, cudaMemcpyDeviceToHost, a.stream));
            EXPECT(seen == (n * 3 + 5) * 3 + 1);
            CUdeviceptr x = (CUdeviceptr)there;
            EXPECT(!cuMemsetD32Async(x, 70000 + n, count, a.stream));
            step<<<1, 1, 0, a.stream>>>(there, 1, 2000);
            EXPECT(!cuMemcpyDtoHAsync(&seen, x, 4, a.stream) && seen == (70000 + n) * 3 + 1);
            EXPECT(!cuMemsetD16Async(x, 600 + n, 2, a.stream));
            EXPECT(!cuMemcpyDtoDAsync((CUdeviceptr)here, x, 4, a.stream));
            EXPECT(!cuMemcpyHtoDAsync(x, &n, 4, a.stream));
            EXPECT(!cuMemcpyAsync((CUdeviceptr)&seen, (CUdeviceptr)here, 4, a.stream));
            EXPECT(seen == (600 + n) * 0x10001u);
            EXPECT(!cuMemcpyDtoHAsync(&seen, x, 4, a.stream) && seen == n);
        }
        CHECK(cudaFree(there));
        CHECK(cudaFree(here));
        CHECK(cudaFree(managed));
        CHECK(cudaFreeHost(pinned));
    }
    Own a;
    u *freed;
    CHECK(cudaStreamSynchronize(a.stream));
    CHECK(cudaMalloc(&freed, 64));
    for (int n = 0; n < 2; n++) { /* the second time freed */
        printf("copies that fail: %d", cudaMemcpyAsync(freed, a.host, 65, cudaMemcpyHostToDevice,
                                                       a.stream));
        printf(" %d", cudaMemcpyAsync(a.host, freed, 4, cudaMemcpyHostToDevice, a.stream));
        printf(" %d", cudaMemcpyAsync(freed, a.host, 4, cudaMemcpyHostToDevice, a.stream));
        printf(" %d", cudaMemcpyAsync(freed, a.host, 4, (cudaMemcpyKind)9, a.stream));
        printf(" %d", cudaMemcpyAsync(0, a.host, 4, cudaMemcpyHostToDevice, a.stream));
        printf(" %d", cudaMemsetAsync(freed, 1, 65, a.stream));
        printf(" %d", cudaMemsetAsync(freed, 1, 0, a.stream));
        printf(" %d\n", cudaMemcpyAsync(freed, 0, 0, cudaMemcpyHostToDevice, a.stream));
        if (!n)
            CHECK(cudaFree(freed));
    }
    cudaGetLastError();
    CHECK(cudaStreamBeginCapture(a.stream, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMemsetAsync(a.x, 0, sizeof a.host, a.stream));
    cudaGraph_t graph;
    CHECK(cudaStreamEndCapture(a.stream, &graph));
    a.check(__LINE__); /* the fill was not done */
    CHECK(cudaStreamDestroy(a.stream));
    printf("on a stream that ended: %s\n",
           cudaGetErrorName(cudaMemsetAsync(a.x, 0, 4, a.stream)));
    cudaGetLastError();
}

static void forked()
{
    Own a;
    a.launches(5);
    CHECK(cudaStreamSynchronize(a.stream));
    fflush(stdout);
    int told, child = fork();
    if (!child)
        _exit(cudaStreamSynchronize(a.stream) + 2 * cudaStreamQuery(a.stream));
    waitpid(child, &told, 0);
    printf("in the child of a fork: %d\n", WEXITSTATUS(told));
    a.check(__LINE__);
}

static void *one_thread(void *)
{
    Own a;
    for (int n = 0; n < 20; n++) {
        a.launches(40);
        CHECK(cudaStreamSynchronize(a.stream));
        EXPECT(a.x[0] == a.expected);
        if (n % 5 == 0)
            a.check(__LINE__);
    }
    a.check(__LINE__);
    CHECK(cudaStreamDestroy(a.stream));
    return 0;
}

static Own *shared_by_threads;

static void *appends(void *)
{
    for (int n = 0; n < 300; n++) { /* the same step, so that the order does not matter */
        step<<<1, N, 0, shared_by_threads->stream>>>(shared_by_threads->x, 1, 20);
        if (n % 7 == 0)
            CHECK(cudaStreamSynchronize(shared_by_threads->stream));
        if (n % 5 == 0) { /* no copy is done while a step runs */
            u seen[N];
            CHECK(cudaMemcpyAsync(seen, shared_by_threads->x, sizeof seen, cudaMemcpyDeviceToHost,
                                  shared_by_threads->stream));
            EXPECT(seen[0] == seen[N - 1]);
        }
    }
    return 0;
}

static void threads(void *(*run)(void *))
{
    pthread_t all[THREADS];
    for (pthread_t &each : all)
        pthread_create(&each, 0, run, 0);
    for (pthread_t each : all)
        pthread_join(each, 0);
}

static void ended()
{
    Own a;
    a.launches(30);
    CHECK(cudaStreamDestroy(a.stream)); /* its work is still done */
    step<<<1, N, 0, a.stream>>>(a.x, 1, 1);
    printf("on a stream that ended: %s\n", cudaGetErrorName(cudaGetLastError()));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaStreamCreate(&a.stream));
    a.check(__LINE__);
}

static void overlapped()
{
    Own a, b;
    volatile int *flag;
    CHECK(cudaMallocHost((void **)&flag, 4));
    *flag = 1;
    wait_for<<<1, 1, 0, a.stream>>>(flag);
    a.launches(3);
    CHECK(cudaStreamSynchronize(a.stream));
    *flag = 0;
    wait_for<<<1, 1, 0, a.stream>>>(flag); /* returns at once, and so do the next */
    a.launches(20);
    b.launches(20);
    b.check(__LINE__);
    EXPECT(cudaStreamQuery(a.stream) == cudaErrorNotReady);
    *flag = 1;
    a.check(__LINE__);
}

static void failing()
{
    Own a, b;
    int *x;
    CHECK(cudaMalloc(&x, 4));
    for (int n = 0; n < 5; n++) {
        a.launches(5);
        b.launches(5);
    }
    b.check(__LINE__);
    *x = 0;
    for (int n = 0; n < 3; n++) {
        fails<<<1, 32, 0, a.stream>>>(x, 40); /* which none is */
        CHECK(cudaStreamSynchronize(a.stream));
    }
    EXPECT(*x == 1);
    a.launches(10);
    CHECK(cudaStreamSynchronize(a.stream));
    CHECK(cudaStreamSynchronize(b.stream));
    a.launches(3);
    fails<<<1, 32, 0, a.stream>>>(x, 3);
    for (u n = 0; n < 10; n++) /* which may be told already that it failed */
        step<<<1, N, 0, a.stream>>>(a.x, n, 200);
    printf("after a trap: %s\n", cudaGetErrorName(cudaStreamSynchronize(a.stream)));
    printf("and for ever: %s %s\n", cudaGetErrorName(cudaDeviceSynchronize()),
           cudaGetErrorName(cudaMalloc(&x, 4)));
}

int main()
{
    mixed();
    captured();
    waited_for();
    copied();
    forked();
    with_the_default_stream();
    threads(one_thread);
    Own all;
    shared_by_threads = &all;
    for (int n = 0; n < THREADS * 300; n++)
        all.expected = all.expected * 3 + 1;
    threads(appends);
    all.check(__LINE__);
    ended();
    overlapped();
    failing();
    puts("well");
    return 0;
}
