/* What a thread is told, and calls that make it old. All calls are made twice: the second one may be
 * answered by what the first one learned. */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define TWICE(call) \
    do {            \
        say(#call, call); \
        say(#call, call); \
    } while (0)

static const char *text =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry fails() { trap; ret; }\n.visible .entry works() { ret; }\n";

static void say(const char *what, int code)
{
    printf("%s: %d\n", what, code);
}

static void look(const char *where)
{
    CUcontext context = (CUcontext)7;
    CUdevice there = -7;
    int device = -7;
    printf("-- %s\n", where);
    for (int n = 0; n < 2; n++) {
        int first = cudaGetDevice(&device), second = cuCtxGetCurrent(&context);
        int third = cuCtxGetDevice(&there);
        printf("%d %d, %d %s, %d %d\n", first, device, second, context ? "some" : "none", third,
               there);
        printf("%d %d\n", cudaPeekAtLastError(), cudaPeekAtLastError());
    }
}

static void *new_thread(void *context)
{
    look("new thread");
    TWICE(cudaGetLastError());
    if (context) {
        TWICE(cuCtxSetCurrent(context));
        look("with a context");
        TWICE(cuCtxDestroy(context));
        look("without it");
    } else {
        TWICE(cudaSetDevice(0));
        TWICE(cudaSetDevice(3));
        look("with a device");
        TWICE(cudaGetLastError());
        TWICE(cudaDeviceReset());
        look("after its reset");
    }
    return 0;
}

static void in_thread(void *context)
{
    pthread_t thread;
    pthread_create(&thread, 0, new_thread, context);
    pthread_join(thread, 0);
}

static void errors(void)
{
    void *p = 0;
    TWICE(cudaMalloc(&p, (size_t)1 << 62));
    look("an error");
    TWICE(cudaSetDevice(0)); /* success keeps it */
    TWICE(cudaPeekAtLastError());
    TWICE(cudaGetLastError());
    TWICE(cudaSetDevice(9));
    TWICE(cudaSetDevice(0));
    in_thread(0); /* which has none of it */
    look("the error of this thread");
    TWICE(cudaGetLastError());
    TWICE(cudaGetDevice(0));
    TWICE(cudaGetLastError());
}

static void stack(void)
{
    CUcontext first, second, found;
    TWICE(cudaSetDevice(0));
    say("create", cuCtxCreate(&first, 0, 0, 0));
    look("a context of the driver");
    say("create", cuCtxCreate(&second, 0, 0, 0));
    for (int n = 0; n < 3; n++) {
        say("current", cuCtxGetCurrent(&found));
        printf("second %d\n", found == second);
    }
    say("pop", cuCtxPopCurrent(&found));
    say("current", cuCtxGetCurrent(&found));
    printf("first %d\n", found == first);
    TWICE(cuCtxPushCurrent(second));
    in_thread(second); /* destroys it, where it is current here */
    look("a context that another thread destroyed");
    TWICE(cudaSetDevice(0));
    look("the device again");
    TWICE(cuCtxSetCurrent(first));
    TWICE(cuCtxDestroy(first));
    look("its own destroyed");
    TWICE(cuCtxSetCurrent(0));
    look("none");
}

static void fault(const char *kernel)
{
    CUmodule module;
    CUfunction function;
    TWICE(cudaSetDevice(0));
    TWICE(cudaFree(0));
    say("load", cuModuleLoadData(&module, text));
    say("function", cuModuleGetFunction(&function, module, kernel));
    for (int n = 0; n < 3; n++)
        say("launch", cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0));
    TWICE(cudaDeviceSynchronize());
    look(kernel);
    TWICE(cudaGetLastError());
    TWICE(cudaSetDevice(0));
    in_thread(0);
    look("reset by another thread");
    TWICE(cudaGetLastError());
    TWICE(cudaDeviceReset());
    TWICE(cudaGetLastError());
}

int main(void)
{
    setvbuf(stdout, 0, _IONBF, 0);
    TWICE(cudaGetLastError());
    look("before all");
    TWICE(cuInit(0));
    look("begun");
    errors();
    stack();
    fault("works");
    fault("fails");
    TWICE(cudaFree(0));
    look("before a fork");
    pid_t child = fork();
    if (!child) {
        look("in the child");
        TWICE(cudaGetLastError());
        TWICE(cudaSetDevice(0));
        _exit(0);
    }
    waitpid(child, 0, 0);
    look("after it");
    return 0;
}
