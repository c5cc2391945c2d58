// Heat in a plate: each step takes a tile with its halo to shared memory.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define TILE 16
#define CHECK(call)                                                                        \
    do {                                                                                   \
        cudaError_t status = (call);                                                       \
        if (status != cudaSuccess) {                                                       \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            exit(EXIT_FAILURE);                                                            \
        }                                                                                  \
    } while (0)

__constant__ float weights[3] = {0.5f, 0.125f, 0.125f};

__global__ void __launch_bounds__(TILE *TILE) heat(const float *__restrict__ in,
                                                   float *__restrict__ out, int rows, int columns)
{
    __shared__ float tile[TILE + 2][TILE + 2];
    const int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    auto at = [&](int row, int column) {
        row = min(max(row, 0), rows - 1);
        column = min(max(column, 0), columns - 1);
        return __ldg(&in[row * columns + column]);
    };
    tile[ty][tx] = at(y, x);
    if (threadIdx.y == 0)
        tile[0][tx] = at(y - 1, x);
    if (threadIdx.y == TILE - 1)
        tile[TILE + 1][tx] = at(y + 1, x);
    if (threadIdx.x == 0)
        tile[ty][0] = at(y, x - 1);
    if (threadIdx.x == TILE - 1)
        tile[ty][TILE + 1] = at(y, x + 1);
    __syncthreads();
    if (x < columns && y < rows)
        out[y * columns + x] = weights[0] * tile[ty][tx] +
            weights[1] * (tile[ty - 1][tx] + tile[ty + 1][tx]) +
            weights[2] * (tile[ty][tx - 1] + tile[ty][tx + 1]);
}

int main(int argc, char **argv)
{
    int rows = argc > 1 ? atoi(argv[1]) : 512, columns = rows;
    size_t bytes = sizeof(float) * rows * columns;
    float *host = (float *)malloc(bytes), *a, *b;
    for (int i = 0; i < rows * columns; i++)
        host[i] = rand() / (float)RAND_MAX;
    CHECK(cudaMalloc((void **)&a, bytes));
    CHECK(cudaMalloc(&b, bytes));
    CHECK(cudaMemcpy(a, host, bytes, cudaMemcpyHostToDevice));
    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    CHECK(cudaEventRecord(start, 0));
    dim3 block(TILE, TILE), grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    for (int step = 0; step < 10; step++, std::swap(a, b))
        heat<<<grid, block>>>(a, b, rows, columns);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, start, stop));
    printf("%g ms\n", ms);
    cudaFree(a);
    cudaFree(b);
    return 0;
}
