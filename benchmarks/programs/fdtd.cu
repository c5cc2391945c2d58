// Finite differences of a field in two dimensions.
extern "C" __global__ void step_y(float *ey, const float *hz, float source, int n, int m)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < m) {
        if (i == 0)
            ey[j] = source;
        else
            ey[i * m + j] -= 0.5f * (hz[i * m + j] - hz[(i - 1) * m + j]);
    }
}

extern "C" __global__ void step_x(float *ex, const float *hz, int n, int m)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j > 0 && j < m)
        ex[i * m + j] -= 0.5f * (hz[i * m + j] - hz[i * m + j - 1]);
}

extern "C" __global__ void step_h(const float *ex, const float *ey, float *hz, int n, int m)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n - 1 && j < m - 1)
        hz[i * m + j] -= 0.7f * (ex[i * m + j + 1] - ex[i * m + j] + ey[(i + 1) * m + j] - ey[i * m + j]);
}
