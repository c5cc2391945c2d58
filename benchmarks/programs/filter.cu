// A filter of 5 by 5 weights; at the borders the nearest pixel counts.
__constant__ float weights[25];

extern "C" __global__ void filter(const float *in, float *out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float sum = 0;
    for (int j = -2; j <= 2; j++)
        for (int i = -2; i <= 2; i++) {
            int row = min(max(y + j, 0), height - 1), column = min(max(x + i, 0), width - 1);
            sum += weights[(j + 2) * 5 + i + 2] * in[row * width + column];
        }
    out[y * width + x] = sum;
}
