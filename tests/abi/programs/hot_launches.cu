// Launches, each made several times: the later ones may be C's alone.
#include <cassert>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <cuda.h>
#include <thread>
#include <vector>

#define SAY(call) printf(#call ": %d\n", (int)(call))

struct Pair {
    char a;
    double b;
    short c[3];
};

__device__ int counter;
__constant__ int factor = 3;

__global__ void mixed(int *to, char a, double b, Pair pair, short c, float d)
{
    to[threadIdx.x] = (int)(a + b + pair.a + pair.b + pair.c[0] + pair.c[1] + pair.c[2] + c + d) * factor;
}

__global__ void counts() { atomicAdd(&counter, 1); }

__global__ void where(int *to)
{
    int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    int threads = blockDim.x * blockDim.y * blockDim.z;
    int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    to[block * threads + thread] = block * 1000 + thread;
}

__global__ void shares(int *to, int n)
{
    extern __shared__ int shared[];
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        shared[i] = i;
    __syncthreads();
    if (!threadIdx.x)
        *to = shared[n - 1];
}

__global__ void prints(int n) { printf("%d of %s\n", n + (int)threadIdx.x, "a kernel"); }

__global__ void allocates(int *to)
{
    int *p = (int *)malloc(400);
    p[99] = 7;
    *to += p[99];
    free(p);
}

__global__ void asserts(int n) { assert(n < 3); }

__global__ void numbered(unsigned long long *to)
{
    asm volatile("mov.u64 %0, %%gridid;" : "=l"(*to));
}

__global__ void __launch_bounds__(64) bounded(int *to) { *to += 1; }

static int *d;
static int h[4096];

static void fetch(int n)
{
    SAY(cudaMemcpy(h, d, n * sizeof(int), cudaMemcpyDeviceToHost));
    long sum = 0;
    for (int i = 0; i < n; i++)
        sum = sum * 31 + h[i];
    printf("%ld\n", sum);
}

static void parameters()
{
    for (int n = 0; n < 4; n++) {
        Pair pair = { (char)n, 2.5 * n, { 1, (short)-n, 300 } };
        mixed<<<1, 4>>>(d, (char)-n, 1e3 + n, pair, (short)(7 * n), 0.5f * n);
        SAY(cudaGetLastError());
        fetch(4);
        int three = 3 + n;
        SAY(cudaMemcpyToSymbol(factor, &three, sizeof three));
        counts<<<dim3(2, 3), 5>>>();
        SAY(cudaMemcpyFromSymbol(&three, counter, sizeof three));
        printf("%d\n", three);
    }
}

static void shapes()
{
    for (int n = 0; n < 3; n++) {
        where<<<dim3(2, 3, 2), dim3(4, 2, 3)>>>(d);
        SAY(cudaGetLastError());
        fetch(288);
        where<<<dim3(3, 2, 2), dim3(2, 3, 4)>>>(d);
        fetch(288);
        where<<<7, 32>>>(d);
        fetch(224);
        where<<<0, 32>>>(d);
        SAY(cudaGetLastError());
        where<<<1, 2048>>>(d);
        SAY(cudaGetLastError());
        where<<<dim3(1, 70000), 1>>>(d);
        SAY(cudaGetLastError());
        bounded<<<1, 64>>>(d);
        SAY(cudaGetLastError());
        bounded<<<1, 65>>>(d);
        SAY(cudaGetLastError());
        void *none[] = { nullptr };
        SAY(cudaLaunchKernel((void *)where, dim3(1), dim3(32), none, 0, 0));
        SAY(cudaLaunchKernel((void *)where, dim3(1), dim3(32), nullptr, 0, 0));
        SAY(cudaLaunchKernel((void *)fetch, dim3(1), dim3(32), none, 0, 0));
        SAY(cudaLaunchKernel(nullptr, dim3(1), dim3(32), none, 0, 0));
        SAY(cudaGetLastError());
        SAY(cudaGetLastError());
    }
}

static void shared_memory()
{
    for (int n = 0; n < 3; n++)
        for (int kib = 1; kib <= 300; kib = 2 * kib + 20) {
            shares<<<1, 32, kib * 1024>>>(d, kib * 256);
            SAY(cudaGetLastError());
            fetch(1);
            if (n)
                SAY(cudaFuncSetAttribute(shares, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                         n == 1 ? 100 * 1024 : 2048));
        }
}

static int throws(int n)
{
    if (n)
        throw n;
    return n;
}

/* The shapes of launches that did not come to be are in the way of none. */
static void arguments_that_throw()
{
    SAY(cudaMemset(d, 0, 4));
    for (int n = 100; n >= 0; n--) {
        try {
            bounded<<<1, 1>>>(d + throws(n));
        } catch (int) {
        }
    }
    fetch(1);
    printf("after launches that threw: %d\n", h[0]);
}

