/* A program that blocks signals, after its streams have begun, to wait for them: no thread of
 * gridlane's, and of what its Python imports, receives them. */
#include <cuda_runtime_api.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static void nothing(void *unused)
{
    (void)unused;
}

int main(void)
{
    static const int numbers[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGALRM };
    cudaStream_t streams[4];
    sigset_t set;
    int failed = 0, number;
    for (int n = 0; n < 4; n++)
        failed |= cudaStreamCreate(&streams[n]) || cudaLaunchHostFunc(streams[n], nothing, NULL);
    sigemptyset(&set);
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
        sigaddset(&set, numbers[n]);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    for (int round = 0; round < 20; round++)
        for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++) {
            kill(getpid(), numbers[n]);
            failed |= cudaLaunchHostFunc(streams[round % 4], nothing, NULL);
            failed |= sigwait(&set, &number) || number != numbers[n];
        }
    failed |= cudaDeviceSynchronize();
    puts(failed ? "failed" : "well");
    return 0;
}
