/* A kernel that fails on a stream of the program's own: once that is known, each call in its context
 * returns the error, also if nobody waits; other contexts go on. */
#include "hostile.h"

#include <time.h>

struct work {
    CUmodule module;
    CUfunction stop, add;
    CUstream stream, other;
    CUevent event;
    CUdeviceptr counter;
};

static int launch(CUfunction function, CUstream stream, CUdeviceptr to)
{
    void *parameters[] = { &to };
    return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL);
}

static void begin(struct work *made)
{
    CHECK(cuModuleLoadData(&made->module, text));
    CHECK(cuModuleGetFunction(&made->stop, made->module, "stop"));
    CHECK(cuModuleGetFunction(&made->add, made->module, "add"));
    CHECK(cuStreamCreate(&made->stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&made->other, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&made->event, 0));
    CHECK(cuMemAlloc(&made->counter, 4));
    CHECK(cuMemsetD32(made->counter, 0, 1));
}

/* What an event before the failed kernel, and the work of another stream, leave to be told. */
static void all_fail(struct work *made)
{
    int value, *more;
    CUstream stream;
    CUevent event;
    FAILS(cudaStreamWaitEvent(made->stream, made->event, 0));
    FAILS(cudaStreamWaitEvent(made->other, made->event, 0));
    FAILS(cudaMemcpy(&value, (void *)made->counter, 4, cudaMemcpyDeviceToHost));
    FAILS(cudaMemcpyAsync(&value, (void *)made->counter, 4, cudaMemcpyDeviceToHost, made->other));
    FAILS(cudaMemset((void *)made->counter, 0, 4));
    FAILS(launch(made->add, made->stream, made->counter));
    FAILS(launch(made->add, made->other, made->counter));
    FAILS(launch(made->add, NULL, made->counter));
    FAILS(cudaMalloc((void **)&more, 16));
    FAILS(cudaFree((void *)made->counter));
    FAILS(cuStreamCreate(&stream, 0));
    FAILS(cuEventCreate(&event, 0));
    FAILS(cuEventRecord(made->event, made->other));
    FAILS(cudaEventQuery(made->event));
    FAILS(cudaEventSynchronize(made->event));
    FAILS(cudaStreamQuery(made->other));
    FAILS(cudaStreamSynchronize(made->other));
    for (int n = 0; n < 2; n++) {
        FAILS(cudaStreamSynchronize(made->stream));
        FAILS(cudaDeviceSynchronize());
        FAILS(cudaGetLastError());
    }
}

/* Wait until the error is known, by calls that wait for nothing. */
static void become_known(void)
{
    const struct timespec pause = { 0, 200000 };
    int *more, code;
    for (int n = 0; !(code = cudaMalloc((void **)&more, 16)) && n < 300000; n++) {
        code = cudaFree(more);
        if (code)
            break;
        nanosleep(&pause, NULL);
    }
    FAILS(code);
}

enum { FIRST, BEHIND, FOLLOWED, WAITED, COPIED, KINDS };

/* In the runtime's context. */
static void on_a_stream(int kind)
{
    struct work made;
    int value;
    CHECK(cudaSetDevice(0));
    CHECK(cudaFree(NULL));
    begin(&made);
    if (kind != FIRST) /* so that C appends what follows */
        for (int n = 0; n < 3; n++)
            CHECK(launch(made.add, made.stream, made.counter));
    CHECK(launch(made.stop, made.stream, 0));
    const int recorded = cuEventRecord(made.event, made.stream); /* unless it is known now */
    if (recorded)
        FAILS(recorded);
    else if (kind == FOLLOWED) {
        const int code = cuStreamWaitEvent(made.other, made.event, 0);
        if (code)
            FAILS(code);
    } else if (kind == WAITED)
        FAILS(cudaEventSynchronize(made.event));
    else if (kind == COPIED)
        FAILS(cudaMemcpyAsync(&value, (void *)made.counter, 4, cudaMemcpyDeviceToHost, made.stream));
    become_known();
    all_fail(&made);
    CHECK(cudaDeviceReset());
    CHECK(cudaGetLastError());
}

static void in_contexts(void)
{
    struct work here, there;
    CUcontext first, second;
    unsigned count;
    CUdeviceptr more;
    CHECK(cuCtxCreate(&first, NULL, 0, 0));
    begin(&here);
    CHECK(cuCtxCreate(&second, NULL, 0, 0));
    begin(&there);
    CHECK(launch(there.add, there.stream, there.counter));
    CHECK(launch(there.stop, there.stream, 0));
    CHECK(cuCtxSetCurrent(first)); /* which waits for all streams, and finds the other's error */
    CHECK(launch(here.add, here.stream, here.counter));
    CHECK(cuCtxSynchronize());
    CHECK(launch(here.add, here.stream, here.counter));
    CHECK(launch(here.add, NULL, here.counter));
    CHECK(cuStreamSynchronize(here.stream));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyDtoH(&count, here.counter, 4));
    EXPECT(count, 3);
    CHECK(cuCtxSetCurrent(second));
    FAILS(cuMemAlloc(&more, 4));
    FAILS(cuStreamSynchronize(there.stream));
    FAILS(cuCtxSynchronize());
    CHECK(cuCtxDestroy(second));
    CHECK(cuCtxSetCurrent(first));
    CHECK(launch(here.add, here.stream, here.counter));
    CHECK(cuCtxSynchronize());
    CHECK(cuCtxDestroy(first));
}

int main(void)
{
    CHECK(cuInit(0));
    for (int kind = 0; kind < KINDS; kind++)
        on_a_stream(kind);
    in_contexts();
    puts("well");
    return 0;
}
