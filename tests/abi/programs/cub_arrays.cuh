// Arrays of a device that programs print, and calls with the temporary memory that they ask for.
#pragma once
#include <cstdio>
#include <vector>
#define CHECK(call) { cudaError_t e = call; if (e) { printf("%d: %s\n", __LINE__, cudaGetErrorString(e)); return 1; } }
#define TWICE(call) { size_t bytes = 0; void *memory = nullptr; CHECK(call); CHECK(cudaMalloc(&memory, bytes)); CHECK(call); CHECK(cudaDeviceSynchronize()); CHECK(cudaFree(memory)); }
template <typename T> struct Array {
    T *p;
    Array(const std::vector<T> &v) { cudaMalloc(&p, v.size() * sizeof(T)); cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice); }
    void show(const char *name, int n) {
        std::vector<T> v(n);
        cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost);
        printf("%s:", name);
        for (T each : v) printf(" %g", (double)each);
        printf("\n");
    }
};
