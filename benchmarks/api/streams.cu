/* Threads that each launch on a stream of their own: launches in a second by one, two, four and
 * eight threads, for a kernel of one block that takes some 0.1 ms, and for one of 64 such blocks. */
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

__global__ void work(float *x, int rounds)
{
    float value = threadIdx.x;
    for (int n = 0; n < rounds; n++)
        value = value * 0.999f + 0.5f;
    x[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

static double second(int threads, int blocks, int launches)
{
    std::vector<std::thread> all;
    std::vector<cudaStream_t> streams(threads);
    std::vector<float *> memory(threads);
    for (int n = 0; n < threads; n++) {
        cudaStreamCreateWithFlags(&streams[n], cudaStreamNonBlocking);
        cudaMalloc(&memory[n], 64 * 128 * sizeof(float));
        work<<<blocks, 128, 0, streams[n]>>>(memory[n], 10);
    }
    cudaDeviceSynchronize();
    auto start = std::chrono::steady_clock::now();
    for (int n = 0; n < threads; n++)
        all.emplace_back([=] {
            for (int each = 0; each < launches; each++)
                work<<<blocks, 128, 0, streams[n]>>>(memory[n], 6000);
            cudaStreamSynchronize(streams[n]);
        });
    for (auto &each : all)
        each.join();
    double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    for (int n = 0; n < threads; n++) {
        cudaStreamDestroy(streams[n]);
        cudaFree(memory[n]);
    }
    return threads * launches / took;
}

int main()
{
    for (int blocks : {1, 64})
        for (int threads : {1, 2, 4, 8}) {
            double best = 0;
            for (int run = 0; run < 3; run++) {
                double now = second(threads, blocks, blocks == 1 ? 1000 : 40);
                best = now > best ? now : best;
            }
            printf("%d %d %.0f\n", blocks, threads, best);
        }
    return cudaGetLastError();
}
