/* Events, which C and Python have by turns: each line is printed by calls that C may have answered
 * and by those that Python did. */
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SAY(call) printf("line %d: %d\n", __LINE__, (int)(call))
#define THRICE(call)                                                                              \
    do {                                                                                          \
        for (int times = 0; times < 3; times++)                                                   \
            SAY(call);                                                                            \
        cudaGetLastError();                                                                       \
    } while (0)

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

static void wait_for_it(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&held);
    pthread_mutex_unlock(&held);
}

/* The error, or whether the time is one that can be: 0 to 60 s, and at least some. */
static int between(cudaEvent_t first, cudaEvent_t last, float least)
{
    float ms = -1;
    int code = cudaEventElapsedTime(&ms, first, last);
    return code ? code : ms >= least && ms < 60000 ? 0 : -1;
}

static void rest(int ms)
{
    struct timespec some = { 0, ms * 1000 * 1000 };
    nanosleep(&some, 0);
}

static void on_default_streams(void)
{
    cudaEvent_t one, two, blank;
    SAY(cudaEventCreate(&one));
    SAY(cudaEventCreate(&two));
    SAY(cudaEventCreateWithFlags(&blank, cudaEventDisableTiming));
    THRICE(cudaEventQuery(one));
    THRICE(cudaEventSynchronize(one));
    THRICE(between(one, two, 0));
    for (int n = 0; n < 4; n++) {
        SAY(cudaEventRecord(one, n % 2 ? cudaStreamPerThread : 0));
        rest(2);
        SAY(cuEventRecord((CUevent)two, n > 1 ? 0 : CU_STREAM_LEGACY));
        THRICE(cudaEventQuery(two));
        THRICE(cuEventQuery((CUevent)one));
        THRICE(cudaEventSynchronize(two));
        THRICE(between(one, two, 1.5f));
        THRICE(between(two, one, 0)); /* less than nothing */
        SAY(cudaEventRecord(blank, 0));
        THRICE(between(one, blank, 0));
        THRICE(cudaStreamQuery(0));
    }
    THRICE(cudaEventRecord(0, 0));
    THRICE(cudaEventQuery((cudaEvent_t)&one));
    THRICE(cudaEventElapsedTime(0, one, two));
    SAY(cudaEventDestroy(one));
    THRICE(cudaEventQuery(one));
    THRICE(cudaEventRecord(one, 0));
    THRICE(between(one, two, 0));
    SAY(cudaEventDestroy(two));
    SAY(cudaEventDestroy(blank));
}

static void on_own_streams(void)
{
    cudaStream_t stream;
    cudaEvent_t one, two;
    SAY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    SAY(cudaEventCreate(&one));
    SAY(cudaEventCreate(&two));
    for (int n = 0; n < 3; n++) {
        SAY(cudaEventRecord(one, 0));
        SAY(cudaEventRecord(two, 0));
        THRICE(between(one, two, 0));
        pthread_mutex_lock(&held);
        SAY(cudaLaunchHostFunc(stream, wait_for_it, 0));
        SAY(cudaEventRecord(two, stream)); /* what was recorded before is over */
        THRICE(cudaEventQuery(two));
        THRICE(cudaEventQuery(one));
        THRICE(between(one, two, 0));
        rest(2);
        pthread_mutex_unlock(&held);
        THRICE(cudaEventSynchronize(two));
        THRICE(cudaEventQuery(two));
        THRICE(between(one, two, 1.5f));
        SAY(cudaEventRecord(two, 0));
        SAY(cudaStreamWaitEvent(stream, two, 0));
        SAY(cudaStreamSynchronize(stream));
        THRICE(cudaEventQuery(two));
    }
    SAY(cudaStreamDestroy(stream));
    SAY(cudaEventDestroy(one));
    SAY(cudaEventDestroy(two));
}

