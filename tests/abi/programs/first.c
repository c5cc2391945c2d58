/* All first calls of a process at once, through two libraries, in threads that then end. */
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <pthread.h>
#include <stdio.h>

enum { THREADS = 8 };
static pthread_barrier_t start;

static void *call(void *number)
{
    CUdeviceptr made;
    CUcontext context;
    void *other;
    pthread_barrier_wait(&start);
    if ((long)number % 2)
        return cudaMalloc(&other, 64) || cudaFree(other) ? "runtime" : NULL;
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
