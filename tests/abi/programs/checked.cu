// Each mode launches one kernel: of good ones all values are printed; of bad ones the error.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

__device__ int table[32];
__constant__ int factors[4] = {1, 2, 3, 4};

struct Slice {
    int *start;
    int count;
};

__global__ void fill(int *x, int by)
{
    x[threadIdx.x + by] = threadIdx.x; // fill
}
__global__ void slices(const Slice *parts, int *sums)
{
    int sum = 0;
    for (int i = 0; i < parts[threadIdx.x].count; i++)
        sum += parts[threadIdx.x].start[i]; // slices
    sums[threadIdx.x] = sum;
}
__global__ void everywhere(int *x, int n)
{
    extern __shared__ int given[];
    __shared__ int own[32];
    int *mine = (int *)malloc(n * sizeof(int)), local[8];
    const int *either = n & 1 ? own : given;
    for (int i = 0; i < n; i++)
        mine[i] = i, local[i & 7] = i * factors[i & 3];
    own[threadIdx.x] = table[threadIdx.x] + 1;
    given[threadIdx.x] = mine[n - 1];
    __syncthreads();
    int sum = 0;
    for (const int *p = own; p < own + 32; p++)
        sum += *p;
    x[threadIdx.x] = sum + given[31 - threadIdx.x] + local[threadIdx.x & 7] + either[0];
    free(mine);
}

static void print(const int *x, int count)
{
    int sum = 0;
    for (int i = 0; i < count; i++)
        sum += x[i];
    printf("%d\n", sum);
}

int main(int count, char **words)
{
    int mode = atoi(words[1]), *x, *host;
    cudaMalloc(&x, 32 * sizeof(int));
    if (mode == 1) // each kind of memory
    {
        fill<<<1, 32>>>(x, 0);
        cudaMallocHost(&host, 32 * sizeof(int));
        fill<<<1, 32>>>(host, 0);
        cudaDeviceSynchronize();
        print(host, 32);
        cudaMallocManaged(&host, 32 * sizeof(int));
        fill<<<1, 32>>>(host, 0);
        cudaDeviceSynchronize();
        print(host, 32);
        host = (int *)malloc(32 * sizeof(int));
        cudaHostRegister(host, 32 * sizeof(int), cudaHostRegisterMapped);
        fill<<<1, 32>>>(host, 0);
        cudaDeviceSynchronize();
        print(host, 32);
        everywhere<<<1, 32, 128>>>(host, 16);
        cudaDeviceSynchronize();
        print(host, 32);
        Slice parts[] = {{x, 32}, {host, 16}, {x + 16, 16}}, *there;
        cudaMalloc(&there, sizeof parts);
        cudaMemcpy(there, parts, sizeof parts, cudaMemcpyHostToDevice);
        int *sums, found[3];
        cudaMalloc(&sums, sizeof found);
        fill<<<1, 32>>>(host, 0);
        slices<<<1, 3>>>(there, sums);
        cudaMemcpy(found, sums, sizeof found, cudaMemcpyDeviceToHost);
        print(found, 3);
    } else if (mode == 2) // behind the end
        fill<<<2, 32>>>(x, 1);
    else if (mode == 3) // null
        fill<<<1, 32>>>(nullptr, 0);
    else if (mode == 4) // freed
    {
        cudaMalloc(&host, 1 << 20);
        fill<<<1, 32>>>(host, 0);
        cudaDeviceSynchronize();
        cudaFree(host);
        fill<<<1, 32>>>(host, 0);
    } else // 1 GiB away, in memory of the process
        fill<<<1, 32>>>(x, 1 << 28);
    puts(cudaGetErrorName(cudaDeviceSynchronize()));
}
