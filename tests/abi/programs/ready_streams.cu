/* A process that C begins alone, and that launches on a stream of its own: how many kernels Python
 * left C a plan of by then. */
#include "common.h"
#include <dlfcn.h>

__global__ void add(int *x)
{
    *x += 1;
}

int main()
{
    int *x, host = 0;
    cudaStream_t stream;
    CHECK(cudaMalloc(&x, sizeof *x));
    CHECK(cudaMemcpy(x, &host, sizeof host, cudaMemcpyHostToDevice));
    add<<<1, 1>>>(x);
    CHECK(cudaDeviceSynchronize());
    printf("Python has begun: %d\n", dlsym(RTLD_DEFAULT, "PyGILState_Ensure") != NULL), fflush(stdout);
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaStream_t other;
    cudaEvent_t event, last;
    float ms;
    CHECK(cudaStreamCreateWithPriority(&other, 0, -2));
    CHECK(cudaEventCreate(&event));
    CHECK(cudaEventCreate(&last));
    CHECK(cudaEventRecord(event, 0));
    CHECK(cudaMemcpyAsync(&host, x, sizeof host, cudaMemcpyDeviceToHost, other));
    CHECK(cudaEventRecord(last, other));
    CHECK(cudaStreamWaitEvent(stream, last, 0));
    CHECK(cudaStreamWaitEvent(0, last, 0));
    CHECK(cudaStreamSynchronize(other));
    CHECK(cudaEventQuery(last));
    CHECK(cudaEventElapsedTime(&ms, event, last));
    EXPECT(host == 1 && ms > 0);
    CHECK(cudaEventRecord(event, stream));
    CHECK(cudaEventDestroy(last));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaStreamCreate(&stream));
    printf("and now: %d\n", dlsym(RTLD_DEFAULT, "PyGILState_Ensure") != NULL), fflush(stdout);
    for (int n = 0; n < 3; n++) /* and no other call, which would tell the thread what it may do */
        add<<<1, 1, 0, stream>>>(x);
    int (*ensure)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "PyGILState_Ensure");
    void (*release)(int) = (void (*)(int))dlsym(RTLD_DEFAULT, "PyGILState_Release");
    int (*run)(const char *) = (int (*)(const char *))dlsym(RTLD_DEFAULT, "PyRun_SimpleString");
    int state = ensure();
    run("from gridlane.abi.library import hot_launches\n"
        "known = hot_launches._known.values()\n"
        "print('plans:', sum(each.plan.usable for each in known), flush=True)");
    release(state);
    unsigned flags;
    int priority;
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamGetFlags(stream, &flags));
    CHECK(cudaStreamGetPriority(other, &priority));
    EXPECT(flags == 0 && priority == -2);
    CHECK(cudaEventElapsedTime(&ms, event, event)); /* which Python may not know yet */
    CHECK(cudaEventRecordWithFlags(event, other, 0));
    CHECK(cudaEventSynchronize(event));
    EXPECT(cudaEventQuery(last) == cudaErrorInvalidResourceHandle);
    CHECK(cudaMemcpy(&host, x, sizeof host, cudaMemcpyDeviceToHost));
    printf("%d\n", host);
    return 0;
}
