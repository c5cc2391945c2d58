#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/time.h>
#include <chrono>
#include <string>
#ifndef STEPS
#define STEPS 4
#endif
typedef double REAL;
__global__ __launch_bounds__(256) void jacobi(const REAL *__restrict__ f, REAL *fn, int nx, int ny, int nz, REAL cc, REAL ce)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x, j = blockDim.y * blockIdx.y + threadIdx.y;
    int c = i + j * nx, xy = nx * ny;
    if (i >= nx || j >= ny) return;
    for (int k = 0; k < nz; ++k, c += xy) {
        int w = i == 0 ? c : c - 1, e = i == nx - 1 ? c : c + 1, n = j == 0 ? c : c - nx;
        int s = j == ny - 1 ? c : c + nx, b = k == 0 ? c : c - xy, t = k == nz - 1 ? c : c + xy;
        fn[c] = cc * __ldg(&f[c]) + ce * (f[w] + f[e] + f[s] + f[n] + f[b] + f[t]);
    }
}
static double now() { struct timeval tv; gettimeofday(&tv, NULL); return tv.tv_sec + 1e-6 * tv.tv_usec; }
int main(int argc, char **argv)
{
    int nx = argc > 1 ? std::stoi(argv[1]) : 20, ny = 18, nz = 9;
    size_t bytes = sizeof(REAL) * nx * ny * nz;
    REAL *h = (REAL *)malloc(bytes), *g = (REAL *)malloc(bytes), *r = (REAL *)malloc(bytes), *d[2];
    for (int i = 0; i < nx * ny * nz; i++) h[i] = (i * 37 % 64) / 64.0;
    memcpy(r, h, bytes);
    for (auto &p : d) cudaMalloc((void **)&p, bytes);
    cudaMemcpy(d[0], h, bytes, cudaMemcpyHostToDevice);
    double start = now();
    auto t0 = std::chrono::steady_clock::now();
    cudaFuncSetCacheConfig(jacobi, cudaFuncCachePreferL1);
    for (int t = 0; t < STEPS; t++) {
        dim3 block(16, 16, 1), grid((nx + 15) / 16, (ny + 15) / 16);
        jacobi<<<grid, block>>>(d[0], d[1], nx, ny, nz, 0.25, 0.125);
        REAL *swap = d[0]; d[0] = d[1]; d[1] = swap;
        for (int k = 0; k < nz; k++) for (int j = 0; j < ny; j++) for (int i = 0; i < nx; i++) {
            auto at = [&](int x, int y, int z) { x = x < 0 ? 0 : x >= nx ? nx - 1 : x; y = y < 0 ? 0 : y >= ny ? ny - 1 : y; z = z < 0 ? 0 : z >= nz ? nz - 1 : z; return r[x + nx * (y + ny * z)]; };
            g[i + nx * (j + ny * k)] = 0.25 * at(i, j, k) + 0.125 * (at(i - 1, j, k) + at(i + 1, j, k) + at(i, j + 1, k) + at(i, j - 1, k) + at(i, j, k - 1) + at(i, j, k + 1));
        }
        memcpy(r, g, bytes);
    }
    cudaDeviceSynchronize();
    std::chrono::duration<double> spent = std::chrono::steady_clock::now() - t0;
    cudaMemcpy(h, d[0], bytes, cudaMemcpyDeviceToHost);
    bool ok = now() >= start && spent.count() >= 0 && !memcmp(h, r, bytes);
    printf("%s\n", ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
