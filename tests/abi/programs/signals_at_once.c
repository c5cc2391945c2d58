/* A program that sets handlers of signals while another thread makes the first call. */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static void *call(void *code)
{
    *(int *)code = cudaFree(0);
    return NULL;
}

static void handle(int number)
{
    (void)number;
}

int main(void)
{
    static const int numbers[] = { SIGINT, SIGALRM, SIGUSR1, SIGPIPE, SIGSEGV };
    pthread_t thread;
    struct sigaction action = { .sa_handler = handle }, found;
    int code = -1, lost = 0;
    pthread_create(&thread, NULL, call, &code);
    usleep(20000); /* Python needs more to begin */
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
        sigaction(numbers[n], &action, NULL);
    pthread_join(thread, NULL);
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
        lost += sigaction(numbers[n], NULL, &found) || found.sa_handler != handle;
    printf("%d %d\n", code, lost);
    return 0;
}
