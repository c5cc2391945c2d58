/* Calls that C may answer, while streams work, fail, are captured, or call the program. */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TWICE(call)       \
    do {                  \
        say(#call, call); \
        say(#call, call); \
    } while (0)
#define EXPECT(what)                                      \
    do {                                                  \
        if (!(what))                                      \
            printf("line %d: not %s\n", __LINE__, #what); \
    } while (0)

static const char *text =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry fails() { trap; ret; }\n"
    ".visible .entry adds(.param .u64 p, .param .u32 n) {\n"
    " .reg .b64 %rd<3>; .reg .b32 %r<4>;\n"
    " ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n];\n"
    " ld.global.u32 %r2, [%rd1]; add.u32 %r3, %r2, %r1; st.global.u32 [%rd1], %r3; ret;\n}\n";

static CUfunction fails, adds;
static int *p, *q;

static void say(const char *what, int code)
{
    printf("%s: %d\n", what, code);
}

static void load(void)
{
    CUmodule module;
    EXPECT(!cudaFree(0) && !cuModuleLoadData(&module, text));
    EXPECT(!cuModuleGetFunction(&fails, module, "fails"));
    EXPECT(!cuModuleGetFunction(&adds, module, "adds"));
    EXPECT(!cudaMalloc((void **)&p, 64) && !cudaMalloc((void **)&q, 64));
}

static int add(int *to, unsigned n, CUstream stream)
{
    void *arguments[] = { &to, &n };
    return cuLaunchKernel(adds, 1, 1, 1, 1, 1, 1, 0, stream, arguments, 0);
}

static void sleeps(void *number)
{
    usleep(20000);
    *(int *)number += 1;
}

static int count, codes[8];

static void calls(void *stream)
{
    int value = 5, n = 0;
    void *made = 0;
    usleep(5000);
    codes[n++] = cudaMalloc(&made, 16);
    codes[n++] = cudaMemcpy(made, &value, 4, cudaMemcpyHostToDevice);
    codes[n++] = cudaMemset(made, 1, 4);
    codes[n++] = cudaFree(made);
    codes[n++] = cudaStreamSynchronize(stream);
    codes[n++] = cudaDeviceSynchronize();
    codes[n++] = cudaGetLastError();
    codes[n++] = cudaGetLastError();
}

/* The legacy default stream waits for the others, and so does what works on it. */
static void pending(CUstream stream)
{
    int value = 0, zero = 0;
    for (int n = 0; n < 4; n++) {
        EXPECT(!cudaMemcpy(p, &zero, 4, cudaMemcpyHostToDevice));
        EXPECT(!cudaLaunchHostFunc((void *)stream, sleeps, &count) && !add(p, 7, stream));
        if (n == 1)
            EXPECT(!cudaDeviceSynchronize());
        if (n == 2)
            EXPECT(!cudaStreamSynchronize(0));
        if (n == 3)
            EXPECT(!cudaMemset(q, 3, 64)); /* waits as well */
        EXPECT(!cudaMemcpyAsync(&value, p, 4, cudaMemcpyDeviceToHost, 0));
        printf("%d %d\n", value, count);
        EXPECT(!cudaLaunchHostFunc((void *)stream, sleeps, &count) && !add(p, 1, stream));
        EXPECT(!add(p, 10, 0) && !cudaMemcpy(&value, p, 4, cudaMemcpyDefault));
        printf("%d %d\n", value, count);
        int *mine;
        EXPECT(!cudaMalloc((void **)&mine, 4) && !cudaMemcpy(mine, &zero, 4, cudaMemcpyDefault));
        EXPECT(!cudaLaunchHostFunc((void *)stream, sleeps, &count) && !add(mine, 1, stream));
        EXPECT(!cudaFree(mine)); /* after that work */
        printf("%d\n", count);
    }
    for (int n = 0; n < 3; n++) { /* on the default stream, this thread calls */
        EXPECT(!cudaLaunchHostFunc(n ? 0 : (void *)stream, calls, n ? 0 : stream));
        TWICE(cudaStreamSynchronize((void *)stream));
        for (int i = 0; i < 8; i++)
            printf("%d ", codes[i]);
        printf("\n");
    }
}

static void *in_thread(void *mode)
{
    int value = 1;
    void *made = 0;
    if (mode) {
        CUstreamCaptureMode relaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
        say("mode", cuThreadExchangeStreamCaptureMode(&relaxed));
    }
    say("malloc", cudaMalloc(&made, 16));
    say("alloc", cuMemAlloc((CUdeviceptr *)&made, 16));
    say("copy", cudaMemcpy(p, &value, 4, cudaMemcpyHostToDevice));
    say("free", cudaFree(made));
    say("last", cudaGetLastError());
    return 0;
}

static void captured(CUstream stream, int mode)
{
    int value = 3;
    CUgraph graph = 0;
    CUgraphExec made;
    void *room = 0;
    pthread_t thread;
    EXPECT(!cudaMemset(p, 0, 64));
    say("begin", cuStreamBeginCapture(stream, mode));
    say("add", add(p, 4, stream));
    say("copy", cudaMemcpyAsync(q, p, 4, cudaMemcpyDeviceToDevice, (void *)stream));
    say("fill", cudaMemsetAsync(p + 1, 1, 4, (void *)stream));
    say("malloc", cudaMalloc(&room, 16));
    say("legacy", cudaMemcpy(p, &value, 4, cudaMemcpyHostToDevice));
    say("per thread", cudaMemcpyAsync(p, &value, 4, cudaMemcpyHostToDevice, (void *)2));
    pthread_create(&thread, 0, in_thread, (void *)(size_t)(mode == 2));
    pthread_join(thread, 0);
    say("end", cuStreamEndCapture(stream, &graph));
    say("last", cudaGetLastError());
    say("copy", cudaMemcpy(&value, p, 4, cudaMemcpyDeviceToHost));
    printf("%d\n", value);
    /* and without what is not captured */
    say("begin", cuStreamBeginCapture(stream, mode));
    say("add", add(p, 4, stream));
    say("copy", cudaMemcpyAsync(q, p, 4, cudaMemcpyDeviceToDevice, (void *)stream));
    say("synchronize", cudaStreamSynchronize((void *)1));
    say("end", cuStreamEndCapture(stream, &graph));
    if (graph) {
        say("make", cuGraphInstantiateWithFlags(&made, graph, 0));
        for (int n = 0; n < 3; n++) {
            say("launch", cuGraphLaunch(made, n % 2 ? 0 : stream));
            say("copy", cudaMemcpy(&value, q, 4, cudaMemcpyDeviceToHost));
            printf("%d\n", value);
        }
    }
    cudaGetLastError();
}

/* A kernel that fails in a stream is told at the first wait, and then by every call. */
static void fault(CUstream stream, int how)
{
    int value = 0;
    void *made;
    EXPECT(!cudaMemcpy(p, &value, 4, cudaMemcpyHostToDevice));
    say("launch", cuLaunchKernel(fails, 1, 1, 1, 1, 1, 1, 0, stream, 0, 0));
    if (how == 1)
        say("copy", cudaMemcpy(&value, p, 4, cudaMemcpyDeviceToHost));
    for (int n = 0; how == 2 && n < 300000 && !cudaMalloc(&made, 16) && !cudaFree(made); n++)
        usleep(200); /* until it is known */
    say("malloc", cudaMalloc(&made, 16));
    TWICE(cudaStreamSynchronize((void *)stream));
    TWICE(cudaMalloc(&made, 16));
    TWICE(cudaMemcpy(&value, p, 4, cudaMemcpyDeviceToHost));
    TWICE(cudaMemset(p, 0, 4));
    TWICE(cudaGetLastError());
    TWICE(cudaPeekAtLastError());
    TWICE(cudaSetDevice(0));
    TWICE(cudaFree(p));
    TWICE(cudaDeviceReset());
    TWICE(cudaGetLastError());
    TWICE(cudaFree(q));
    cudaGetLastError();
}

int main(void)
{
    CUstream blocking, other;
    setvbuf(stdout, 0, _IOLBF, 0);
    for (int how = 0; how < 3; how++) {
        load();
        EXPECT(!cuStreamCreate(&blocking, 0) && !cuStreamCreate(&other, 0));
        if (!how) {
            pending(blocking);
            pending(other);
            for (int mode = 0; mode < 3; mode++) {
                captured(blocking, mode);
                captured(other, mode);
                captured((CUstream)2, mode);
            }
        }
        fault(how ? blocking : 0, how);
    }
    void *pooled, *plain;
    CUmemoryPool pool;
    uint64_t held = 1;
    EXPECT(!cudaFree(0) && !cuDeviceGetDefaultMemPool(&pool, 0));
    TWICE(cudaDeviceSynchronize());
    EXPECT(!cudaMallocAsync(&pooled, 5 << 20, 0) && !cudaFreeAsync(pooled, 0));
    TWICE(cudaDeviceSynchronize()); /* the pool gives its memory back then */
    EXPECT(!cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &held));
    printf("%d\n", (int)held);
    EXPECT(!cudaMallocAsync(&pooled, 64, 0) && !cudaMalloc(&plain, 64));
    TWICE(cudaMemcpy(pooled, plain, 64, cudaMemcpyDeviceToDevice));
    TWICE(cudaDeviceSynchronize());
    TWICE(cudaFree(pooled));
    TWICE(cudaFreeAsync(plain, 0));
    TWICE(cudaDeviceSynchronize());
    return 0;
}
