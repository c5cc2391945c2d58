// Warps of a block that wait for each other, for test_turns.py. Blocks are of 64 threads or more;
// the warp that produces is a parameter, so that it runs before or behind those that wait.

__device__ void wait_for(volatile int *word)
{
    if (threadIdx.x % 32 == 0)
        while (!*word)
            ;
    __syncwarp();
    __threadfence_block();
}

__device__ void set_after(volatile int *word, int value)
{
    __threadfence_block();
    __syncwarp();
    if (threadIdx.x % 32 == 0)
        *word = value;
}

extern "C" __global__ void flag(int *x, int producer)
{
    __shared__ volatile int ready;
    __shared__ int data[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (threadIdx.x == 0)
        ready = 0;
    __syncthreads();
    if (warp == producer) {
        data[lane] = lane * 3 + blockIdx.x;
        set_after(&ready, 1);
    } else {
        wait_for(&ready);
        x[blockIdx.x * blockDim.x + threadIdx.x] = data[31 - lane] + 1;
    }
}

extern "C" __global__ void ring(int *x, int producer)
{
    __shared__ volatile int full[4], empty[4];
    __shared__ int buffer[4][32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, sum = 0;
    if (threadIdx.x < 4) {
        full[threadIdx.x] = 0;
        empty[threadIdx.x] = 1;
    }
    __syncthreads();
    for (int i = 0; i < 40 + blockIdx.x; i++) {
        int slot = i % 4;
        if (warp == producer) {
            wait_for(&empty[slot]);
            buffer[slot][lane] = i * 100 + lane;
            empty[slot] = 0;
            set_after(&full[slot], 1);
        } else {
            wait_for(&full[slot]);
            sum += buffer[slot][31 - lane];
            full[slot] = 0;
            set_after(&empty[slot], 1);
        }
    }
    __syncthreads();
    x[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Each warp waits for the next one; the last one for nobody. Then all meet.
extern "C" __global__ void backwards(int *x, int last)
{
    __shared__ int done;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (threadIdx.x == 0)
        done = last + 1;
    __syncthreads();
    while (!__any_sync(0xffffffff, atomicAdd(&done, 0) == warp + 1))
        ;
    int mine = __shfl_sync(0xffffffff, warp * 32 + lane, 31 - lane);
    if (lane == 0)
        atomicSub(&done, 1);
    __syncthreads();
    x[threadIdx.x] = mine + done;
}

// Both sides of a branch wait for the other by turns, through global memory.
extern "C" __global__ void ping_pong(int *x, int first)
{
    volatile int *turn = x;
    int warp = threadIdx.x / 32, mine = 0;
    if (threadIdx.x % 32)
        return;
    for (int i = 0; i < 10; i++) {
        if (warp == first) {
            while (*turn != 2 * i)
                ;
            mine += x[1];
        } else {
            while (*turn != 2 * i + 1)
                ;
            x[1] = i;
        }
        __threadfence();
        *turn = *turn + 1;
    }
    x[2 + warp] = mine;
}

extern "C" __global__ void nobody(int *x, int producer)
{
    volatile int *word = x;
    if (threadIdx.x / 32 == producer)
        __syncthreads();
    else if (threadIdx.x % 32 == 0)
        while (!*word)
            ;
}
