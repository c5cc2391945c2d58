// What units of C++ have in common: classes, structs by value, inline functions, namespaces.
#pragma once

extern __device__ int total;

struct Counter {
    int value;
    __device__ void add(int n);
    __device__ virtual ~Counter() {}
};

inline __device__ int seen(int x)
{
    static int before = 0;
    return x + 100 + before;
}

template <class T>
struct Twice {
    T value;
    __device__ T get() const { return value * 2; }
};

namespace ns {
__device__ int inner(int x);
extern __device__ int value;
}

struct Large {
    int a[5];
    double d;
};
__device__ Large changed(int n, Large other);

__device__ __noinline__ inline int square(int x)
{
    return x * x;
}

enum class Letter : unsigned char { A = 3, B };
__device__ Letter mixed(
    Letter e, bool b, char c, short s, float f, double d, unsigned long long u);

typedef float (*Operation)(float, float);
extern __constant__ Operation operations[2];
extern __device__ float table[];
extern __shared__ int room[];
__device__ int *picked(int i);
