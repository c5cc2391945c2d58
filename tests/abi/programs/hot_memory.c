/* Memory of all kinds in copies, fills, frees and questions, with addresses that are right and wrong.
 * What is printed says nothing of where memory lies. */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
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

typedef CUdeviceptr ptr;

static const char *text = ".version 8.0\n.target sm_80\n.address_size 64\n"
                          ".visible .global .align 8 .b8 table[1000];\n"
                          ".visible .entry none() { ret; }\n";

static void say(const char *what, int code)
{
    printf("%s: %d\n", what, code);
}

enum { SMALL, MIDDLE, LARGE, PINNED, MANAGED, REGISTERED, VARIABLE, STACK, HEAP, FREED, NOTHING, KINDS };
static const char *const names[] = { "small", "middle", "large", "pinned", "managed", "registered",
                                     "variable", "stack", "heap", "freed", "null" };
static char *at[KINDS];
static char registered[4096];
enum { SIZE = 1000, BIG = 3 << 20 };

static void make(char *stack)
{
    CUmodule module;
    ptr variable, freed;
    size_t bytes;
    EXPECT(!cudaMalloc((void **)&at[SMALL], SIZE));
    EXPECT(!cudaMalloc((void **)&at[MIDDLE], 5 * SIZE));
    EXPECT(!cudaMalloc((void **)&at[LARGE], BIG));
    EXPECT(!cudaMallocHost((void **)&at[PINNED], SIZE));
    EXPECT(!cudaMallocManaged((void **)&at[MANAGED], SIZE, 1));
    EXPECT(!cudaHostRegister(registered, SIZE, 0));
    EXPECT(!cuModuleLoadData(&module, text));
    EXPECT(!cuModuleGetGlobal(&variable, &bytes, module, "table") && bytes == SIZE);
    EXPECT(!cuMemAlloc(&freed, SIZE) && !cuMemFree(freed));
    at[REGISTERED] = registered;
    at[VARIABLE] = (char *)(uintptr_t)variable;
    at[STACK] = stack;
    at[HEAP] = malloc(SIZE);
    at[FREED] = (char *)(uintptr_t)freed;
    EXPECT(at[SMALL] && (uintptr_t)at[SMALL] % 256 == 0 && (uintptr_t)at[LARGE] % 256 == 0);
}

/* Every pair of kinds of memory, in every kind of copy. */
static void copies(void)
{
    for (int to = 0; to < KINDS; to++)
        for (int from = 0; from < KINDS; from++) {
            printf("%s <- %s:", names[to], names[from]);
            if (to == FREED) { /* as the host's it would be somebody else's memory */
                printf(" %d %d\n", cudaMemcpy(at[to], at[from], 16, cudaMemcpyHostToDevice),
                       cudaMemcpy(at[to], at[from], 16, cudaMemcpyDeviceToDevice));
                continue;
            }
            for (int kind = -1; kind < 6; kind++)
                printf(" %d", cudaMemcpy(at[to] ? at[to] + 8 : 0, at[from], 16, kind));
            for (int kind = 0; kind < 5; kind++)
                printf(" %d", cudaMemcpyAsync(at[to], at[from], SIZE, kind, (void *)(size_t)(kind % 3)));
            ptr there = (uintptr_t)at[to], here = (uintptr_t)at[from];
            printf(", %d %d", cuMemcpy(there, here, 100), cuMemcpyAsync(there, here, 100, 0));
            if (to != NOTHING && from != NOTHING && from != FREED) {
                printf(" %d %d", cuMemcpyHtoD(there, at[from], 100),
                       cuMemcpyDtoH(at[to], here, 100));
                printf(" %d %d", cuMemcpyHtoDAsync(there, at[from], 7, 0),
                       cuMemcpyDtoHAsync(at[to], here, 7, 0));
            }
            printf(" %d %d\n", cuMemcpyDtoD(there, here, 100), cuMemcpyDtoDAsync(there, here, 5, 0));
            cudaGetLastError();
        }
}

