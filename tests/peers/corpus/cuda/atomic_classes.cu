// cuda::atomic, cuda::barrier, pipelines.
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda_pipeline.h>

extern "C" __global__ void atomic_class(int *x, int *y)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> total(*x);
    int old = total.fetch_add(threadIdx.x, cuda::std::memory_order_relaxed);
    y[threadIdx.x] = old >= 0;
    __syncthreads();
    if (threadIdx.x == 0)
        y[0] = total.load(cuda::std::memory_order_acquire);
}

extern "C" __global__ void exchanged(int *x, int *y)
{
    cuda::atomic_ref<int, cuda::thread_scope_block> most(*x);
    int seen = most.load();
    while (seen < y[threadIdx.x] && !most.compare_exchange_weak(seen, y[threadIdx.x]))
        ;
}

extern "C" __global__ void barrier_class(const int *x, int *y)
{
    __shared__ int s[64];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (threadIdx.x == 0)
        init(&bar, blockDim.x);
    __syncthreads();
    s[threadIdx.x] = x[threadIdx.x];
    bar.arrive_and_wait();
    y[threadIdx.x] = s[63 - threadIdx.x];
}

extern "C" __global__ void pipelined(const int *x, int *y)
{
    __shared__ int s[64];
    __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    y[threadIdx.x] = s[63 - threadIdx.x];
}
