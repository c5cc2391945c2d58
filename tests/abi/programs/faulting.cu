// Kernels that reach memory that is not there, beside handlers of the program's own.
#include <cstdio>
#include <cstdlib>
#include <csignal>
#include <cstring>

__global__ void away(int *x, long step)
{
    x[threadIdx.x * step] = 7; /* line 9 */
}

__global__ void endless(unsigned *x, unsigned step)
{
    for (unsigned n = 0; n != 7; n += step)
        x[threadIdx.x] = n; /* line 15 */
}

static void handler(int number, siginfo_t *info, void *)
{
    printf("own handler: %d at %p\n", number, info->si_addr);
    fflush(stdout);
    _Exit(3);
}

int main(int count, char **words)
{
    struct sigaction action = {};
    int *x;
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO;
    if (!strcmp(words[1], "own"))
        sigaction(SIGSEGV, &action, nullptr);
    const int before = !strcmp(words[1], "before");
    if (before || !strcmp(words[1], "behind")) { /* two are freed, and one is not */
        int sizes[] = { 100, 4096, 1 << 20 };
        cudaMalloc(&x, 4); /* the first one is Python's */
        cudaFree(x);
        for (int n = 0; n < 3; n++) {
            cudaMalloc(&x, sizes[n]);
            away<<<1, 1>>>(before ? x - 1 : x + sizes[n] / 4, 0);
            if (n)
                cudaFree(x);
        }
        return 0;
    }
    if (!strcmp(words[1], "many")) { /* whole, of sizes whose blocks share pages, in any order */
        void *held[64] = {};
        unsigned seed = 7;
        cudaMalloc(&x, 4);
        for (int n = 0; n < 4000; n++) {
            seed = seed * 1103515245 + 12345;
            void *&one = held[(seed >> 16) % 64];
            size_t size = (seed >> 8) % ((seed >> 4) % 3 ? 3000 : 400000) + 1;
            cudaFree(one);
            cudaMalloc(&one, size);
            cudaMemset(one, 1, size);
        }
        return 0;
    }
    if (!strcmp(words[1], "endless")) { /* those after the first are C's */
        unsigned *y;
        cudaMalloc(&y, 4096);
        for (int n = 0; n < 4; n++)
            endless<<<8, 32>>>(y, n < 3 ? 1 : 2);
        printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
        printf("%s\n", cudaGetErrorName(cudaDeviceReset()));
        return 0;
    }
    cudaMalloc(&x, 4096);
    for (int n = 0; n < 3; n++)
        away<<<2, 32>>>(x, 1);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    away<<<2, 32>>>(x, 1L << 40);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    printf("%s\n", cudaGetErrorName(cudaMemset(x, 0, 4)));
    printf("%s\n", cudaGetErrorName(cudaDeviceReset()));
    cudaMalloc(&x, 4096);
    away<<<2, 32>>>(x, 1);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    fflush(stdout);
    if (strcmp(words[1], "kernel"))
        *(volatile int *)16 = 1;
}