/* Copies over the end of what only modules know. */
static void variables(void)
{
    TWICE(cudaMemcpy(at[HEAP], at[VARIABLE] + 8, SIZE - 8, cudaMemcpyDefault));
    TWICE(cudaMemcpy(at[HEAP], at[VARIABLE] + 8, SIZE, cudaMemcpyDefault));
    TWICE(cudaMemcpy(at[VARIABLE] + 8, at[HEAP], SIZE, cudaMemcpyDefault));
    TWICE(cudaMemcpy(at[HEAP], at[VARIABLE] + 8, (size_t)1 << 40, cudaMemcpyDefault));
    TWICE(cuMemcpy((uintptr_t)at[HEAP], (uintptr_t)at[VARIABLE] + 8, SIZE));
    TWICE(cudaGetLastError());
}

static void fills(void)
{
    for (int to = 0; to < KINDS; to++) {
        ptr there = (uintptr_t)at[to];
        printf("%s:", names[to]);
        for (int n = 0; n < 2; n++) {
            printf(" %d %d", cudaMemset(at[to], 300 + n, 100), cudaMemsetAsync(at[to], 1, 0, 0));
            printf(" %d %d", cuMemsetD8(there + 1, 7, 10), cuMemsetD16(there + 2, 0x1234, 10));
            printf(" %d %d", cuMemsetD32(there + 4, 0x12345678, 10), cuMemsetD32(there + 2, 1, 4));
            printf(" %d %d", cuMemsetD16(there + 1, 1, 4), cuMemsetD32Async(there + 40, 9, 2, 0));
            printf(" %d %d", cuMemsetD8(there, 1, BIG + 1), cuMemsetD32(there, 1, (size_t)-1 / 4));
        }
        printf("\n");
    }
    unsigned char found[64];
    for (int kind = SMALL; kind <= LARGE; kind++) {
        EXPECT(!cudaMemset(at[kind], 0xAB, 64) && !cuMemsetD16((uintptr_t)at[kind] + 2, 0x1234, 3));
        EXPECT(!cuMemsetD32((uintptr_t)at[kind] + 8, 0x01020304, 2));
        EXPECT(!cudaMemcpy(found, at[kind], 64, cudaMemcpyDeviceToHost));
        for (int n = 0; n < 20; n++)
            printf("%02x ", found[n]);
        printf("\n");
    }
    cudaGetLastError();
}

/* The bytes at both ends of allocations of many sizes. */
static void sizes(void)
{
    static const size_t every[] = { 1,    255,  256,   257,   2047,   2048,   2049,   2560,
                                    4096, 5000, 65536, 65537, 262143, 262144, 262145, 1 << 20 };
    static char from[1 << 20], to[1 << 20];
    for (size_t n = 0; n < sizeof every / sizeof *every; n++) {
        size_t size = every[n], whole = 0;
        char *p = 0;
        ptr start = 0;
        memset(from, (int)n + 1, size);
        printf("%zu: %d", size, cudaMalloc((void **)&p, size));
        EXPECT((uintptr_t)p % 256 == 0);
        printf(" %d", cudaMemcpy(p, from, size, cudaMemcpyHostToDevice));
        printf(" %d", cudaMemcpy(p, from, size + 1, cudaMemcpyHostToDevice));
        printf(" %d", cudaMemcpy(p + 1, from, size, cudaMemcpyDefault));
        printf(" %d", cudaMemcpy(p + size - 1, from, 1, cudaMemcpyHostToDevice));
        printf(" %d", cudaMemcpy(p + size, from, 1, cudaMemcpyHostToDevice));
        printf(" %d", cudaMemcpy(p, from, (size_t)1 << 63, cudaMemcpyHostToDevice));
        printf(" %d", cudaMemcpy(p, from, -1, cudaMemcpyHostToDevice));
        printf(" %d", cudaMemcpy(to, p, size, cudaMemcpyDeviceToHost));
        EXPECT(!memcmp(from, to, size));
        int code = cuMemGetAddressRange(&start, &whole, (uintptr_t)p + size / 2);
        printf(" %d %d %zu", code, start == (uintptr_t)p, whole);
        printf(" %d", cudaMemcpy(to, p, size, cudaMemcpyDeviceToHost)); /* Python knows it now */
        printf(" %d", cudaMemcpy(p + size, from, 1, cudaMemcpyHostToDevice));
        printf(" %d %d\n", cudaFree(p), cudaFree(p));
        cudaGetLastError();
    }
    TWICE(cudaMalloc((void **)&at[NOTHING], 0));
    EXPECT(!at[NOTHING]);
    TWICE(cuMemAlloc((ptr *)&at[NOTHING], 0));
    TWICE(cudaMalloc(0, 16));
    TWICE(cuMemAlloc(0, 16));
    TWICE(cudaGetLastError());
}

