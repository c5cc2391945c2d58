// Functions that call themselves, alone, by others, by address and with arrays of their own.
#define KEPT __device__ __noinline__
#define PLAIN __device__ __attribute__((noinline, optnone)) // tail calls stay calls

KEPT int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

PLAIN int ackermann(int m, int n)
{
    if (m == 0)
        return n + 1;
    return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

PLAIN bool is_odd(unsigned long long n);
PLAIN bool is_even(unsigned long long n) { return n == 0 || is_odd(n - 1); }
PLAIN bool is_odd(unsigned long long n) { return n != 0 && is_even(n - 1); }

KEPT void sort(float *x, int low, int high)
{
    if (low >= high)
        return;
    float pivot = x[(low + high) / 2];
    int i = low, j = high;
    while (i <= j) {
        while (x[i] < pivot)
            i++;
        while (x[j] > pivot)
            j--;
        if (i <= j) {
            float kept = x[i];
            x[i++] = x[j];
            x[j--] = kept;
        }
    }
    sort(x, low, j);
    sort(x, i, high);
}

// Each call has an array, which those below it write to.
KEPT int weigh(int depth, int *above, int which)
{
    int own[4];
    for (int i = 0; i < 4; i++)
        own[i] = depth * 10 + i + (above ? above[i] : 0);
    if (above)
        above[which & 3] += depth;
    int below = 0;
    if (depth > 0)
        for (int i = 0; i < 2; i++)
            below += weigh(depth - 1, own, which + i);
    return below + own[0] + 3 * own[which & 3];
}

struct Tree {
    KEPT virtual double value(int depth) const = 0;
};
struct Leaf : Tree {
    double held;
    KEPT Leaf(double of) : held(of) {}
    KEPT double value(int depth) const { return held * depth; }
};
struct Sum : Tree {
    const Tree *left, *right;
    KEPT Sum(const Tree *a, const Tree *b) : left(a), right(b) {}
    KEPT double value(int depth) const { return left->value(depth + 1) + right->value(depth + 2); }
};

PLAIN float root(float x, float guess, int left)
{
    return left == 0 ? guess : root(x, 0.5f * (guess + x / guess), left - 1);
}

KEPT int endless(int n) { return n < 0 ? 0 : endless(n + 1) * 3 ^ n; }
PLAIN int endless_array(int n, int *above)
{
    int own[8];
    for (int i = 0; i < 8; i++)
        own[i] = n + i;
    return n < 0 ? above[n & 7] : endless_array(n + 1, own) + own[n & 7];
}

extern "C" __global__ void numbers(int *out)
{
    int t = threadIdx.x;
    out[t] = fibonacci(t % 11) * 1000 + ackermann(t % 3, t % 4);
}
extern "C" __global__ void mutual(int *out)
{
    int t = threadIdx.x;
    out[t] = (t & 3) == 0 ? -1 : is_even(t) + 2 * is_odd(t / 2);
}
extern "C" __global__ void sorted(float *x, int n) { sort(x + n * threadIdx.x, 0, n - 1); }
extern "C" __global__ void arrays(int *out)
{
    out[threadIdx.x] = weigh(threadIdx.x % 5, nullptr, threadIdx.x / 5);
}
extern "C" __global__ void trees(double *out)
{
    Leaf a(threadIdx.x), b(2.5);
    Sum inner(&a, &b), outer(&inner, &a);
    const Tree *which = threadIdx.x % 3 ? (const Tree *)&outer : (const Tree *)&inner;
    out[threadIdx.x] = which->value(1);
}
extern "C" __global__ void roots(float *x) { x[threadIdx.x] = root(x[threadIdx.x], 1.0f, threadIdx.x % 7); }
extern "C" __global__ void too_deep(int *x) { x[0] = endless(x[0]); }
extern "C" __global__ void too_many_arrays(int *x) { x[0] = endless_array(x[0], x); }
