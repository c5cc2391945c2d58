/* Threads that do at once what is theirs alone, and what is not: streams and events, the default
 * streams of threads, pools, contexts that end or fail while others work in them. */
#include "hostile.h"

enum { MOST = 32, BLOCKS = 16 };

static CUfunction add, stop;
static cudaMemPool_t pool;
static pthread_barrier_t all;
static CUdeviceptr block[BLOCKS];
static int freed[BLOCKS], ended;
static CUcontext shared;

static int launch(CUfunction function, CUstream stream, CUdeviceptr to)
{
    void *parameters[] = { &to };
    return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL);
}

static void load(CUfunction *add, CUfunction *stop)
{
    CUmodule module;
    CHECK(cuModuleLoadData(&module, text));
    CHECK(cuModuleGetFunction(add, module, "add"));
    CHECK(cuModuleGetFunction(stop, module, "stop"));
}

static void at_once(int count, void *(*work)(void *))
{
    pthread_t thread[MOST];
    for (long n = 0; n < count; n++)
        CHECK(pthread_create(&thread[n], NULL, work, (void *)n));
    for (int n = 0; n < count; n++)
        CHECK(pthread_join(thread[n], NULL));
}

static void *calls(void *number)
{
    unsigned seed = (long)number + 1, wanted = 0, counted;
    void *more;
    CUstream stream;
    CUevent event;
    CUdeviceptr counter;
    CHECK(cudaSetDevice(0));
    CHECK(cuStreamCreate(&stream, seed & 1));
    CHECK(cuEventCreate(&event, 0));
    CHECK(cuMemAlloc(&counter, 4));
    CHECK(cuMemsetD32(counter, 0, 1));
    for (int n = 0; n < 300; n++) {
        int code = 0;
        switch (rand_r(&seed) % 8) {
        case 0: CHECK(cudaMalloc(&more, 16 + seed % 4000)); CHECK(cudaFree(more)); break;
        case 1: CHECK(cuEventRecord(event, stream)); break;
        case 2: code = seed & 8 ? cuEventQuery(event) : cuStreamQuery(stream); break;
        case 3: CHECK(cuEventSynchronize(event)); break;
        case 4: CHECK(cudaStreamWaitEvent(stream, event, 0)); break;
        case 5:
            CHECK(cuMemcpyDtoHAsync(&counted, counter, 4, stream));
            CHECK(cuStreamSynchronize(stream));
            EXPECT(counted, wanted);
            break;
        case 6:
            if (n % 40 == 0) {
                CHECK(cuStreamDestroy(stream));
                CHECK(cuCtxSynchronize());
                CHECK(cuStreamCreate(&stream, seed & 1));
            }
            break;
        default: CHECK(launch(add, n % 50 ? stream : NULL, counter)); wanted++;
        }
        if (code != CUDA_ERROR_NOT_READY)
            CHECK(code);
    }
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyDtoH(&counted, counter, 4));
    EXPECT(counted, wanted);
    return NULL;
}

/* By the functions for the default stream of a thread, and by its handle. */
static void *per_thread(void *number)
{
    unsigned seed = (long)number + 1, wanted = 0, counted;
    CUdriverProcAddressQueryResult how;
    CUresult (*on)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   CUstream, void **, void **);
    CUresult (*wait)(CUstream), (*give)(CUdeviceptr, CUstream);
    CUresult (*take)(CUdeviceptr *, size_t, CUstream);
    const int flags = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    CUdeviceptr counter, more;
    CUstream own;
    CUevent event;
    CHECK(cudaSetDevice(0));
    CHECK(cuGetProcAddress("cuLaunchKernel", (void **)&on, 12000, flags, &how));
    CHECK(cuGetProcAddress("cuStreamSynchronize", (void **)&wait, 12000, flags, &how));
    CHECK(cuGetProcAddress("cuMemAllocAsync", (void **)&take, 12000, flags, &how));
    CHECK(cuGetProcAddress("cuMemFreeAsync", (void **)&give, 12000, flags, &how));
    CHECK(cuMemAlloc(&counter, 4));
    CHECK(cuMemsetD32(counter, 0, 1));
    CHECK(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&event, 0));
    void *parameters[] = { &counter };
    for (int n = 0; n < 20; n++) {
        CUstream mine = n & 1 ? NULL : CU_STREAM_PER_THREAD;
        CHECK(on(add, 1, 1, 1, 1, 1, 1, 0, mine, parameters, NULL));
        CHECK(cuEventRecord(event, CU_STREAM_PER_THREAD));
        CHECK(cuStreamWaitEvent(own, event, 0));
        CHECK(launch(add, own, counter));
        CHECK(cuEventRecord(event, own));
        CHECK(cuStreamWaitEvent(CU_STREAM_PER_THREAD, event, 0));
        CHECK(take(&more, 16 + rand_r(&seed) % 5000, mine));
        CHECK(cuMemcpyAsync(more, counter, 4, CU_STREAM_PER_THREAD));
        CHECK(cuMemcpyDtoHAsync(&counted, more, 4, CU_STREAM_PER_THREAD));
        CHECK(give(more, mine));
        CHECK(wait(mine));
        EXPECT(counted, wanted += 2);
    }
    return NULL;
}

