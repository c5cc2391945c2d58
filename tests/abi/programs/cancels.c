/* Threads that are cancelled wherever they are: the others go on. */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static void *call(void *unused)
{
    void *made;
    cudaStream_t stream;
    for (;;) {
        cudaMalloc(&made, 4096);
        cudaStreamCreate(&stream);
        cudaMemsetAsync(made, 0, 64, stream);
        cudaStreamSynchronize(stream);
        cudaStreamDestroy(stream);
        cudaFree(made);
        cudaSetDevice(7);
        cudaGetLastError();
        pthread_testcancel();
    }
    return unused;
}

int main(void)
{
    void *held;
    int value;
    alarm(90);
    if (cudaMalloc(&held, 4))
        return 1;
    for (int n = 0; n < 40; n++) {
        pthread_t threads[2];
        for (int i = 0; i < 2; i++)
            pthread_create(&threads[i], NULL, call, NULL);
        usleep(1000 + 500 * n);
        for (int i = 0; i < 2; i++)
            pthread_cancel(threads[i]);
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
        if (cudaMemcpy(&value, held, 4, cudaMemcpyDefault))
            return 2;
    }
    puts("well");
    return 0;
}
