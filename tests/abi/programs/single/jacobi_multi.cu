// An iterative solver in the style of mini-applications: structures of pointers, error norms, swaps.
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <time.h>
#include <unistd.h>
#include <getopt.h>
#ifdef DOUBLE
typedef double real;
#else
typedef float real;
#endif
#define IDX(i, j, n) ((i) * (n) + (j))
#define BLOCK 16
typedef struct { real *a, *b; double *error; int n; } Solver;
__device__ double blockReduceMax(double v)
{
    static __shared__ double shared[32];
    int lane = threadIdx.x % warpSize, wid = threadIdx.x / warpSize;
    for (int mask = warpSize / 2; mask > 0; mask /= 2) v = fmax(v, __shfl_xor_sync(0xffffffff, v, mask));
    if (lane == 0) shared[wid] = v;
    __syncthreads();
    v = threadIdx.x < blockDim.x / warpSize ? shared[lane] : 0;
    if (wid == 0) for (int mask = warpSize / 2; mask > 0; mask /= 2) v = fmax(v, __shfl_xor_sync(0xffffffff, v, mask));
    return v;
}
__device__ double atomicMaxDouble(double *address, double val)
{
    unsigned long long int *as = (unsigned long long int *)address, old = *as, assumed;
    do {
        assumed = old;
        if (__longlong_as_double(assumed) >= val) break;
        old = atomicCAS(as, assumed, __double_as_longlong(val));
    } while (assumed != old);
    return __longlong_as_double(old);
}
__global__ void __launch_bounds__(BLOCK *BLOCK) step(Solver s)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x + 1, i = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (i < s.n - 1 && j < s.n - 1)
        s.b[IDX(i, j, s.n)] = (real)0.25 * (s.a[IDX(i - 1, j, s.n)] + s.a[IDX(i + 1, j, s.n)] + s.a[IDX(i, j - 1, s.n)] + s.a[IDX(i, j + 1, s.n)]);
}
__global__ void difference(const Solver s)
{
    double worst = 0;
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < s.n * s.n; k += gridDim.x * blockDim.x) worst = fmax(worst, fabs((double)s.a[k] - s.b[k]));
    worst = blockReduceMax(worst);
    if (threadIdx.x == 0) atomicMaxDouble(s.error, worst);
}
static void usage(const char *name) { fprintf(stderr, "usage: %s [-n size]\n", name); exit(2); }
int main(int argc, char *argv[])
{
    int n = 34, c, steps = 0;
    while ((c = getopt(argc, argv, "n:")) != -1) { if (c == 'n') n = atoi(optarg); else usage(argv[0]); }
    size_t bytes = n * n * sizeof(real);
    real *h = (real *)calloc(n * n, sizeof(real)), *g = (real *)calloc(n * n, sizeof(real)), *r = (real *)malloc(bytes);
    for (int j = 0; j < n; j++) h[j] = g[j] = 1;
    Solver s;
    s.n = n;
    cudaMalloc(&s.a, bytes); cudaMalloc(&s.b, bytes); cudaMallocManaged(&s.error, sizeof(double));
    cudaMemcpy(s.a, h, bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(s.b, h, bytes, cudaMemcpyDefault);
    dim3 block(BLOCK, BLOCK), grid((n + BLOCK - 1) / BLOCK, (n + BLOCK - 1) / BLOCK);
    double tolerance = 1e-2;
    do {
        *s.error = 0;
        step<<<grid, block>>>(s);
        difference<<<4, 128>>>(s);
        cudaDeviceSynchronize();
        real *t = s.a; s.a = s.b; s.b = t;
        for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++) g[IDX(i, j, n)] = (real)0.25 * (h[IDX(i - 1, j, n)] + h[IDX(i + 1, j, n)] + h[IDX(i, j - 1, n)] + h[IDX(i, j + 1, n)]);
        t = h; h = g; g = t;
    } while (*s.error > tolerance && ++steps < 200);
    cudaMemcpy(r, s.a, bytes, cudaMemcpyDeviceToHost);
    int wrong = steps < 3 || steps >= 200;
    for (int k = 0; k < n * n; k++) wrong += fabs((double)r[k] - h[k]) > 1e-6;
    puts(wrong ? "FAIL" : "PASS");
    return wrong;
}
