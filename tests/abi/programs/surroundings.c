/* A process without a folder to work in or a standard stream, which ends in a stream's callback:
 * what runs after that may call. Its output is at descriptor 3. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *held;

static void at_exit(void)
{
    int count = 0;
    dprintf(3, "exit %d\n", cudaGetDeviceCount(&count));
}

__attribute__((destructor)) static void at_end(void)
{
    dprintf(3, "end %d\n", cudaFree(held));
}

static void leave(void *unused)
{
    (void)unused;
    dprintf(3, "callback %d\n", cudaMalloc(&held, 64));
    exit(0);
}

int main(int count, char **words)
{
    cudaStream_t stream;
    if (count != 2 || chdir(words[1]) || rmdir(words[1]) || dup2(1, 3) != 3)
        return 1;
    for (int n = 0; n < 3; n++)
        close(n);
    atexit(at_exit);
    if (cudaStreamCreate(&stream) || cudaLaunchHostFunc(stream, leave, NULL))
        return 2;
    cudaStreamSynchronize(stream);
    return 3;
}