static void in_captures(void)
{
    cudaStream_t stream, other;
    cudaEvent_t one, two;
    cudaGraph_t graph;
    cudaGraphExec_t made;
    SAY(cudaStreamCreate(&stream));
    SAY(cudaStreamCreate(&other));
    SAY(cudaEventCreate(&one));
    SAY(cudaEventCreate(&two));
    for (int n = 0; n < 3; n++) {
        SAY(cudaEventRecord(one, 0));
        SAY(cudaEventRecord(two, 0));
        THRICE(cudaEventQuery(two));
        SAY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
        SAY(cudaEventRecord(two, stream));
        SAY(cudaStreamWaitEvent(other, two, 0));
        SAY(cudaEventRecord(two, other));
        SAY(cudaStreamWaitEvent(stream, two, 0));
        SAY(cudaEventRecordWithFlags(one, stream, cudaEventRecordExternal));
        SAY(cudaStreamEndCapture(stream, &graph));
        THRICE(cudaEventQuery(two));
        THRICE(cudaEventQuery(one));
        SAY(cudaGraphInstantiate(&made, graph, 0));
        SAY(cudaEventRecord(two, 0));
        rest(2);
        SAY(cudaGraphLaunch(made, 0)); /* which records the event that C may have */
        THRICE(cudaEventSynchronize(one));
        THRICE(between(two, one, 1.5f));
        SAY(cudaGraphExecDestroy(made));
        SAY(cudaGraphDestroy(graph));
    }
    SAY(cudaStreamDestroy(stream));
    SAY(cudaStreamDestroy(other));
    SAY(cudaEventDestroy(one));
    SAY(cudaEventDestroy(two));
}

static void in_contexts(void)
{
    CUcontext first, own;
    CUevent one, two;
    SAY(cuCtxGetCurrent(&first));
    SAY(cuEventCreate(&one, 0));
    SAY(cuEventRecord(one, 0));
    SAY(cuCtxCreate(&own, 0, 0, 0));
    SAY(cuEventCreate(&two, 0));
    THRICE(cuEventRecord(two, 0));
    THRICE(cuEventRecord(one, 0)); /* of the other context */
    THRICE(cuEventQuery(one));
    SAY(cuCtxDestroy(own));
    THRICE(cuEventQuery(two));
    SAY(cuCtxSetCurrent(first));
    THRICE(cuEventQuery(one));
    THRICE(cuEventQuery(two));
    SAY(cudaDeviceReset());
    THRICE(cuEventQuery(one));
    THRICE(cudaEventQuery((cudaEvent_t)one));
}

enum { THREADS = 4 };
static cudaEvent_t shared[2];

static void *in_thread(void *own)
{
    size_t wrong = 0;
    cudaEvent_t mine[2];
    cudaStream_t stream;
    wrong += cudaEventCreate(&mine[0]) || cudaEventCreate(&mine[1]) || cudaStreamCreate(&stream);
    for (int n = 0; n < 300; n++) {
        wrong += cudaEventRecord(mine[0], 0) != 0;
        wrong += cudaEventRecord(shared[n % 2], n % 7 ? 0 : stream) != 0;
        wrong += cudaEventSynchronize(shared[(n + 1) % 2]) != 0;
        wrong += cudaEventRecord(mine[1], n % 11 ? 0 : stream) != 0;
        wrong += cudaEventSynchronize(mine[1]) != 0;
        wrong += cudaEventQuery(mine[1]) != 0;
        wrong += between(mine[0], mine[1], 0) != 0;
    }
    wrong += cudaEventDestroy(mine[0]) || cudaEventDestroy(mine[1]) || cudaStreamDestroy(stream);
    (void)own;
    return (void *)wrong;
}

static void at_once(void)
{
    pthread_t threads[THREADS];
    void *wrong;
    SAY(cudaEventCreate(&shared[0]));
    SAY(cudaEventCreate(&shared[1]));
    for (size_t n = 0; n < THREADS; n++)
        pthread_create(&threads[n], 0, in_thread, 0);
    for (int n = 0; n < THREADS; n++) {
        pthread_join(threads[n], &wrong);
        printf("wrong: %zu\n", (size_t)wrong);
    }
}

int main(void)
{
    setvbuf(stdout, 0, _IOLBF, 0);
    SAY(cudaFree(0));
    for (int n = 0; n < 2; n++) {
        on_default_streams();
        on_own_streams();
        in_captures();
        in_contexts();
    }
    at_once();
    return 0;
}
