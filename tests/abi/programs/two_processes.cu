// Memory and an event that two processes share: the second reads the handles from its standard input.
#include <cstdio>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>
#define CHECK(call) { cudaError_t e = call; if (e) { printf("%s:%d: %s\n", #call, __LINE__, cudaGetErrorString(e)); return 1; } }
__global__ void add(int *x, int n) { atomicAdd(&x[threadIdx.x], n); }
struct Handles { cudaIpcMemHandle_t memory; cudaIpcEventHandle_t event; };
int main(int count, char **words) {
    cudaStream_t stream; CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    Handles h; int *x; cudaEvent_t event;
    if (count > 1) {  // the child: handles come from standard input
        if (read(0, &h, sizeof h) != sizeof h) return 2;
        CHECK(cudaIpcOpenMemHandle((void **)&x, h.memory, cudaIpcMemLazyEnablePeerAccess));
        CHECK(cudaIpcOpenEventHandle(&event, h.event));
        CHECK(cudaStreamWaitEvent(stream, event, 0));
        add<<<1, 32, 0, stream>>>(x, 5);
        CHECK(cudaEventRecord(event, stream));
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaEventDestroy(event));
        CHECK(cudaIpcCloseMemHandle(x));
        printf("%d\n", cudaIpcCloseMemHandle(x));
        return 0;
    }
    const size_t size = 1 << 20;
    CHECK(cudaMalloc(&x, size));
    CHECK(cudaMemset(x, 0, size));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
    CHECK(cudaIpcGetMemHandle(&h.memory, x));
    CHECK(cudaIpcGetEventHandle(&h.event, event));
    add<<<1, 32, 0, stream>>>(x, 100);
    CHECK(cudaEventRecord(event, stream));
    int pipes[2];
    if (pipe(pipes)) return 3;
    if (!fork()) { dup2(pipes[0], 0); execl("/proc/self/exe", words[0], "child", (char *)0); _exit(4); }
    if (write(pipes[1], &h, sizeof h) != sizeof h) return 5;
    int status = 0, y[32];
    wait(&status);
    CHECK(cudaEventSynchronize(event));
    CHECK(cudaMemcpy(y, x, sizeof y, cudaMemcpyDeviceToHost));
    void *again;
    printf("%d %d %d %d %d %d\n", status, y[0], y[31], cudaEventQuery(event), cudaIpcOpenMemHandle(&again, h.memory, 1) != 0, cudaIpcCloseMemHandle(x));
    CHECK(cudaFree(x));
    cudaEvent_t other; CHECK(cudaEventCreate(&other));
    printf("%d %d\n", cudaIpcGetEventHandle(&h.event, other) != 0, cudaEventCreateWithFlags(&other, cudaEventInterprocess) != 0);
}
