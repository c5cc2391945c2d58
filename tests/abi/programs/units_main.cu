#include "common.h"
extern __device__ int scale(int value);
extern __device__ int offset;
__global__ void use(int *x) { x[threadIdx.x] = scale(x[threadIdx.x]) + offset; }
extern void set_offset(int value);
int main()
{
    std::vector<int> x(32), expected(32);
    for (int i = 0; i < 32; i++)
        x[i] = i, expected[i] = 3 * i + 50;
    Device<int> dx(x);
    set_offset(50);
    use<<<1, 32>>>(dx.p);
    EXPECT(dx.host() == expected);
    puts("well");
}
