// What C++ has: tables, pointers to functions, virtual functions, recursion, variables.
#ifndef __CUDACC_RTC__
#include <assert.h>
#include <stdio.h>
#endif

struct Setting {
    int scale[4];
    float shift;
};
__constant__ Setting setting = {{1, -2, 3, 7}, 0.5f};
__constant__ char letters[] = "gridlane";
__device__ int counter = 5;
__device__ float weights[4] = {1, 2, 4, 8};
__device__ const double exact[3] = {0.1, 0.2, 0.3};

extern "C" __global__ void constants(const int *x, float *y)
{
    int i = threadIdx.x;
    y[i] = x[i] * setting.scale[i & 3] + setting.shift + letters[i % 8] + (float)exact[i % 3];
}

extern "C" __global__ void counted(int *y)
{
    y[threadIdx.x] = atomicAdd(&counter, 1) >= 5;
    weights[threadIdx.x & 3] += 0;
    __syncthreads();
    if (threadIdx.x == 0)
        y[0] = counter;
}

extern "C" __global__ void shifted_weights(float *y)
{
    y[threadIdx.x] = weights[threadIdx.x & 3];
}

struct Shape {
    __device__ virtual float area() const = 0;
};
struct Square : Shape {
    float side;
    __device__ Square(float s) : side(s) {}
    __device__ float area() const override { return side * side; }
};
struct Circle : Shape {
    float radius;
    __device__ Circle(float r) : radius(r) {}
    __device__ float area() const override { return 3.0f * radius * radius; }
};

extern "C" __global__ void virtuals(const float *x, float *y)
{
    int i = threadIdx.x;
    Square square(x[i]);
    Circle circle(x[i]);
    const Shape *shape = i & 1 ? (const Shape *)&circle : (const Shape *)&square;
    y[i] = shape->area();
}

typedef int (*Operation)(int, int);
__device__ __noinline__ int plus(int a, int b) { return a + b; }
__device__ __noinline__ int times(int a, int b) { return a * b; }
__device__ __noinline__ int minus(int a, int b) { return a - b; }
__device__ Operation operations[] = {plus, times, minus};

extern "C" __global__ void pointers(const int *x, int *y)
{
    int i = threadIdx.x;
    y[i] = operations[i % 3](x[i], i);
}

__device__ __noinline__ int chosen(Operation f, int a, int b) { return f(a, b); }

extern "C" __global__ void pointer_arguments(const int *x, int *y)
{
    int i = threadIdx.x;
    y[i] = chosen(i & 1 ? plus : times, x[i], i);
}

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

extern "C" __global__ void recursive(int *y) { y[threadIdx.x] = fibonacci(threadIdx.x % 12); }

extern "C" __global__ void printing(const int *x, int *y)
{
    if (threadIdx.x < 2)
        printf("%d is %s, %5.2f\n", x[threadIdx.x], "shown", 1.5 * x[threadIdx.x]);
    y[threadIdx.x] = x[threadIdx.x];
}

extern "C" __global__ void asserting(const int *x, int *y)
{
    assert(x[threadIdx.x] > -5);
    y[threadIdx.x] = x[threadIdx.x] + 1;
}

extern "C" __global__ void switched(const int *x, int *y)
{
    int i = threadIdx.x, v = x[i];
    switch (v & 15) {
    case 0: y[i] = v * 3; break;
    case 1: y[i] = v ^ 77; break;
    case 2: y[i] = v + i; break;
    case 3: y[i] = v - i; break;
    case 4: y[i] = v << 3; break;
    case 5: y[i] = v >> 1; break;
    case 6: y[i] = ~v; break;
    case 7: y[i] = -v; // falls through
    case 8: y[i] = v % 7; break;
    case 9: y[i] = v / 3; break;
    case 10: y[i] = i; break;
    default: y[i] = 0;
    }
}

extern "C" __global__ void jumps(const int *x, int *y)
{
    int i = threadIdx.x, v = x[i], steps = 0;
again:
    if (v & 1)
        goto odd;
    v >>= 1;
    steps++;
    if (v > 40)
        goto again;
    goto done;
odd:
    v = v * 3 + 1;
    steps += 10;
    if (steps < 100)
        goto again;
done:
    y[i] = v + steps;
}

union Word {
    float f;
    unsigned u;
    unsigned char b[4];
};
struct Bits {
    unsigned a : 5, b : 11, c : 16;
};

extern "C" __global__ void unions(const float *x, unsigned *y)
{
    Word w;
    w.f = x[threadIdx.x];
    w.b[threadIdx.x & 3] ^= 0x5A;
    Bits bits = {w.u & 31, w.u >> 5 & 2047, w.u >> 16};
    bits.b += 3;
    y[threadIdx.x] = bits.a | bits.b << 5 | bits.c << 16;
}

struct Pair {
    short key;
    double value;
    float more[3];
};

__device__ __noinline__ Pair changed(Pair p, int i)
{
    p.key += i;
    p.value *= 2;
    p.more[i % 3] = p.key;
    return p;
}

extern "C" __global__ void pairs_by_value(Pair p, Pair *y)
{
    y[threadIdx.x] = changed(p, threadIdx.x);
}

extern "C" __global__ void parameter_arrays(const Pair p, int i, float *y)
{
    y[threadIdx.x] = p.more[(threadIdx.x + i) % 3];
}

extern "C" __global__ void stack(const int *x, int *y, int n)
{
    int s[32], top = 0, i = threadIdx.x;
    for (int k = 0; k < n; k++) {
        int v = x[(i + k) % n];
        while (top && s[top - 1] > v)
            top--;
        s[top++] = v;
    }
    int sum = 0;
    for (int k = 0; k < top; k++)
        sum = sum * 3 + s[k];
    y[i] = sum;
}

extern "C" __global__ void allocated(int *y, int n)
{
    int *own = new int[n];
    for (int k = 0; k < n; k++)
        own[k] = k * threadIdx.x;
    int sum = 0;
    for (int k = 0; k < n; k++)
        sum += own[k];
    delete[] own;
    y[threadIdx.x] = sum;
}

extern "C" __global__ void references(int *x, int *y, int n)
{
    int local = 0;
    int &target = threadIdx.x < n ? y[threadIdx.x] : local;
    target += x[threadIdx.x];
    if (threadIdx.x >= n)
        x[threadIdx.x] = local;
}

extern "C" __global__ void clocks(long long *y)
{
    long long start = clock64();
    y[threadIdx.x] = clock64() - start >= 0;
}

extern "C" __global__ void grids(int *y)
{
    int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    y[block * blockDim.x * blockDim.y * blockDim.z + thread] = block * 1000 + thread;
}