static void of_streams()
{
    cudaStream_t stream;
    SAY(cudaStreamCreate(&stream));
    SAY(cudaMemset(d, 0, 4));
    for (int n = 0; n < 4; n++) {
        bounded<<<1, 1, 0, stream>>>(d);
        bounded<<<1, 1>>>(d);
        bounded<<<1, 1, 0, cudaStreamPerThread>>>(d);
        bounded<<<1, 1, 0, cudaStreamLegacy>>>(d);
        SAY(cudaDeviceSynchronize());
        fetch(1);
    }
    cudaGraph_t graph;
    cudaGraphExec_t made;
    SAY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    bounded<<<1, 1, 0, stream>>>(d);
    bounded<<<1, 1>>>(d); // which would wait for it
    SAY(cudaGetLastError());
    SAY(cudaStreamEndCapture(stream, &graph));
    SAY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    bounded<<<1, 1, 0, stream>>>(d);
    SAY(cudaStreamEndCapture(stream, &graph));
    SAY(cudaGraphInstantiate(&made, graph, 0));
    fetch(1);
    for (int n = 0; n < 3; n++) {
        SAY(cudaGraphLaunch(made, 0));
        bounded<<<1, 1>>>(d);
        fetch(1);
    }
    SAY(cudaStreamDestroy(stream));
    cudaGetLastError();
}

static void at_once()
{
    std::vector<std::thread> threads;
    std::vector<long> wrong(8);
    const int rounds = getenv("GRIDLANE_NATIVE") ? 50 : 300; /* Python is not what is tried */
    for (int n = 0; n < 8; n++)
        threads.emplace_back([n, rounds, &wrong] {
            int *own, value = 0, zero = 0;
            cudaMalloc(&own, 4);
            cudaMemcpy(own, &zero, 4, cudaMemcpyHostToDevice);
            for (int i = 1; i <= rounds; i++) {
                bounded<<<1, 1>>>(own);
                wrong[n] += cudaMemcpy(&value, own, 4, cudaMemcpyDeviceToHost) || value != i;
            }
            cudaFree(own);
        });
    for (auto &each : threads)
        each.join();
    for (long each : wrong)
        printf("wrong %ld\n", each);
}

static const char *text(int n)
{
    static char made[500];
    snprintf(made, sizeof made,
             ".version 8.0\n.target sm_80\n.address_size 64\n"
             ".visible .entry sets(.param .u64 p) { .reg .b64 %%rd<2>; ld.param.u64 %%rd1, [p]; "
             "st.global.u32 [%%rd1], %d; ret; }\n",
             n);
    return made;
}

static void modules()
{
    CUfunction sets, before = nullptr;
    for (int n = 0; n < 5; n++) {
        CUmodule module;
        void *arguments[] = { &d };
        SAY(cuModuleLoadData(&module, text(n)));
        SAY(cuModuleGetFunction(&sets, module, "sets"));
        for (int i = 0; i < 3; i++)
            SAY(cuLaunchKernel(sets, 1, 1, 1, 1, 1, 1, 0, 0, arguments, nullptr));
        fetch(1);
        if (before)
            SAY(cuLaunchKernel(before, 1, 1, 1, 1, 1, 1, 0, 0, arguments, nullptr));
        size_t size = sizeof d;
        void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &d, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                          CU_LAUNCH_PARAM_END };
        SAY(cuLaunchKernel(sets, 1, 1, 1, 1, 1, 1, 0, 0, nullptr, extra));
        SAY(cuLaunchKernel(sets, 1, 1, 1, 1, 1, 1, 0, 0, arguments, extra));
        SAY(cuModuleUnload(module));
        SAY(cuLaunchKernel(sets, 1, 1, 1, 1, 1, 1, 0, 0, arguments, nullptr));
        before = sets;
        CUcontext made;
        SAY(cuCtxCreate(&made, nullptr, 0, 0));
        counts<<<1, 1>>>(); // the other context's counter
        counts<<<1, 1>>>();
        int value;
        SAY(cudaMemcpyFromSymbol(&value, counter, sizeof value));
        printf("%d\n", value);
        SAY(cuCtxDestroy(made));
        SAY(cudaSetDevice(0));
    }
}

int main()
{
    setvbuf(stdout, nullptr, _IOLBF, 0);
    SAY(cudaMalloc(&d, sizeof h));
    parameters();
    shapes();
    shared_memory();
    arguments_that_throw();
    of_streams();
    at_once();
    modules();
    for (int n = 0; n < 3; n++) {
        prints<<<2, 2>>>(10 * n);
        SAY(cudaMemset(d, 0, 4));
        allocates<<<5, 1>>>(d);
        fetch(1);
    }
    unsigned long long *p, ids[3];
    SAY(cudaMalloc(&p, sizeof *p));
    for (int n = 0; n < 3; n++) {
        numbered<<<1, 1>>>(p);
        SAY(cudaMemcpy(&ids[n], p, sizeof *p, cudaMemcpyDefault));
        printf("%d\n", n && ids[n] > ids[n - 1]);
    }
    for (int round = 0; round < 2; round++) {
        for (int n = 0; n < 5; n++) {
            asserts<<<1, 1>>>(n);
            SAY(cudaGetLastError());
            SAY(cudaPeekAtLastError());
        }
        SAY(cudaDeviceSynchronize());
        counts<<<1, 1>>>();
        SAY(cudaGetLastError());
        SAY(cudaDeviceReset());
        SAY(cudaGetLastError());
        asserts<<<1, 1>>>(1);
        SAY(cudaDeviceSynchronize());
    }
    return 0;
}
