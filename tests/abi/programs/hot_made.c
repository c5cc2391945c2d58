/* Streams and events that C makes and ends, and that Python gets to know in between: each line is
 * printed by calls of which C may have answered any. */
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SAY(call) printf("line %d: %d\n", __LINE__, (int)(call)), cudaGetLastError()

static void nothing(void *unused)
{
    (void)unused;
}

/* What is known of a stream; "python" has to say how it was made. */
static void told(cudaStream_t stream)
{
    unsigned flags = 77;
    int priority = 77;
    unsigned long long number = 0;
    CUcontext of, current;
    SAY(cudaStreamGetFlags(stream, &flags));
    SAY(cuStreamGetPriority(stream, &priority));
    SAY(cuStreamGetCtx(stream, &of));
    cuCtxGetCurrent(&current);
    SAY(cudaStreamGetId(stream, &number));
    printf("flags %u, priority %d, its context: %d, number: %d\n", flags, priority, of == current,
           number == (uintptr_t)stream);
}

static void ended(cudaStream_t stream, cudaEvent_t event)
{
    int x;
    float ms;
    for (int n = 0; n < 2; n++) {
        SAY(cudaStreamSynchronize(stream));
        SAY(cuStreamQuery(stream));
        SAY(cudaStreamGetFlags(stream, (unsigned *)&x));
        SAY(cudaStreamDestroy(stream));
        SAY(cudaMemsetAsync(&x, 0, 4, stream));
        SAY(cudaEventRecord(event, 0));
        SAY(cudaEventQuery(event));
        SAY(cuEventSynchronize(event));
        SAY(cudaEventElapsedTime(&ms, event, event));
        SAY(cudaStreamWaitEvent(0, event, 0));
        SAY(cuEventDestroy(event));
    }
}

/* "known": whether Python sees them before they end. */
static void one_of_each(int known)
{
    cudaStream_t stream;
    cudaEvent_t event;
    for (int n = 0; n < 6; n++) {
        switch (n) {
        case 0: SAY(cudaStreamCreate(&stream)); SAY(cudaEventCreate(&event)); break;
        case 1: SAY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
                SAY(cudaEventCreateWithFlags(&event, cudaEventBlockingSync)); break;
        case 2: SAY(cuStreamCreate(&stream, 1)); SAY(cuEventCreate(&event, 0)); break;
        case 3: SAY(cuStreamCreate(&stream, 0)); SAY(cuEventCreate(&event, 2)); break;
        case 4: SAY(cudaStreamCreateWithPriority(&stream, 1, -3)); SAY(cuEventCreate(&event, 3)); break;
        default: SAY(cuStreamCreateWithPriority(&stream, 0, -99));
                 SAY(cudaEventCreateWithFlags(&event, cudaEventDisableTiming)); break;
        }
        SAY(cudaStreamQuery(stream));
        SAY(cudaEventQuery(event));
        SAY(cudaEventRecord(event, stream));
        if (known) {
            told(stream);
            SAY(cudaLaunchHostFunc(stream, nothing, 0));
            SAY(cudaEventRecord(event, stream));
            SAY(cudaStreamWaitEvent(stream, event, 0));
        }
        if (known && n % 2) { /* settled, so that C ends both */
            SAY(cudaStreamSynchronize(stream));
            SAY(cudaStreamSynchronize(stream));
            SAY(cudaEventSynchronize(event));
            SAY(cudaEventSynchronize(event));
        }
        SAY(cudaEventRecord((cudaEvent_t)stream, 0)); /* each is no other kind */
        SAY(cudaStreamSynchronize((cudaStream_t)event));
        SAY(cudaStreamGetFlags((cudaStream_t)event, &(unsigned){ 0 }));
        SAY(cudaStreamDestroy((cudaStream_t)event));
        SAY(cudaEventDestroy((cudaEvent_t)stream));
        SAY(n % 2 ? cudaStreamDestroy(stream) : (cudaError_t)cuStreamDestroy(stream));
        SAY(n % 2 ? cudaEventDestroy(event) : (cudaError_t)cuEventDestroy(event));
        ended(stream, event);
    }
    SAY(cudaStreamCreate(0));
    SAY(cudaEventCreate(0));
    SAY(cudaStreamCreateWithFlags(&stream, 2));
    SAY(cudaEventCreateWithFlags(&event, 8));
    SAY(cuEventCreate(&event, 4));
    SAY(cudaStreamDestroy(0));
    SAY(cudaStreamDestroy(cudaStreamPerThread));
    SAY(cudaEventDestroy(0));
}

