/* Events behind work of the program's own streams, and streams that wait for them: by launches in a
 * row, which C appends alone, and by work that Python does. No two steps may change places: x becomes
 * 3x + k. */
#include "common.h"
#include <cuda.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

typedef unsigned u;
const int N = 64, THREADS = 4;

__global__ void step(u *x, u k, int rounds)
{
    u now = x[threadIdx.x];
    for (int n = 0; n < rounds; n++)
        now = (now ^ n) ^ n;
    x[threadIdx.x] = now * 3 + k;
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

static void CUDART_CB seven(void *place)
{
    u *x = (u *)place; /* the device's memory is the host's */
    for (int n = 0; n < N; n++)
        x[n] = x[n] * 3 + 7;
}

struct Numbers {
    u *x, expected = 1, host[N];

    Numbers()
    {
        for (u &each : host)
            each = 1;
        CHECK(cudaMalloc(&x, sizeof host));
        CHECK(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
    }
    ~Numbers() { CHECK(cudaFree(x)); }
    void launch(cudaStream_t stream, u k, int rounds = 200)
    {
        step<<<1, N, 0, stream>>>(x, k, rounds);
        expected = expected * 3 + k;
    }
    void call(cudaStream_t stream)
    {
        CHECK(cudaLaunchHostFunc(stream, seven, x));
        expected = expected * 3 + 7;
    }
    void look(int line) /* now */
    {
        for (int n = 0; n < N; n++)
            if (((volatile u *)x)[n] != expected) {
                printf("line %d: %u is not %u\n", line, x[n], expected);
                exit(1);
            }
    }
};

struct Streams {
    enum { MANY = 4 };
    cudaStream_t at[MANY];
    cudaEvent_t event[MANY];
    explicit Streams(unsigned flags = cudaStreamNonBlocking, unsigned of_events = 0)
    {
        for (int n = 0; n < MANY; n++) {
            CHECK(cudaStreamCreateWithFlags(&at[n], flags));
            CHECK(cudaEventCreateWithFlags(&event[n], of_events));
        }
    }
    ~Streams()
    {
        for (int n = 0; n < MANY; n++) {
            CHECK(cudaEventDestroy(event[n]));
            CHECK(cudaStreamDestroy(at[n]));
        }
    }
};

/* One chain of steps, each on another stream, which waits for the one before. */
static void chained(int seed, int lasting)
{
    Streams s(seed % 2 ? 0 : cudaStreamNonBlocking, seed % 3 ? 0 : cudaEventDisableTiming);
    Numbers own;
    u random = seed, last = 0;
    for (int n = 0; n < 400; n++) {
        random = random * 1664525 + 1013904223;
        const u next = random >> 20 & 3, what = random >> 24 & 31;
        if (next != last) {
            CHECK(cudaEventRecord(s.event[last], s.at[last]));
            if (what & 1)
                EXPECT(!cuStreamWaitEvent(s.at[next], s.event[last], 0));
            else
                CHECK(cudaStreamWaitEvent(s.at[next], s.event[last], 0));
        }
        last = next;
        own.launch(s.at[next], n, lasting && n % 100 == 50 ? 3000000 : 300);
        switch (what) {
        case 0: own.call(s.at[next]); break;
        case 2:
            CHECK(cudaEventRecord(s.event[next], s.at[next]));
            CHECK(cudaEventSynchronize(s.event[next]));
            own.look(__LINE__);
            break;
        case 4:
            CHECK(cudaStreamSynchronize(s.at[next]));
            own.look(__LINE__);
            break;
        case 6:
            CHECK(cudaEventRecord(s.event[next], s.at[next]));
            while (cudaEventQuery(s.event[next]) == cudaErrorNotReady)
                ;
            CHECK(cudaEventQuery(s.event[next]));
            own.look(__LINE__);
            break;
        case 8: CHECK(cudaDeviceSynchronize()); own.look(__LINE__); break;
        case 10: /* the recording is that of now, whatever follows */
            CHECK(cudaEventRecord(s.event[next], s.at[next]));
            CHECK(cudaStreamWaitEvent(s.at[next ^ 1], s.event[next], 0));
            CHECK(cudaEventRecord(s.event[next], s.at[next ^ 1]));
            CHECK(cudaEventSynchronize(s.event[next]));
            own.look(__LINE__);
            break;
        case 12: /* an event that ends before its work */
            CHECK(cudaEventRecord(s.event[next], s.at[next]));
            CHECK(cudaStreamWaitEvent(s.at[next ^ 2], s.event[next], 0));
            CHECK(cudaEventDestroy(s.event[next]));
            CHECK(cudaEventCreate(&s.event[next]));
            last = next ^ 2;
            break;
        case 14: /* a stream that does */
            CHECK(cudaEventRecord(s.event[next], s.at[next]));
            CHECK(cudaStreamDestroy(s.at[next]));
            CHECK(cudaStreamCreate(&s.at[next]));
            CHECK(cudaStreamWaitEvent(s.at[next], s.event[next], 0));
            break;
        case 16: /* the default stream comes behind all, and all behind it */
            if (seed % 2) {
                own.launch(0, 3);
                own.look(__LINE__);
            }
            break;
        case 18:
            CHECK(cudaEventRecord(s.event[next], s.at[next]));
            CHECK(cudaStreamWaitEvent(cudaStreamPerThread, s.event[next], 0));
            own.launch(cudaStreamPerThread, 4);
            CHECK(cudaStreamSynchronize(cudaStreamPerThread));
            own.look(__LINE__);
            break;
        case 20: {
            unsigned flags;
            CHECK(cudaStreamGetFlags(s.at[next], &flags)); /* Python sees it */
            CHECK(cudaEventRecordWithFlags(s.event[next], s.at[next], 0));
            CHECK(cudaStreamWaitEvent(s.at[next ^ 1], s.event[next], 0));
            last = next ^ 1;
            break;
        }
        }
    }
    CHECK(cudaEventRecord(s.event[last], s.at[last]));
    CHECK(cudaEventSynchronize(s.event[last]));
    own.look(__LINE__);
}

static void timed()
{
    Streams s;
    volatile int *flag;
    float ms = -1;
    Numbers own;
    CHECK(cudaMallocHost((void **)&flag, 4));
    for (int round = 0; round < 4; round++) {
        own.launch(s.at[0], 1);
        own.launch(s.at[1], 1);
        *flag = 0;
        CHECK(cudaStreamWaitEvent(s.at[1], s.event[2], 0)); /* never recorded, or passed */
        CHECK(cudaEventRecord(s.event[0], s.at[0]));
        wait_for<<<1, 1, 0, s.at[0]>>>(flag);
        CHECK(cudaEventRecord(s.event[1], s.at[0]));
        CHECK(cudaEventSynchronize(s.event[0]));
        CHECK(cudaStreamWaitEvent(s.at[1], s.event[1], 0));
        CHECK(cudaEventRecord(s.event[2], s.at[1]));
        usleep(round * 4000);
        printf("%s", cudaGetErrorName(cudaEventQuery(s.event[1])));
        printf(" %s", cudaGetErrorName(cudaEventQuery(s.event[2])));
        printf(" %s", cudaGetErrorName(cudaStreamQuery(s.at[1])));
        printf(" %s", cudaGetErrorName(cudaEventElapsedTime(&ms, s.event[0], s.event[1])));
        printf(" %s\n", cudaGetErrorName(cudaGetLastError()));
        CHECK(cudaStreamSynchronize(s.at[2]));
        *flag = 1;
        CHECK(cudaEventSynchronize(s.event[2]));
        CHECK(cudaEventElapsedTime(&ms, s.event[0], s.event[1]));
        EXPECT(ms >= round * 4 && ms < 60000);
        CHECK(cudaEventElapsedTime(&ms, s.event[1], s.event[2]));
        EXPECT(ms >= 0 && ms < 60000);
        CHECK(cudaEventElapsedTime(&ms, s.event[2], s.event[0]));
        EXPECT(ms <= -round * 4);
        CHECK(cudaStreamSynchronize(s.at[1]));
        CHECK(cudaStreamQuery(s.at[1]));
    }
    CHECK(cudaFreeHost((void *)flag));
}

/* A wait that lasts for longer than C waits, and its work. */
static void lasting()
{
    Streams s;
    Numbers own;
    volatile int *flag;
    CHECK(cudaMallocHost((void **)&flag, 4));
    for (int round = 0; round < 3; round++) {
        *flag = 0;
        own.launch(s.at[1], 1);
        own.launch(s.at[1], 1);
        CHECK(cudaStreamSynchronize(s.at[1]));
        wait_for<<<1, 1, 0, s.at[0]>>>(flag);
        CHECK(cudaEventRecord(s.event[0], s.at[0]));
        own.launch(s.at[1], 2);
        CHECK(cudaStreamWaitEvent(s.at[1], s.event[0], 0));
        own.launch(s.at[1], 3);
        CHECK(cudaStreamWaitEvent(s.at[1], s.event[0], 0));
        own.launch(s.at[1], 4);
        CHECK(cudaEventRecord(s.event[1], s.at[1]));
        usleep(20000);
        EXPECT(cudaEventQuery(s.event[1]) == cudaErrorNotReady);
        *flag = 1;
        CHECK(cudaEventSynchronize(s.event[1]));
        own.look(__LINE__);
    }
    CHECK(cudaFreeHost((void *)flag));
}

static void in_captures()
{
    Streams s;
    Numbers own;
    cudaGraph_t graph;
    cudaGraphExec_t made;
    for (int n = 0; n < 20; n++) {
        own.launch(s.at[0], 1);
        own.launch(s.at[1], 1);
        CHECK(cudaEventRecord(s.event[0], s.at[0]));
        CHECK(cudaEventRecord(s.event[1], s.at[1]));
        const u before = own.expected;
        CHECK(cudaStreamSynchronize(s.at[0]));
        CHECK(cudaStreamBeginCapture(s.at[0], cudaStreamCaptureModeRelaxed));
        own.launch(s.at[0], 2);
        CHECK(cudaEventRecord(s.event[0], s.at[0])); /* which was behind work */
        CHECK(cudaStreamWaitEvent(s.at[1], s.event[0], 0));
        own.launch(s.at[1], 3);
        CHECK(cudaEventRecord(s.event[1], s.at[1]));
        CHECK(cudaStreamWaitEvent(s.at[0], s.event[1], 0));
        CHECK(cudaStreamEndCapture(s.at[0], &graph));
        own.expected = before;
        CHECK(cudaStreamSynchronize(s.at[1]));
        own.look(__LINE__);
        printf("%d", cudaEventQuery(s.event[1]));
        cudaGetLastError();
        CHECK(cudaGraphInstantiate(&made, graph, 0));
        CHECK(cudaGraphLaunch(made, s.at[2]));
        own.expected = (own.expected * 3 + 2) * 3 + 3;
        CHECK(cudaEventRecord(s.event[1], s.at[2]));
        CHECK(cudaStreamWaitEvent(s.at[0], s.event[1], 0));
        own.launch(s.at[0], 4);
        CHECK(cudaEventRecord(s.event[0], s.at[0]));
        CHECK(cudaEventSynchronize(s.event[0]));
        own.look(__LINE__);
        CHECK(cudaGraphExecDestroy(made));
        CHECK(cudaGraphDestroy(graph));
    }
    printf("\n");
}

static void forked()
{
    Streams s;
    Numbers own;
    volatile int *flag;
    int told;
    CHECK(cudaMallocHost((void **)&flag, 4));
    *flag = 0;
    wait_for<<<1, 1, 0, s.at[0]>>>(flag);
    CHECK(cudaEventRecord(s.event[0], s.at[0]));
    CHECK(cudaStreamWaitEvent(s.at[1], s.event[0], 0));
    own.launch(s.at[1], 1);
    fflush(stdout);
    int child = fork();
    if (!child)
        _exit(cudaEventSynchronize(s.event[0]) + 4 * cudaEventQuery(s.event[0]) +
              16 * (cudaEventRecord(s.event[1], s.at[1]) + cudaEventDestroy(s.event[2])));
    waitpid(child, &told, 0);
    printf("in the child of a fork: %d\n", WEXITSTATUS(told));
    *flag = 1;
    CHECK(cudaEventRecord(s.event[1], s.at[1]));
    CHECK(cudaEventSynchronize(s.event[1]));
    own.look(__LINE__);
    CHECK(cudaFreeHost((void *)flag));
}

struct Told {
    cudaEvent_t event;
    cudaError_t code;
};

static void CUDART_CB waits_there(void *place)
{
    Told *told = (Told *)place;
    told->code = cudaEventSynchronize(told->event);
}

static void circular()
{
    Streams s;
    Numbers own;
    Told told = { s.event[0], cudaSuccess };
    own.launch(s.at[0], 1);
    own.launch(s.at[0], 1);
    pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&held);
    CHECK(cudaLaunchHostFunc(s.at[0], [](void *it) { pthread_mutex_lock((pthread_mutex_t *)it); },
                             &held));
    CHECK(cudaLaunchHostFunc(s.at[0], waits_there, &told)); /* which CUDA forbids */
    own.launch(s.at[0], 2);
    CHECK(cudaEventRecord(s.event[0], s.at[0]));
    pthread_mutex_unlock(&held);
    CHECK(cudaStreamSynchronize(s.at[0]));
    printf("a wait of a stream for an event behind it: %s\n", cudaGetErrorName(told.code));
    own.look(__LINE__);
}

static void *one_thread(void *seed)
{
    chained((int)(size_t)seed, 0);
    return 0;
}

static Streams *common_streams;
static Numbers *common_numbers;

/* Threads record and wait for each other's events; the same step, so that the order does not matter. */
static void *shares(void *own)
{
    const int me = (int)(size_t)own;
    for (int n = 0; n < 300; n++) {
        step<<<1, N, 0, common_streams->at[0]>>>(common_numbers->x, 1, 20);
        CHECK(cudaEventRecord(common_streams->event[me], common_streams->at[0]));
        if (n % 3 == 0)
            CHECK(cudaStreamWaitEvent(common_streams->at[me], common_streams->event[(me + 1) % THREADS], 0));
        if (n % 7 == 0)
            CHECK(cudaEventSynchronize(common_streams->event[(me + n) % THREADS]));
        if (n % 5 == 0)
            cudaEventQuery(common_streams->event[(me + 1) % THREADS]);
    }
    cudaGetLastError();
    return 0;
}

static void threads(void *(*run)(void *))
{
    pthread_t made[THREADS];
    for (size_t n = 0; n < THREADS; n++)
        pthread_create(&made[n], 0, run, (void *)n);
    for (pthread_t each : made)
        pthread_join(each, 0);
}

static void failing()
{
    Streams s;
    Numbers own;
    int *x;
    CHECK(cudaMalloc(&x, 4));
    for (int n = 0; n < 3; n++) {
        fails<<<1, 32, 0, s.at[0]>>>(x, 40); /* which none is */
        own.launch(s.at[1], 1);
        CHECK(cudaStreamSynchronize(s.at[0]));
        CHECK(cudaStreamSynchronize(s.at[1]));
    }
    own.launch(s.at[1], 1);
    fails<<<1, 32, 0, s.at[0]>>>(x, 3);
    cudaEventRecord(s.event[0], s.at[0]); /* which may be told already that it failed, as the next */
    cudaStreamWaitEvent(s.at[1], s.event[0], 0);
    cudaStreamSynchronize(s.at[1]);
    cudaEventSynchronize(s.event[0]);
    printf("after a trap: %s", cudaGetErrorName(cudaStreamSynchronize(s.at[0])));
    printf(" %s", cudaGetErrorName(cudaEventQuery(s.event[0])));
    printf(" %s", cudaGetErrorName(cudaEventRecord(s.event[0], s.at[1])));
    printf(" %s", cudaGetErrorName(cudaStreamWaitEvent(s.at[1], s.event[0], 0)));
    printf(" %s", cudaGetErrorName(cudaEventCreate(&s.event[0])));
    printf(" %s", cudaGetErrorName(cudaStreamCreate(&s.at[0])));
    printf(" %s\n", cudaGetErrorName(cudaEventDestroy(s.event[1])));
    fflush(stdout);
    _exit(puts("well") < 0 || fflush(stdout));
}

int main()
{
    for (int n = 0; n < 6; n++)
        chained(n, n % 2);
    timed();
    lasting();
    in_captures();
    forked();
    circular();
    threads(one_thread);
    common_streams = new Streams;
    common_numbers = new Numbers;
    for (int n = 0; n < THREADS * 300; n++)
        common_numbers->expected = common_numbers->expected * 3 + 1;
    threads(shares);
    CHECK(cudaStreamSynchronize(common_streams->at[0]));
    common_numbers->look(__LINE__);
    CHECK(cudaDeviceSynchronize());
    failing();
}