static void *pools(void *number)
{
    unsigned seed = (long)number + 1;
    cudaStream_t stream[2];
    cudaEvent_t event;
    CHECK(cudaSetDevice(0));
    CHECK(cudaStreamCreateWithFlags(&stream[0], cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&stream[1], cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    for (int n = 0; n < 100; n++) {
        const size_t size = 1 + rand_r(&seed) % (n % 8 ? 5000 : 3000000);
        const unsigned char mark = seed % 251;
        unsigned char *first, *second, got[2];
        int at = n & 1;
        CHECK(n & 2 ? cudaMallocAsync((void **)&first, size, stream[at])
                    : cudaMallocFromPoolAsync((void **)&first, size, pool, stream[at]));
        CHECK(cudaMemsetAsync(first, mark, size, stream[at]));
        if (n & 4) { /* the other stream takes it over, and gives it back */
            CHECK(cudaEventRecord(event, stream[at]));
            at ^= 1;
            CHECK(cudaStreamWaitEvent(stream[at], event, 0));
        }
        CHECK(cudaMallocAsync((void **)&second, size, stream[at]));
        CHECK(cudaMemcpyAsync(second, first, size, cudaMemcpyDeviceToDevice, stream[at]));
        CHECK(cudaMemsetAsync(first, 255, size, stream[at]));
        CHECK(cudaFreeAsync(first, stream[at]));
        CHECK(cudaMemcpyAsync(got, second, 1, cudaMemcpyDeviceToHost, stream[at]));
        CHECK(cudaMemcpyAsync(got + 1, second + size - 1, 1, cudaMemcpyDeviceToHost, stream[at]));
        CHECK(cudaFreeAsync(second, stream[at]));
        CHECK(cudaStreamSynchronize(stream[at]));
        EXPECT(got[0], mark);
        EXPECT(got[1], mark);
        if (n % 20 == 0)
            CHECK(cudaMemPoolTrimTo(pool, seed % 100000));
        if (n % 30 == 0)
            CHECK(cudaDeviceSynchronize());
    }
    return NULL;
}

/* All free all: one of them succeeds. */
static void *frees(void *number)
{
    CUstream stream;
    CHECK(cudaSetDevice(0));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int n = 0; n < 20; n++) {
        for (int k = 0; !number && k < BLOCKS; k++) {
            if (n & 1)
                CHECK(cuMemAlloc(&block[k], 100 + k * 1000));
            else
                CHECK(cuMemAllocAsync(&block[k], 100 + k * 70000, stream));
            freed[k] = 0;
        }
        pthread_barrier_wait(&all);
        for (int k = 0; k < BLOCKS; k++) {
            const int at = (k + 3 * (int)(long)number) % BLOCKS;
            if (!((n + k) % 3 ? cuMemFree(block[at]) : cuMemFreeAsync(block[at], stream)))
                __atomic_add_fetch(&freed[at], 1, __ATOMIC_RELAXED);
        }
        pthread_barrier_wait(&all);
        for (int k = 0; !number && k < BLOCKS; k++)
            EXPECT(freed[k], 1);
        pthread_barrier_wait(&all);
    }
    return NULL;
}

/* Contexts of a thread's own, of which one fails. */
static void *contexts(void *number)
{
    for (int n = 0; n < 3; n++) {
        CUcontext made[3], top;
        CUfunction add[3], stop[3];
        CUstream stream[3];
        CUdeviceptr counter[3];
        const int bad = (n + (int)(long)number) % 4; /* or none of them */
        unsigned counted;
        for (int k = 0; k < 3; k++) {
            CHECK(cuCtxCreate(&made[k], NULL, 0, 0));
            load(&add[k], &stop[k]);
            CHECK(cuStreamCreate(&stream[k], CU_STREAM_NON_BLOCKING));
            CHECK(cuMemAlloc(&counter[k], 4));
            CHECK(cuMemsetD32(counter[k], 0, 1));
            CHECK(launch(add[k], stream[k], counter[k]));
            CHECK(launch(add[k], stream[k], counter[k]));
        }
        if (bad < 3)
            CHECK(launch(stop[bad], stream[bad], 0));
        for (int k = 0; k < 3; k++) {
            CHECK(cuCtxPushCurrent(made[k]));
            if (k != bad) {
                if ((k + 1) % 3 != bad)
                    EXPECT(launch(add[k], stream[(k + 1) % 3], counter[k]),
                           CUDA_ERROR_INVALID_HANDLE);
                CHECK(launch(add[k], stream[k], counter[k]));
                CHECK(cuCtxSynchronize());
                CHECK(cuMemcpyDtoH(&counted, counter[k], 4));
                EXPECT(counted, 3);
            } else
                FAILS(cuCtxSynchronize());
            CHECK(cuCtxPopCurrent(&top));
            EXPECT(top == made[k], 1);
        }
        for (int k = 0; k < 3; k++)
            CHECK(cuCtxDestroy(made[k]));
    }
    return NULL;
}

/* In a context that another thread ends meanwhile: any call may fail. */
static void *in_shared(void *number)
{
    while (!__atomic_load_n(&ended, __ATOMIC_ACQUIRE)) {
        CUcontext context = __atomic_load_n(&shared, __ATOMIC_ACQUIRE);
        CUmodule module;
        CUfunction add;
        CUstream stream;
        CUevent event;
        CUdeviceptr counter, more;
        if (!context || cuCtxSetCurrent(context) || cuModuleLoadData(&module, text) ||
            cuModuleGetFunction(&add, module, "add") || cuStreamCreate(&stream, 1) ||
            cuEventCreate(&event, 0) || cuMemAlloc(&counter, 4))
            continue;
        for (int n = 0; n < 20; n++)
            if (launch(add, stream, counter) || cuEventRecord(event, stream) ||
                cuStreamWaitEvent(stream, event, 0) || cuMemAllocAsync(&more, 100, stream) ||
                cuMemFreeAsync(more, stream) || (n % 7 == 0 && cuStreamSynchronize(stream)))
                break;
        cuStreamDestroy(stream);
        cuMemFree(counter);
    }
    (void)number;
    return NULL;
}

static void *ends(void *number)
{
    if (number)
        return in_shared(number);
    for (int n = 0; n < 20; n++) {
        CUcontext made;
        CUfunction add, stop;
        CUstream stream;
        CHECK(cuCtxCreate(&made, NULL, 0, 0));
        __atomic_store_n(&shared, made, __ATOMIC_RELEASE);
        load(&add, &stop);
        CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        usleep(1000 + n % 5 * 1000);
        if (n & 1)
            CHECK(launch(stop, stream, 0));
        CHECK(cuCtxDestroy(made));
    }
    __atomic_store_n(&ended, 1, __ATOMIC_RELEASE);
    return NULL;
}

int main(void)
{
    struct cudaMemPoolProps props = { .allocType = cudaMemAllocationTypePinned,
                                      .location = { .type = cudaMemLocationTypeDevice } };
    unsigned long long used;
    CHECK(cuInit(0));
    CHECK(cudaFree(NULL));
    CHECK(cudaMemPoolCreate(&pool, &props));
    load(&add, &stop);
    pthread_barrier_init(&all, NULL, 6);
    at_once(24, calls);
    at_once(32, per_thread);
    at_once(6, pools);
    at_once(6, frees);
    at_once(4, contexts);
    at_once(4, ends);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    EXPECT(used, 0);
    CHECK(cudaMemPoolDestroy(pool));
    puts("well");
    return 0;
}
