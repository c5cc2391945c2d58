/* Open the libraries, leave streams with work, an event and memory of a pool, and close them while a
 * kernel runs; again with the other runtime. */
#define _GNU_SOURCE
#include "hostile.h"

#include <dlfcn.h>

#define GET(library, name) __typeof__(name) *own_##name = (__typeof__(name) *)dlsym(library, #name)

static void leave(const char *name)
{
    void *runtime = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    EXPECT(runtime && driver, 1);
    GET(runtime, cudaMalloc);
    GET(runtime, cudaStreamCreateWithFlags);
    GET(runtime, cudaMallocAsync);
    GET(runtime, cudaStreamWaitEvent);
    GET(driver, cuInit);
    GET(driver, cuModuleLoadData);
    GET(driver, cuModuleGetFunction);
    GET(driver, cuLaunchKernel);
    GET(driver, cuEventCreate);
    GET(driver, cuEventRecord);
    CUmodule module;
    CUfunction add, wait;
    cudaStream_t stream[3];
    CUevent event;
    unsigned *counter, *flag;
    void *more, *counts[] = { &counter }, *waits[] = { &flag };
    CHECK(own_cuInit(0));
    CHECK(own_cudaMalloc((void **)&counter, 4));
    CHECK(own_cudaMalloc((void **)&flag, 4));
    CHECK(own_cuModuleLoadData(&module, text));
    CHECK(own_cuModuleGetFunction(&add, module, "add"));
    CHECK(own_cuModuleGetFunction(&wait, module, "wait"));
    CHECK(own_cuEventCreate(&event, 0));
    *flag = 0; /* the device's memory is the host's */
    for (int n = 0; n < 3; n++) {
        CHECK(own_cudaStreamCreateWithFlags(&stream[n], cudaStreamNonBlocking));
        for (int k = 0; k < 5; k++)
            CHECK(own_cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, stream[n], counts, NULL));
    }
    CHECK(own_cudaMallocAsync(&more, 1000, stream[0]));
    CHECK(own_cuLaunchKernel(wait, 1, 1, 1, 1, 1, 1, 0, stream[1], waits, NULL));
    CHECK(own_cuEventRecord(event, stream[1]));
    CHECK(own_cudaStreamWaitEvent(stream[2], event, 0));
    CHECK(own_cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, stream[2], counts, NULL));
    dlclose(runtime);
    dlclose(driver);
    *(volatile unsigned *)flag = 1;
}

int main(void)
{
    for (int n = 0; n < 3; n++)
        leave(n & 1 ? "libcudart.so.12" : "libcudart.so.13");
    puts("well");
    return 0;
}
