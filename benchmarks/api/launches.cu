/* Nanoseconds of launches by the runtime, each the least of seven runs. */
#include <cstdio>
#include <ctime>

static double now()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * t.tv_sec + t.tv_nsec;
}
__global__ void empty(int *) {}

/* The least time of an iteration in seven runs, with a wait for the stream at the end of each. */
template <class Call> static void measure(const char *name, cudaStream_t stream, Call call)
{
    double least = 1e18;
    for (int run = 0; run < 7; run++) {
        double start = now();
        for (int n = 0; n < 500; n++)
            call();
        cudaStreamSynchronize(stream);
        double each = (now() - start) / 500;
        least = each < least ? each : least;
    }
    printf("%s %.1f\n", name, least);
}

static void on_own_stream(int *p)
{
    cudaStream_t own;
    cudaEvent_t before, after;
    cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    cudaEventCreate(&before);
    cudaEventCreate(&after);
    measure("launch-own", own, [=] { empty<<<1, 32, 0, own>>>(p); });
    measure("launch+synchronize-own", own, [=] {
        empty<<<1, 32, 0, own>>>(p);
        cudaStreamSynchronize(own);
    });
    measure("create+destroy-stream", own, [=] {
        cudaStream_t made;
        cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
        cudaStreamDestroy(made);
    });
    measure("create+destroy-event", own, [=] {
        cudaEvent_t made;
        cudaEventCreate(&made);
        cudaEventDestroy(made);
    });
    measure("launch+record-own", own, [=] {
        empty<<<1, 32, 0, own>>>(p);
        cudaEventRecord(after, own);
    });
    measure("record+launch+record+wait-own", own, [=] {
        cudaEventRecord(before, own);
        empty<<<1, 32, 0, own>>>(p);
        cudaEventRecord(after, own);
        cudaEventSynchronize(after);
    });
    cudaStream_t other;
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    measure("launch+record+wait-of-another-stream+launch", own, [=] {
        empty<<<1, 32, 0, other>>>(p);
        cudaEventRecord(before, other);
        cudaStreamWaitEvent(own, before, 0);
        empty<<<1, 32, 0, own>>>(p);
    });
    measure("launch+synchronize-device", own, [=] {
        empty<<<1, 32, 0, own>>>(p);
        cudaDeviceSynchronize();
    });
    measure("launch+memcpy-of-the-default-stream", own, [=] {
        int value;
        empty<<<1, 32, 0, own>>>(p);
        cudaMemcpy(&value, p, 4, cudaMemcpyDeviceToHost);
    });
    measure("launch+record+wait-of-the-default-stream", own, [=] {
        empty<<<1, 32, 0, own>>>(p);
        cudaEventRecord(before, own);
        cudaStreamWaitEvent(0, before, 0);
    });
    measure("create+launch+destroy-stream", own, [=] {
        cudaStream_t made;
        cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
        empty<<<1, 32, 0, made>>>(p);
        cudaStreamDestroy(made);
    });
    cudaStreamDestroy(other);
    cudaEventDestroy(before);
    cudaEventDestroy(after);
    cudaStreamDestroy(own);
}

int main()
{
    int *p;
    if (cudaMalloc(&p, 4))
        return 1;
    double least = 1e18, waited = 1e18;
    for (int run = 0; run < 7; run++) {
        double start = now();
        for (int n = 0; n < 2000; n++)
            empty<<<1, 32>>>(p);
        cudaDeviceSynchronize();
        double each = (now() - start) / 2000;
        least = each < least ? each : least;
        start = now();
        for (int n = 0; n < 2000; n++) {
            empty<<<1, 32>>>(p);
            cudaDeviceSynchronize();
        }
        each = (now() - start) / 2000;
        waited = each < waited ? each : waited;
    }
    printf("launch %.1f\nlaunch+synchronize %.1f\n", least, waited);
    on_own_stream(p);
    return cudaGetLastError();
}
