// The covariance of columns: means, differences, products.
extern "C" __global__ void mean_of(const float *data, float *mean, int n, int m)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j < m) {
        float sum = 0;
        for (int i = 0; i < n; i++)
            sum += data[i * m + j];
        mean[j] = sum / n;
    }
}

extern "C" __global__ void center(const float *data, const float *mean, float *centered, int n, int m)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < m)
        centered[i * m + j] = data[i * m + j] - mean[j];
}

extern "C" __global__ void covariance(const float *centered, float *out, int n, int m)
{
    int b = blockIdx.x * blockDim.x + threadIdx.x, a = blockIdx.y * blockDim.y + threadIdx.y;
    if (a < m && b < m && b >= a) {
        float sum = 0;
        for (int i = 0; i < n; i++)
            sum += centered[i * m + a] * centered[i * m + b];
        out[a * m + b] = sum / (n - 1);
        out[b * m + a] = out[a * m + b];
    }
}
