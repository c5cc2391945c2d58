// Exchange between lanes by the names before Volta, in branches too.
#include <cuda_fp16.h>

__global__ void exchanged(const int *values, int *out)
{
    int lane = threadIdx.x, v = values[lane];
    int *row = out + lane * 8;
    row[0] = __shfl_down(v, 3), row[1] = __shfl_up(v, 2, 8), row[2] = __shfl_xor(v, 5);
    row[3] = (int)__half2float(__shfl(__float2half(v), 7)), row[4] = (int)__shfl((double)v, 9, 16);
    if (lane & 1) {
        row[5] = (int)__ballot(v > 50);
        row[6] = 10 * __any(v > 98) + __all(v >= 0);
        row[7] = __shfl(v, 3);
    }
}
