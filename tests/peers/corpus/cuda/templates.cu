// Templates, lambdas and classes that the compiler unfolds.
template <typename T> struct Sum {
    __device__ T operator()(T a, T b) const { return a + b; }
    static __device__ T start() { return T(0); }
};

template <typename T> struct Most {
    __device__ T operator()(T a, T b) const { return a > b ? a : b; }
    static __device__ T start() { return T(-1000); }
};

template <typename T, int N, template <typename> class Op>
__global__ void reduced(const T *x, T *y, int n)
{
    __shared__ T s[N];
    Op<T> op;
    T value = Op<T>::start();
    for (int i = blockIdx.x * N + threadIdx.x; i < n; i += N * gridDim.x)
        value = op(value, x[i]);
    s[threadIdx.x] = value;
    __syncthreads();
#pragma unroll
    for (int half = N / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            s[threadIdx.x] = op(s[threadIdx.x], s[threadIdx.x + half]);
        __syncthreads();
    }
    if (threadIdx.x == 0)
        y[blockIdx.x] = s[0];
}

template <int A, int... Rest> __device__ int folded(int x)
{
    if constexpr (sizeof...(Rest) == 0)
        return x * A;
    else
        return x * A + folded<Rest...>(x + 1);
}

extern "C" __global__ void packs(const int *x, int *y)
{
    y[threadIdx.x] = folded<1, 2, 3, 5, 8>(x[threadIdx.x]);
}

template <typename F> __device__ void each(int n, F f)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        f(i);
}

extern "C" __global__ void lambdas(const float *x, float *y, float a, int n)
{
    auto scaled = [=](int i) { return a * x[i]; };
    each(n, [&](int i) { y[i] = scaled(i) + (i % 3 == 0 ? [](float v) { return v * v; }(x[i]) : 0); });
}

template <int N> struct Vec {
    float at[N];
    __device__ Vec operator+(const Vec &other) const
    {
        Vec made;
        for (int i = 0; i < N; i++)
            made.at[i] = at[i] + other.at[i];
        return made;
    }
    __device__ float dot(const Vec &other) const
    {
        float made = 0;
        for (int i = 0; i < N; i++)
            made += at[i] * other.at[i];
        return made;
    }
};

extern "C" __global__ void vectors_of_5(const Vec<5> *x, Vec<5> *y, float *dots)
{
    int i = threadIdx.x;
    y[i] = x[i] + x[31 - i];
    dots[i] = x[i].dot(x[31 - i]);
}

template <typename T> __device__ void exchange(T &a, T &b)
{
    T t = a;
    a = b;
    b = t;
}

template <typename T, int N> __global__ void bitonic(T *x)
{
    __shared__ T s[N];
    int i = threadIdx.x;
    s[i] = x[blockIdx.x * N + i];
    for (int k = 2; k <= N; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) {
            __syncthreads();
            int other = i ^ j;
            if (other > i && (s[i] > s[other]) == ((i & k) == 0))
                exchange(s[i], s[other]);
        }
    __syncthreads();
    x[blockIdx.x * N + i] = s[i];
}
