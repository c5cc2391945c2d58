// Warps and atomics.
extern "C" __global__ void shuffles(const int *x, int *y, double *z)
{
    int i = threadIdx.x, v = x[i];
    int up = __shfl_up_sync(~0u, v, 3), down = __shfl_down_sync(~0u, v, 5, 8);
    int any = __shfl_sync(~0u, v, v & 31), cross = __shfl_xor_sync(~0u, v, 9);
    y[i] = up + 3 * down + 5 * any + 7 * cross;
    z[i] = __shfl_xor_sync(~0u, v * 0.5, 1) + __shfl_sync(~0u, (long long)v << 33, 4, 16);
}

extern "C" __global__ void matches(const int *x, unsigned *y)
{
    int all;
    unsigned same = __match_any_sync(~0u, x[threadIdx.x] & 7);
    unsigned whole = __match_all_sync(~0u, x[threadIdx.x] >= 0, &all);
    y[threadIdx.x] = same ^ whole ^ all;
}

extern "C" __global__ void divergent(const int *x, unsigned *y)
{
    int i = threadIdx.x;
    unsigned made = 0;
    if (x[i] & 1) {
        unsigned active = __activemask();
        made = __ballot_sync(active, x[i] > 50) + __popc(active);
    } else if (x[i] & 2) {
        unsigned active = __activemask();
        made = __reduce_add_sync(active, x[i]) * 1000 + __ffs(active);
    }
    __syncwarp();
    y[i] = made + (__all_sync(~0u, x[i] >= 0) << 30);
}

extern "C" __global__ void compacted(const int *x, int *y, int *count)
{
    unsigned below = (1u << (threadIdx.x & 31)) - 1, keep = __ballot_sync(~0u, x[threadIdx.x] > 30);
    if (x[threadIdx.x] > 30)
        y[__popc(keep & below)] = x[threadIdx.x];
    if (threadIdx.x == 0)
        *count = __popc(keep);
}

extern "C" __global__ void reduces(const unsigned *x, unsigned *y)
{
    unsigned v = x[threadIdx.x];
    y[threadIdx.x] = __reduce_max_sync(~0u, v) + __reduce_min_sync(~0u, v) * 3 + __reduce_xor_sync(~0u, v) * 5
        + __reduce_or_sync(~0u, v) * 7 + __reduce_and_sync(~0u, v | 5) * 11;
}

extern "C" __global__ void many_atomics(int *i, unsigned *u, unsigned long long *l, float *f, double *d)
{
    int t = threadIdx.x;
    atomicAdd(&i[0], t);
    atomicSub(&i[1], t);
    atomicMin(&i[2], t - 9);
    atomicMax(&i[3], t - 9);
    atomicAnd(&u[0], ~t);
    atomicOr(&u[1], t);
    atomicXor(&u[2], t * 77);
    atomicInc(&u[3], 9);
    atomicDec(&u[4], 9);
    atomicAdd(&l[0], (unsigned long long)t << 40);
    atomicMax(&l[1], (unsigned long long)t << 33);
    atomicAdd(&f[0], 0.5f * t);
    atomicAdd(&d[0], 0.25 * t);
    atomicAdd_block(&i[4], 1);
    atomicAdd_system(&i[5], 2);
    if (t == 5)
        atomicExch(&i[6], 99);
    atomicCAS(&i[7], 0, 7);
    atomicExch(&f[1], 2.5f);
}

extern "C" __global__ void most(double *x, const double *y)
{
    unsigned long long *word = (unsigned long long *)x, old = *word, seen;
    do {
        seen = old;
        if (__longlong_as_double(seen) >= y[threadIdx.x])
            break;
        old = atomicCAS(word, seen, __double_as_longlong(y[threadIdx.x]));
    } while (old != seen);
}

extern "C" __global__ void short_cas(unsigned short *x)
{
    unsigned short old = *(volatile unsigned short *)x, seen;
    do {
        seen = old;
        old = atomicCAS(x, seen, (unsigned short)(seen + threadIdx.x));
    } while (old != seen);
}

extern "C" __global__ void listed(int *heads, int *next, const int *key)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    next[i] = atomicExch(&heads[key[i]], i);
}

extern "C" __global__ void ticketed(unsigned *tickets, const int *x, int *partial, int *total)
{
    __shared__ bool last;
    int sum = 0;
    for (int i = threadIdx.x; i < 64; i += 32)
        sum += x[blockIdx.x * 64 + i];
    for (int d = 16; d; d /= 2)
        sum += __shfl_down_sync(~0u, sum, d);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(tickets, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int all = 0;
        for (int i = 0; i < gridDim.x; i++)
            all += ((volatile int *)partial)[i];
        *total = all;
    }
}

extern "C" __global__ void mutex(int *lock, volatile int *total)
{
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            *total = *total + threadIdx.x;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}

extern "C" __global__ void spun(int *lock, volatile int *total)
{
    while (atomicCAS(lock, 0, 1) != 0)
        ;
    *total = *total + 1;
    __threadfence();
    atomicExch(lock, 0);
}
