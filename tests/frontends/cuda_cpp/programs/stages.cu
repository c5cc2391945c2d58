// Barriers and pipelines of cuda/barrier and cuda/pipeline.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>

namespace cg = cooperative_groups;
using barrier = cuda::barrier<cuda::thread_scope_block>;

extern "C" __global__ void reversed(const int *in, int *out, int times)
{
    __shared__ int tile[64];
    __shared__ barrier ready, done;
    cg::thread_block block = cg::this_thread_block();
    if (block.thread_rank() == 0) {
        init(&ready, block.size());
        init(&done, block.size());
    }
    block.sync();
    for (int n = 0; n < times; n++) {
        cuda::memcpy_async(&tile[threadIdx.x], &in[64 * n + threadIdx.x], sizeof(int), ready);
        barrier::arrival_token token = ready.arrive();
        ready.wait(std::move(token));
        out[64 * n + threadIdx.x] = tile[63 - threadIdx.x];
        done.arrive_and_wait();
    }
}

// All threads copy and compute.
extern "C" __global__ void staged(const float *in, float *out, int parts)
{
    __shared__ float tile[2][64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    float sum = 0;
    for (int now = 0, next = 0; now < parts; now++) {
        for (; next < parts && next < now + 2; next++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, tile[next % 2], in + 64 * next,
                               cuda::aligned_size_t<16>(sizeof(float) * 64), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum = sum * 2 + tile[now % 2][63 - threadIdx.x];
        pipe.consumer_release();
    }
    out[threadIdx.x] = sum;
}

// Copies of a thread's own.
extern "C" __global__ void alone(const int *in, int *out)
{
    __shared__ int tile[64];
    auto pipe = cuda::make_pipeline();
    pipe.producer_acquire();
    cuda::memcpy_async(tile + threadIdx.x, in + threadIdx.x, sizeof(int), pipe);
    pipe.producer_commit();
    pipe.consumer_wait();
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x ^ 1];
    pipe.consumer_release();
}

int main() { alone<<<1, 64>>>(nullptr, nullptr); }
