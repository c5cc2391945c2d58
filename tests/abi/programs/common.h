/* What the programs share: an error ends one with its line. */
#pragma once
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                          \
    do {                                                                                     \
        cudaError_t code = (call);                                                           \
        if (code != cudaSuccess) {                                                           \
            printf("line %d: %s: %s\n", __LINE__, #call, cudaGetErrorName(code));            \
            exit(1);                                                                         \
        }                                                                                    \
    } while (0)
#define EXPECT(what)                                                                         \
    do {                                                                                     \
        if (!(what)) {                                                                       \
            printf("line %d: not %s\n", __LINE__, #what);                                    \
            exit(1);                                                                         \
        }                                                                                    \
    } while (0)

template <class T> struct Device { /* an array on the device, copied there and back */
    T *p = nullptr;
    size_t n;
    explicit Device(const std::vector<T> &v) : n(v.size())
    {
        CHECK(cudaMalloc(&p, n * sizeof(T)));
        CHECK(cudaMemcpy(p, v.data(), n * sizeof(T), cudaMemcpyHostToDevice));
    }
    std::vector<T> host() const
    {
        std::vector<T> v(n);
        CHECK(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
        return v;
    }
    ~Device() { CHECK(cudaFree(p)); }
};
