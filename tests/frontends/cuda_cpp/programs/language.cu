// What of C++ and of older programs' habits passes: host code that other compilers take, and device
// code with classes, lambdas, templates and C's functions of memory.
#include <bits/stdc++.h>
#include <cuda/atomic>
#include <cuda/std/type_traits>
#include <math_constants.h>
#include <omp.h>

using namespace std;

static_assert(cuda::std::is_same<decltype(threadIdx.x), unsigned>::value, "as in CUDA");

struct Shape {
    float side;
    __device__ Shape(float side) : side(side) {}
    __device__ virtual float area() const = 0;
    __device__ virtual ~Shape() {}
};
struct Square : Shape {
    using Shape::Shape;
    __device__ float area() const override { return side * side; }
};
struct Circle : Shape {
    using Shape::Shape;
    __device__ float area() const override { return CUDART_PI_F * side * side; }
};

template <typename F> __device__ float twice(F f, float x) { return f(f(x)); }

template <int... N> __device__ constexpr int sum_of() { return (N + ... + 0); }

__global__ void classes(float *out, int n)
{
    int i = threadIdx.x;
    alignas(8) char place[sizeof(Square)];
    Shape *shape;
    if (i % 2)
        shape = new (place) Square(i);
    else
        shape = new (place) Circle(i);
    float by = 0.5f;
    auto half = [=](float x) { return x * by; };
    float v = shape->area() + twice(half, (float)n) + sum_of<1, 2, 3>();
    array<int, 4> a = {1, 2, 3, 4};
    pair<int, float> p(a[i & 3], v);
    auto [first, second] = p;
    out[i] = first + second;
}

__global__ void bytes(unsigned char *out, const unsigned char *in)
{
    unsigned char kept[24];
    memset(kept, 7, sizeof kept);
    memcpy(kept + 4, in + threadIdx.x, 8);
    memmove(kept, kept + 2, 12);
    memcpy(out + 24 * threadIdx.x, kept, 24);
}

__device__ cuda::atomic<int, cuda::thread_scope_device> ticks(0);

__global__ void ordered(int *x, float *f)
{
    __shared__ cuda::atomic<unsigned, cuda::thread_scope_block> own;
    if (threadIdx.x == 0)
        own.store(0, cuda::memory_order_relaxed);
    __syncthreads();
    cuda::atomic_ref<int, cuda::thread_scope_device>(x[0]).fetch_add(threadIdx.x,
                                                                    cuda::memory_order_relaxed);
    cuda::atomic_ref<int, cuda::thread_scope_block>(x[1]).fetch_max(threadIdx.x * 7 % 31);
    int expected = 0;
    if (cuda::atomic_ref<int>(x[2]).compare_exchange_strong(expected, 5))
        cuda::atomic_ref<int>(x[3]).store(9, cuda::memory_order_release);
    cuda::atomic_ref<float, cuda::thread_scope_device> sum(*f);
    sum += 0.5f;
    ticks++;
    own.fetch_add(2, cuda::memory_order_acq_rel);
    __syncthreads();
    x[4] = own.load(cuda::memory_order_acquire);
    x[5] = ticks;
}

int main()
{
    register int n = 8;
    dim3 grid = {n / 2, 1}, block(n);
    int rows[n];
    vector<int> order(n);
    random_shuffle(order.begin(), order.end());
    sort(order.begin(), order.end(), greater<int>());
    srand48(time(NULL));
    double begin = omp_get_wtime();
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        rows[i] = min(i, (int)floor(sqrt(i)) + max(1, 2)) + isnan(drand48());
    printf("%d%"PRId64"\n", rows[0], (int64_t)n);
    classes<<<grid, block>>>(nullptr, n);
    cout << setprecision(3) << omp_get_wtime() - begin << endl;
}
