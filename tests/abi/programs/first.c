/* All first calls of a process at once, through two libraries, in threads that then end. Code was
 * registered before, and some of it is gone. */
#define _GNU_SOURCE
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

void **__cudaRegisterFatBinary(void *wrapper);
void __cudaUnregisterFatBinary(void **binary);
void __cudaRegisterFunction(void **binary, const char *host, char *device, const char *name,
                            int limit, void *tid, void *bid, void *block, void *grid, int *warp);

enum { THREADS = 8 };
static pthread_barrier_t start;

static char kernel, gone;
static uint64_t wrapper[8];

static void register_kernels(void)
{
    char *name = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void **of_program = __cudaRegisterFatBinary(wrapper);
    void **of_plugin = __cudaRegisterFatBinary(wrapper);
    strcpy(name, "gone");
    __cudaRegisterFunction(of_program, &kernel, "kernel", "kernel", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFunction(of_plugin, &gone, name, name, -1, 0, 0, 0, 0, 0);
    __cudaUnregisterFatBinary(of_plugin);
    munmap(name, 4096);
}

/* No call goes on before what the program registered is known: the image here is no PTX. */
static int knows_kernels(void)
{
    struct cudaFuncAttributes found;
    return cudaFuncGetAttributes(&found, &kernel) == cudaErrorInvalidPtx &&
           cudaFuncGetAttributes(&found, &gone) == cudaErrorInvalidDeviceFunction;
}

static void *call(void *number)
{
    CUdeviceptr made;
    CUcontext context;
    void *other;
    pthread_barrier_wait(&start);
    if ((long)number % 2)
        return !knows_kernels() || cudaMalloc(&other, 64) || cudaFree(other) ? "runtime" : NULL;
    return cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
                   cuMemAlloc(&made, 64) || cuMemFree(made)
               ? "driver"
               : NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    void *what;
    int failed = 0;
    register_kernels();
    pthread_barrier_init(&start, NULL, THREADS);
    for (long n = 0; n < THREADS; n++)
        pthread_create(&threads[n], NULL, call, (void *)n);
    for (int n = 0; n < THREADS; n++) {
        pthread_join(threads[n], &what);
        if (what)
            failed = printf("%s\n", (char *)what);
    }
    if (!failed)
        puts("well");
    return failed;
}
