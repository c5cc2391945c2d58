#include "shared.h"

extern "C" __global__ void integers(int *out)
{
    int i = threadIdx.x;
    room[i] = i;
    __syncthreads();
    Counter counter;
    counter.value = 1;
    counter.add(2);
    Twice<int> twice{21};
    Large before{};
    before.d = 1.5;
    before.a[4] = 7;
    Large after = changed(i, before);
    out[8 * i] = counter.value;
    out[8 * i + 1] = seen(i);
    out[8 * i + 2] = twice.get();
    out[8 * i + 3] = ns::inner(i) + ns::value;
    out[8 * i + 4] = after.a[4] + after.a[0];
    out[8 * i + 5] = (int)(after.d * 2);
    out[8 * i + 6] = (int)mixed(Letter::A, true, -1, -2, 2.5f, 3.5, 1ull << 40);
    out[8 * i + 7] = square(i) + *picked(i) + room[i];
}

extern "C" __global__ void floats(float *out)
{
    int i = threadIdx.x;
    out[i] = table[i % 3] + operations[i % 2](i, 2);
}