static void in_captures(void)
{
    cudaStream_t captured, stream;
    cudaEvent_t event;
    cudaGraph_t graph;
    SAY(cudaStreamCreate(&captured));
    SAY(cudaStreamBeginCapture(captured, cudaStreamCaptureModeRelaxed));
    SAY(cudaStreamCreate(&stream));
    SAY(cudaEventCreate(&event));
    SAY(cudaEventRecord(event, captured));
    SAY(cudaStreamWaitEvent(stream, event, 0));
    SAY(cudaStreamDestroy(stream));
    SAY(cudaEventDestroy(event));
    SAY(cudaStreamEndCapture(captured, &graph));
    SAY(cudaStreamBeginCapture(captured, cudaStreamCaptureModeRelaxed));
    SAY(cudaStreamDestroy(captured));
    SAY(cudaStreamEndCapture(captured, &graph));
}

static void in_contexts(void)
{
    CUcontext first, own;
    CUstream stream, other;
    CUevent event, there;
    SAY(cuCtxGetCurrent(&first));
    SAY(cuStreamCreate(&stream, 0));
    SAY(cuEventCreate(&event, 0));
    SAY(cuCtxCreate(&own, 0, 0, 0));
    SAY(cuStreamCreate(&other, 0));
    SAY(cuEventCreate(&there, 0));
    SAY(cuEventRecord(there, other));
    SAY(cuEventRecord(event, other)); /* of two contexts */
    SAY(cuEventRecord(event, stream));
    SAY(cuStreamSynchronize(stream));
    SAY(cuStreamWaitEvent(other, event, 0));
    SAY(cuStreamDestroy(stream)); /* from another context */
    SAY(cuStreamQuery(stream));
    SAY(cuCtxDestroy(own));
    SAY(cuCtxSetCurrent(first));
    SAY(cuEventQuery(there));
    SAY(cuStreamQuery(other));
    SAY(cuStreamDestroy(other));
    SAY(cuEventDestroy(there));
    SAY(cuEventQuery(event));
    SAY(cudaStreamCreate(&stream));
    SAY(cudaDeviceReset());
    SAY(cudaFree(0));
    SAY(cudaEventQuery(event));
    SAY(cudaStreamQuery(stream));
    SAY(cudaStreamDestroy(stream));
}

static void forked(void)
{
    cudaStream_t stream;
    int status, child;
    SAY(cudaStreamCreate(&stream));
    fflush(stdout);
    child = fork();
    if (!child)
        _exit(cudaStreamSynchronize(stream) + 2 * cudaStreamDestroy(stream) +
              4 * cudaStreamCreate(&stream));
    waitpid(child, &status, 0);
    printf("in the child: %d\n", WEXITSTATUS(status));
    SAY(cudaStreamDestroy(stream));
}

enum { THREADS = 4 };
static cudaStream_t passed[THREADS];

static void *in_thread(void *own)
{
    size_t wrong = 0, me = (size_t)own;
    cudaStream_t streams[8], gone;
    cudaEvent_t event;
    int *p, seen;
    wrong += cudaMalloc((void **)&p, 4) != 0;
    for (int n = 0; n < 400; n++) {
        for (int k = 0; k < 8; k++)
            wrong += cudaStreamCreate(&streams[k]) != 0;
        wrong += cudaEventCreate(&event) != 0;
        wrong += cudaMemsetAsync(p, n % 100, 4, streams[n % 8]) != 0;
        wrong += cudaEventRecord(event, streams[n % 8]) != 0;
        if (n % 5 == me)
            wrong += cudaLaunchHostFunc(streams[n % 8], nothing, 0) != 0;
        wrong += cudaMemcpyAsync(&seen, p, 4, cudaMemcpyDeviceToHost, streams[n % 8]) != 0;
        wrong += seen != n % 100 * 0x1010101;
        wrong += cudaEventSynchronize(event) || cudaEventDestroy(event);
        wrong += cudaEventQuery(event) != cudaErrorInvalidResourceHandle;
        gone = streams[3];
        for (int k = 0; k < 8; k++)
            wrong += cudaStreamDestroy(streams[k]) != 0;
        wrong += cudaStreamQuery(gone) != cudaErrorInvalidResourceHandle;
    }
    wrong += cudaStreamCreate(&passed[me]) || cudaFree(p);
    return (void *)wrong;
}

static void at_once(void)
{
    pthread_t threads[THREADS];
    void *wrong;
    for (size_t n = 0; n < THREADS; n++)
        pthread_create(&threads[n], 0, in_thread, (void *)n);
    for (int n = 0; n < THREADS; n++) {
        pthread_join(threads[n], &wrong);
        printf("wrong: %zu\n", (size_t)wrong);
        SAY(cudaStreamDestroy(passed[n]));
    }
    cudaGetLastError();
}

int main(void)
{
    setvbuf(stdout, 0, _IOLBF, 0);
    SAY(cuInit(0));
    SAY(cudaFree(0));
    for (int n = 0; n < 2; n++) {
        one_of_each(0);
        one_of_each(1);
        in_captures();
        in_contexts();
    }
    at_once();
    forked();
    return 0;
}
