// Kernels that launch kernels; test_device_launches.py has what they compute.
#include <assert.h>
#include <cooperative_groups.h>

__global__ void add(int *x, int v) { atomicAdd(x, v + (int)threadIdx.x); }

__global__ void append(int *log, int *count, int v) { log[(*count)++] = v; }

__global__ void copied(int *to, int *from) { *to = *from; }

// Every thread launches; x[1] is x[0] after all else.
extern "C" __global__ void every(int *x) {
    add<<<dim3(2, 3), 4, 16>>>(x, 7);
    copied<<<1, 1, 0, cudaStreamTailLaunch>>>(x + 1, x);
    add<<<1, 4, 0, cudaStreamFireAndForget>>>(x, 9);
}

// Nested launches come before what follows their parent.
__global__ void middle(int *log, int *count, int v) {
    append<<<1, 1, 0, cudaStreamTailLaunch>>>(log, count, v + 3);
    append<<<1, 1>>>(log, count, v + 1);
    append<<<1, 1>>>(log, count, v + 2);
    log[(*count)++] = v;
}

extern "C" __global__ void nested(int *log, int *count) {
    cudaStream_t stream;
    cudaEvent_t event;
    cudaStreamCreateWithFlags(&stream, 1);
    cudaEventCreateWithFlags(&event, 2);
    middle<<<1, 1, 0, stream>>>(log, count, 10);
    cudaEventRecord(event, stream);
    cudaStreamWaitEvent(stream, event, 0);
    middle<<<1, 1, 0, stream>>>(log, count, 20);
    cudaEventDestroy(event);
    cudaStreamDestroy(stream);
}

extern "C" __global__ void deep(int *x, int n) {
    x[n] = n;
    if (n > 0) deep<<<1, 1>>>(x, n - 1);
}

extern "C" __global__ void chain(int *x, int n) {
    *x += n;
    if (n > 0) chain<<<1, 1, 0, cudaStreamTailLaunch>>>(x, n - 1);
}

// Quicksort by halves of one thread each.
extern "C" __global__ void sort(int *x, int first, int last) {
    if (first >= last) return;
    int pivot = x[(first + last) / 2], i = first, j = last;
    while (i <= j) {
        while (x[i] < pivot) i++;
        while (x[j] > pivot) j--;
        if (i <= j) {
            int held = x[i];
            x[i++] = x[j];
            x[j--] = held;
        }
    }
    sort<<<1, 1>>>(x, first, j);
    sort<<<1, 1>>>(x, i, last);
}

extern "C" __global__ void many(int *x, int *errors, int n) {
    for (int k = 0; k < n; k++) add<<<1, 1>>>(x, 1);
    errors[0] = cudaPeekAtLastError();
    errors[1] = cudaGetLastError();
    errors[2] = cudaGetLastError();
}

extern "C" __global__ void wrong(int *x, int *errors, int threads, int blocks) {
    add<<<blocks, threads>>>(x, 1);
    errors[0] = cudaGetLastError();
}

extern "C" __global__ void moves(int *x, int *y) {
    cudaMemsetAsync(x, 5, 8, 0);
    add<<<1, 1>>>(x, 1);
    cudaMemcpyAsync(y, x, 8, cudaMemcpyDeviceToDevice, 0);
    add<<<1, 1>>>(x, 1);
}

extern "C" __global__ void owned(int *x) {
    int *p = 0;
    x[0] = cudaMalloc((void **)&p, 4);
    *p = 41;
    copied<<<1, 1>>>(x + 1, p);
}

__global__ void stops(int *x) { assert(x[0] == 1); }

extern "C" __global__ void child_stops(int *x) { stops<<<1, 1>>>(x); }

extern "C" __global__ void meets(int *x) {
    cooperative_groups::this_grid().sync();
    add<<<1, 1>>>(x, 1);
}

struct Pair { double a; char b; };

__global__ void mixed(char a, double b, Pair c, short d, double *out) {
    out[0] = a + b + c.a + c.b + d;
}

extern "C" __global__ void parameters(double *out) {
    mixed<<<1, 1>>>(1, 0.5, Pair{0.25, 3}, -7, out);
}
