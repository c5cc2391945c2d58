// Threads that wait for each other, for test_spins.py. Each kernel gets zeroed words and an array.

__device__ __noinline__ void lock(int *mutex)
{
    while (atomicCAS(mutex, 0, 1) != 0)
        __nanosleep(20);
    __threadfence();
}

__device__ __noinline__ void unlock(int *mutex)
{
    __threadfence();
    atomicExch(mutex, 0);
}

extern "C" __global__ void lock_of_threads(int *words, volatile int *x)
{
    lock(words);
    x[0] = x[0] + 1;
    unlock(words);
}

extern "C" __global__ void lock_by_flag(int *words, volatile int *x)
{
    bool done = false;
    while (!done) {
        if (atomicCAS(words, 0, 1) == 0) {
            x[0] = x[0] + 1;
            __threadfence();
            atomicExch(words, 0);
            done = true;
        }
    }
}

extern "C" __global__ void tickets(int *words, volatile int *x)
{
    int mine = atomicAdd(&words[0], 1);
    while (*(volatile int *)&words[1] != mine)
        ;
    x[0] = x[0] + 1;
    __threadfence();
    atomicAdd(&words[1], 1);
}

// Two locks, several times, in an order that each thread keeps; a value lives behind a barrier.
extern "C" __global__ void two_locks(int *words, volatile int *x)
{
    int sum = 0;
    for (int i = 0; i < 3; i++) {
        lock(&words[0]);
        sum += x[0];
        lock(&words[1]);
        x[0] = x[0] + 1;
        if (x[0] % 7 == 0)
            x[1] = x[1] + 1;
        unlock(&words[1]);
        unlock(&words[0]);
    }
    __syncthreads();
    atomicMax((int *)&x[2], sum);
    __syncthreads();
    x[3] = x[2] >= sum;
}

extern "C" __global__ void a_lock_for_each(int *words, volatile int *x)
{
    int mine = threadIdx.x % 3;
    if (threadIdx.x & 1) {
        lock(&words[mine]);
        x[mine] = x[mine] + 1;
        unlock(&words[mine]);
    } else {
        atomicAdd((int *)&x[3], 1);
    }
}

extern "C" __global__ void waits_for_another_lane(int *words, volatile int *x)
{
    volatile int *flag = words;
    if (threadIdx.x == 0) {
        while (flag[0] == 0)
            ;
        x[0] = 5;
    } else {
        flag[0] = 1;
        x[threadIdx.x] = 1;
    }
}

extern "C" __global__ void blocks_in_order(int *words, volatile int *x)
{
    volatile int *flags = words;
    if (threadIdx.x == 0) {
        int sum = 0;
        if (blockIdx.x) {
            while (flags[blockIdx.x - 1] == 0)
                ;
            sum = x[blockIdx.x - 1];
        }
        x[blockIdx.x] = sum + blockIdx.x;
        __threadfence();
        flags[blockIdx.x] = 1;
    }
}

extern "C" __global__ void blocks_in_reverse(int *words, volatile int *x)
{
    volatile int *flags = words;
    if (threadIdx.x == 0) {
        if (blockIdx.x + 1 < gridDim.x)
            while (flags[blockIdx.x + 1] == 0)
                ;
        x[blockIdx.x] = 1;
        __threadfence();
        flags[blockIdx.x] = 1;
    }
}

// No spin loop: it tries again with what it has read.
extern "C" __global__ void retries(int *words, volatile int *x)
{
    float *sum = (float *)words;
    int old = words[0], seen;
    do {
        seen = old;
        old = atomicCAS(words, seen, __float_as_int(__int_as_float(seen) + 1.0f));
    } while (old != seen);
    __syncthreads();
    x[0] = (int)*(volatile float *)sum;
}