static void frees(void)
{
    char *p, *q;
    struct cudaPointerAttributes facts;
    ptr start;
    EXPECT(!cudaMalloc((void **)&p, 100) && !cudaMalloc((void **)&q, 100) && p != q);
    TWICE(cudaFree(p + 1));
    TWICE(cudaFree(p + 100));
    TWICE(cudaFree(p));
    TWICE(cudaMemcpy(p, registered, 4, cudaMemcpyHostToDevice));
    TWICE(cuMemFree((uintptr_t)q));
    TWICE(cudaFree(0));
    for (int kind = PINNED; kind < KINDS; kind++)
        if (kind != MANAGED && kind != NOTHING)
            TWICE(cudaFree(at[kind]));
    cudaGetLastError();
    for (int n = 0; n < 3; n++) { /* what Python looks at becomes its own */
        EXPECT(!cudaMalloc((void **)&p, 100));
        memset(&facts, 0, sizeof facts);
        say("attributes", cudaPointerGetAttributes(&facts, p + 50));
        printf("%d %d %d %d\n", facts.type, facts.device, (char *)facts.devicePointer == p + 50,
               (char *)facts.hostPointer == p + 50);
        say("start", cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, (uintptr_t)p + 99));
        EXPECT(start == (uintptr_t)p);
        say("copy", cudaMemcpy(p + 90, registered, 10, cudaMemcpyHostToDevice));
        say("copy", cudaMemcpy(p + 90, registered, 11, cudaMemcpyHostToDevice));
        if (n == 2)
            say("free in a stream", cudaFreeAsync(p, 0));
        TWICE(cudaFree(p));
        say("attributes", cudaPointerGetAttributes(&facts, p));
        printf("%d\n", facts.type);
        say("copy", cudaMemcpy(p, registered, 4, cudaMemcpyHostToDevice));
        cudaGetLastError();
    }
    TWICE(cudaHostRegister(at[SMALL] + 8, 8, 0));
    TWICE(cudaHostUnregister(at[SMALL]));
    cudaGetLastError();
}

static void contexts(void)
{
    CUcontext before, made;
    void *own, *other;
    cuCtxGetCurrent(&before);
    for (int n = 0; n < 3; n++) {
        EXPECT(!cudaMalloc(&own, 64));
        EXPECT(!cuCtxCreate(&made, 0, 0, 0));
        EXPECT(!cudaMalloc(&other, 64));
        EXPECT(!cudaMalloc(&other, 64));
        say("copy", cudaMemcpy(own, other, 64, cudaMemcpyDeviceToDevice));
        if (n == 1)
            say("free of the other context's", cudaFree(own));
        if (n == 2)
            say("question", cuMemGetAddressRange(0, 0, (uintptr_t)other));
        say("destroy", cuCtxDestroy(made));
        say("copy", cudaMemcpy(other, registered, 64, cudaMemcpyHostToDevice));
        say("free", cudaFree(other));
        say("set", cuCtxSetCurrent(before));
        say("copy", cudaMemcpy(other, registered, 64, cudaMemcpyHostToDevice));
        say("free", cudaFree(other));
        say("free", cudaFree(own));
        cudaGetLastError();
    }
    EXPECT(!cudaMalloc(&own, 64));
    TWICE(cudaDeviceReset());
    TWICE(cudaFree(own));
    TWICE(cudaMemcpy(own, registered, 4, cudaMemcpyHostToDevice));
    TWICE(cudaGetLastError());
}

enum { THREADS = 8, HELD = 40 };

