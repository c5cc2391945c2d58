/* Calls that C can answer without Python, and then the one that the argument names. On stderr it
 * tells whether Python was entered before that one, and at the end. */
#include "common.h"
#include <cerrno>
#include <cfenv>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

__global__ void add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

__global__ void turn(int *p, double scale)
{
    __shared__ int cells[128];
    cells[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    p[threadIdx.x] = (int)(cells[127 - threadIdx.x] * exp(scale) + __sinf((float)scale) * 100);
}

__global__ void check(const int *p, int limit)
{
    if (p[threadIdx.x] > limit)
        asm("trap;");
}

__device__ int counter;
__global__ void count() { atomicAdd(&counter, 1); }

static int has_python()
{
    char line[512];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps))
        found |= strstr(line, "libpython") != nullptr;
    fclose(maps);
    return found;
}

static void print(const char *what, cudaError_t code)
{
    printf("%s: %d, last %d\n", what, (int)code, (int)cudaGetLastError());
}

static void sum(const char *what, const float *p, int n)
{
    std::vector<float> v(n);
    CHECK(cudaMemcpy(v.data(), p, n * sizeof(float), cudaMemcpyDeviceToHost));
    double all = 0;
    for (float each : v)
        all += each;
    printf("%s: %.9g\n", what, all);
}

__global__ void thirds(float *p, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        for (int m = 0; m < 100; m++)
            p[i] = p[i] / 3.0f + 0.1f;
}

static void work(int n, const char *what)
{
    std::vector<float> a(n), b(n);
    for (int i = 0; i < n; i++)
        a[i] = i % 100, b[i] = 2 * (i % 7);
    Device<float> da(a), db(b), dc(std::vector<float>(n, 0));
    add<<<(n + 255) / 256, 256>>>(da.p, db.p, dc.p, n);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    sum(what, dc.p, n);
}

struct Late { /* after main */
    void *p = nullptr;
    ~Late()
    {
        if (p)
            print("late", cudaFree(p));
    }
} late;

int main(int, char **words)
{
    std::string mode = words[1];
    if (mode == "rounding") { /* of the host alone */
        fesetround(FE_UPWARD);
        errno = 77;
    }
    int count_ = 0, device = 7;
    CHECK(cudaGetDeviceCount(&count_));
    CHECK(cudaSetDevice(0));
    CHECK(cudaGetDevice(&device));
    printf("%d devices, %d\n", count_, device);
    work(5000, "small");
    if (mode == "few") { /* for a slow device */
        fprintf(stderr, "%d%d\n", has_python(), has_python());
        return 0;
    }
    work(500000, "large");
    std::vector<int> cells(128);
    for (int i = 0; i < 128; i++)
        cells[i] = i;
    Device<int> turned(cells);
    Device<float> kept(std::vector<float>(200000, 1.5f)), few(std::vector<float>(100, 2.5f));
    turn<<<1, 128>>>(turned.p, 0.5);
    CHECK(cudaMemset(few.p + 50, 0, 200));
    check<<<1, 128>>>(turned.p, 1000000);
    thirds<<<64, 128>>>(kept.p, 150000);
    if (mode == "rounding") {
        printf("%d %d\n", errno, fegetround() == FE_UPWARD);
        fesetround(FE_TONEAREST);
    }
    fprintf(stderr, "%d", has_python());

    if (mode == "properties") {
        cudaDeviceProp found;
        CHECK(cudaGetDeviceProperties(&found, 0));
        printf("%d\n", found.major);
    } else if (mode == "stream") {
        cudaStream_t stream;
        CHECK(cudaStreamCreate(&stream));
        add<<<8, 256, 0, stream>>>(kept.p, kept.p, kept.p, 2000);
        CHECK(cudaMemcpyAsync(few.p, kept.p, 200, cudaMemcpyDeviceToDevice, stream));
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaStreamDestroy(stream));
    } else if (mode == "shape") {
        add<<<1, 4096>>>(kept.p, kept.p, kept.p, 5);
        print("shape", cudaPeekAtLastError());
        add<<<5, 32>>>(few.p, few.p, few.p, 100);
        print("other block", cudaDeviceSynchronize());
    } else if (mode == "variable") {
        int value = 5;
        CHECK(cudaMemcpyToSymbol(counter, &value, sizeof value));
        count<<<3, 32>>>();
        CHECK(cudaMemcpyFromSymbol(&value, counter, sizeof value));
        printf("%d\n", value);
    } else if (mode == "fault") {
        check<<<1, 128>>>(turned.p, 3);
        print("fault", cudaDeviceSynchronize());
        print("again", cudaDeviceSynchronize());
        print("text", cudaSuccess);
        puts(cudaGetErrorString(cudaDeviceSynchronize()));
        fprintf(stderr, "%d\n", has_python());
        fflush(stdout);
        _exit(0);
    } else if (mode == "frees") {
        print("inner", cudaFree(few.p + 1));
        print("large inner", cudaFree(kept.p + 1));
        void *one, *two;
        CHECK(cudaMalloc(&one, 100));
        CHECK(cudaMalloc(&two, 1 << 20));
        print("free", cudaFree(one));
        print("twice", cudaFree(one));
        print("free", cudaFree(two));
        print("twice", cudaFree(two));
        print("beyond", cudaMemcpy(&device, few.p + 100, 4, cudaMemcpyDeviceToHost));
    } else if (mode == "attributes") {
        for (float *each : { few.p + 3, kept.p + 3 }) {
            cudaPointerAttributes found;
            CHECK(cudaPointerGetAttributes(&found, each));
            printf("%d %d\n", (int)found.type, found.devicePointer == each);
        }
    } else if (mode == "reset") {
        CHECK(cudaDeviceReset());
        print("few", cudaMemcpy(few.p, cells.data(), 8, cudaMemcpyHostToDevice));
        print("kept", cudaMemcpy(kept.p, cells.data(), 8, cudaMemcpyHostToDevice));
        work(5000, "new");
        fprintf(stderr, "%d\n", has_python());
        fflush(stdout);
        _exit(0);
    } else if (mode == "fork") {
        fflush(stdout);
        if (!fork()) {
            void *p;
            _exit(cudaMalloc(&p, 64) * 16 + (cudaMemset(few.p, 0, 4) != cudaSuccess));
        }
        int status;
        wait(&status);
        printf("child %d\n", WEXITSTATUS(status));
    } else if (mode == "threads" || mode == "threads_mixed") {
        std::vector<std::thread> all;
        std::vector<int> wrong(8);
        for (int t = 0; t < 8; t++)
            all.emplace_back([&, t] {
                for (int round = 0; round < 20; round++) {
                    int n = round % 2 ? 3000 : 100000;
                    Device<float> x(std::vector<float>(n, t)), y(std::vector<float>(n, round));
                    if (t == 3 && round == 7 && mode == "threads_mixed") {
                        size_t some, more;
                        CHECK(cudaMemGetInfo(&some, &more));
                    }
                    add<<<(n + 255) / 256, 256>>>(x.p, y.p, y.p, n);
                    CHECK(cudaDeviceSynchronize());
                    for (float each : y.host())
                        wrong[t] += each != t + round;
                }
            });
        for (std::thread &each : all)
            each.join();
        for (int each : wrong)
            printf("%d", each);
        puts("");
    } else if (mode == "late") {
        CHECK(cudaMalloc(&late.p, 1000));
    }
    turn<<<1, 128>>>(turned.p, -0.25);
    for (int each : turned.host())
        printf("%d ", each);
    puts("");
    sum("few", few.p, 100);
    sum("kept", kept.p, 200000);
    fprintf(stderr, "%d\n", has_python());
}
