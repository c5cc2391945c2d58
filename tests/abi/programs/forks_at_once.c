/* Forks while another thread makes the first call: the children's calls end, and programs ask what
 * an error means. Each process here is new, as a first call is made once. */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void *call(void *unused)
{
    cudaFree(0);
    return unused;
}

static void spend(long microseconds)
{
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - start.tv_sec) * 1000000 + (now.tv_nsec - start.tv_nsec) / 1000 < microseconds);
}

static int of_child(void)
{
    void *made;
    const char *text = NULL;
    alarm(60);
    int code = cudaMalloc(&made, 64);
    if (code && strcmp(cudaGetErrorName(code), "cudaErrorInitializationError"))
        return 1;
    if (code && (code != cuInit(0) || cuGetErrorString(code, &text) || !strstr(text, "initiali")))
        return 2;
    return 0;
}

static int ended(pid_t process)
{
    int status = 1;
    waitpid(process, &status, 0);
    return status;
}

static int of_process(long microseconds)
{
    pthread_t thread;
    pthread_create(&thread, NULL, call, NULL);
    spend(microseconds);
    pid_t child = fork();
    if (!child)
        _exit(of_child());
    return ended(child) != 0;
}

int main(void)
{
    static const long after[] = { 1000, 2000, 3000, 30000 };
    int failed = 0;
    for (size_t n = 0; n < sizeof after / sizeof *after; n++) {
        pid_t process = fork();
        if (!process)
            _exit(of_process(after[n]));
        if (ended(process))
            failed = printf("after %ld us\n", after[n]);
    }
    if (!failed)
        puts("well");
    return failed;
}