static void *in_thread(void *seed)
{
    unsigned state = (unsigned)(size_t)seed;
    unsigned *held[HELD] = { 0 }, size[HELD], value[2];
    size_t wrong = 0;
    const int rounds = getenv("GRIDLANE_NATIVE") ? 300 : 2000; /* Python is not what is tried */
    for (int n = 0; n < rounds; n++) {
        state = state * 1664525 + 1013904223;
        unsigned slot = (state >> 8) % HELD;
        if (held[slot]) {
            unsigned *last = held[slot] + size[slot] / 4 - 1;
            wrong += cudaMemcpy(&value[0], held[slot], 4, cudaMemcpyDeviceToHost) != 0;
            wrong += cudaMemcpy(&value[1], last, 4, cudaMemcpyDefault) != 0;
            wrong += value[0] != size[slot] + (unsigned)(size_t)seed || value[1] != value[0];
            wrong += cudaFree(held[slot]) != 0;
            held[slot] = 0;
        } else {
            size[slot] = 4 * (1 + (state >> 16) % (n % 50 ? 1000 : 100000));
            value[0] = size[slot] + (unsigned)(size_t)seed;
            wrong += cudaMalloc((void **)&held[slot], size[slot]) != 0;
            wrong += cuMemsetD32((uintptr_t)held[slot], value[0], size[slot] / 4) != 0;
        }
        wrong += cudaGetLastError() != 0;
    }
    for (int slot = 0; slot < HELD; slot++)
        wrong += cudaFree(held[slot]) != 0;
    return (void *)wrong;
}

static void at_once(void)
{
    pthread_t threads[THREADS];
    void *wrong;
    TWICE(cudaFree(0));
    for (size_t n = 0; n < THREADS; n++)
        pthread_create(&threads[n], 0, in_thread, (void *)(n + 1));
    for (int n = 0; n < THREADS; n++) {
        pthread_join(threads[n], &wrong);
        printf("wrong: %zu\n", (size_t)wrong);
    }
}

/* Contexts that begin and end while other threads allocate in theirs. */
static void *of_contexts(void *seed)
{
    size_t wrong = 0;
    for (int n = 0; n < 30; n++) {
        CUcontext made;
        int *held[20], value = n, found = 0;
        wrong += cuCtxCreate(&made, 0, 0, 0) != 0;
        for (int i = 0; i < 20; i++) {
            wrong += cudaMalloc((void **)&held[i], 4 + 300 * i) != 0;
            wrong += cudaMemcpy(held[i], &value, 4, cudaMemcpyHostToDevice) != 0;
        }
        for (int i = 0; i < 20; i += 2) {
            wrong += cudaMemcpy(&found, held[i], 4, cudaMemcpyDeviceToHost) || found != n;
            wrong += cudaFree(held[i]) != 0;
        }
        wrong += cuCtxDestroy(made) != 0;
        wrong += cuCtxDestroy(made) != 201 || cudaGetLastError() != 0;
        wrong += cuMemFree((uintptr_t)held[1]) != 201;
    }
    (void)seed;
    return (void *)wrong;
}

static void at_once_in_contexts(void)
{
    pthread_t threads[THREADS];
    void *wrong;
    for (size_t n = 0; n < THREADS; n++)
        pthread_create(&threads[n], 0, n % 2 ? of_contexts : in_thread, (void *)(n + 1));
    for (int n = 0; n < THREADS; n++) {
        pthread_join(threads[n], &wrong);
        printf("wrong: %zu\n", (size_t)wrong);
    }
}

int main(void)
{
    char stack[SIZE] = "x";
    void *p;
    int status = 1;
    setvbuf(stdout, 0, _IOLBF, 0);
    EXPECT(!cudaFree(0));
    make(stack);
    copies();
    variables();
    fills();
    sizes();
    frees();
    contexts();
    at_once();
    at_once_in_contexts();
    EXPECT(!cudaMalloc(&p, 64));
    pid_t child = fork();
    if (!child)
        _exit(cudaFree(p) == 3 && cudaMalloc(&p, 64) == 3 && cudaMemset(p, 0, 1) == 3 ? 0 : 1);
    waitpid(child, &status, 0);
    printf("child %d\n", status);
    TWICE(cudaFree(p));
    return 0;
}
