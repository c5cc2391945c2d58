// Variables of the module, generic addresses, functions by address: for test_memory.py.

__device__ int counter = 5;
__device__ float table[4] = {1, 2, 3, 4};
__constant__ float factors[3] = {1.5f, 2.5f, 3.5f};
__device__ int *where = &counter;

__device__ __noinline__ void add(int *p, int n) { *p += n; }

extern "C" __global__ void count(int *x)
{
    x[threadIdx.x] = atomicAdd(&counter, 1);
}

extern "C" __global__ void one_of_two(int *x, int of_module)
{
    int *p = of_module ? &counter : x;
    *p = 7;
    x[1] = counter;
}

extern "C" __global__ void handed_on(int *x)
{
    add(&counter, 9);
    add(x, 9);
    x[1] = counter;
}

extern "C" __global__ void kept_in_memory(int **slot, int *x)
{
    slot[0] = &counter;
    *slot[0] += 3;
    x[0] = counter;
    *where += 1;
    x[1] = counter;
}

extern "C" __global__ void tables(float *x, int i)
{
    x[0] = table[i & 3] + factors[i % 3];
    table[i & 3] = -1;
}

// Addresses of shared memory in shared memory, and handed to a function.
extern "C" __global__ void shared_addresses(int *x)
{
    __shared__ int s[32];
    __shared__ int *slots[32];
    int t = threadIdx.x;
    s[t] = t * 3;
    slots[t] = &s[31 - t];
    __syncthreads();
    x[t] = *slots[t ^ 1];
    __syncthreads();
    add(&s[t], 9);
    __syncthreads();
    x[t] += s[31 - t];
}

// An address of one of four memories.
extern "C" __global__ void any_memory(int *x, int n)
{
    __shared__ int s[32];
    extern __shared__ int d[];
    int own[8], t = threadIdx.x, which = (t + n) % 4;
    for (int i = 0; i < 8; i++)
        own[i] = i + t;
    s[t] = 100 + t;
    d[t] = 200 + t;
    x[32 + t] = 300 + t;
    __syncthreads();
    int *p = which == 0 ? s + t : which == 1 ? d + t : which == 2 ? &own[(t + n) & 7] : x + 32 + t;
    add(p, 9);
    atomicAdd(which == 2 ? &x[64] : p, 1);
    x[t] = *p + 1000 * __isShared(p) + 2000 * __isLocal(p) + 4000 * __isGlobal(p);
}

// Addresses of 32 bits, of static and of dynamic shared memory.
extern "C" __global__ void narrow_addresses(int *x)
{
    __shared__ int s[32];
    extern __shared__ int d[];
    int t = threadIdx.x, value;
    s[t] = 100 + t;
    d[t] = 200 + t;
    __syncthreads();
    const void *mine = t % 3 ? (void *)(s + t) : (void *)(d + t);
    unsigned at = (unsigned)__cvta_generic_to_shared(mine);
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(at));
    x[t] = value;
}

struct Shape {
    __device__ virtual float area(float side) const = 0;
};
struct Square : Shape {
    float k;
    __device__ Square(float k) : k(k) {}
    __device__ float area(float side) const override { return k * side * side; }
};
struct Strip : Shape {
    __device__ float area(float side) const override { return 3.f * side; }
};

extern "C" __global__ void virtual_functions(float *x)
{
    int t = threadIdx.x;
    Square a(2.f);
    Strip b;
    const Shape *s = t & 1 ? static_cast<Shape *>(&a) : static_cast<Shape *>(&b);
    x[t] = s->area(x[t]);
}

typedef int (*Operation)(int, int);
__device__ int plus(int a, int b) { return a + b; }
__device__ int times(int a, int b) { return a * b; }
__device__ int minus(int a, int b) { return a - b; }
__device__ Operation operations[4] = {plus, times, minus, nullptr};

extern "C" __global__ void functions(int *x, int k)
{
    int t = threadIdx.x;
    x[t] = operations[(t + k) % 3](x[t], t);
}

extern "C" __global__ void no_function(int *x)
{
    x[0] = operations[3 + (x[0] & 4)](x[0], 1);
}

struct Many {
    int v[16];
};

extern "C" __global__ void parameter_by_index(int *x, const Many many)
{
    int t = threadIdx.x;
    x[t] = many.v[(t * 7 + x[t]) & 15];
}
