// Clustering: each point's nearest center, and the sums of each center's points.
#define DIMENSIONS 8
#define CENTERS 16

extern "C" __global__ void assign(const float *points, const float *centers, int *member, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float best = 3e38f;
    int which = 0;
    for (int c = 0; c < CENTERS; c++) {
        float sum = 0;
        for (int d = 0; d < DIMENSIONS; d++) {
            float gap = points[d * n + i] - centers[c * DIMENSIONS + d];
            sum += gap * gap;
        }
        if (sum < best) {
            best = sum;
            which = c;
        }
    }
    member[i] = which;
}

extern "C" __global__ void gather(const float *points, const int *member, float *sums, int *counts,
                                  int n)
{
    __shared__ float part[CENTERS * DIMENSIONS];
    __shared__ int count[CENTERS];
    int t = threadIdx.x;
    if (t < CENTERS * DIMENSIONS)
        part[t] = 0;
    if (t < CENTERS)
        count[t] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) {
        int c = member[i];
        for (int d = 0; d < DIMENSIONS; d++)
            atomicAdd(&part[c * DIMENSIONS + d], points[d * n + i]);
        atomicAdd(&count[c], 1);
    }
    __syncthreads();
    if (t < CENTERS * DIMENSIONS)
        atomicAdd(&sums[t], part[t]);
    if (t < CENTERS)
        atomicAdd(&counts[t], count[t]);
}

extern "C" __global__ void move(float *centers, float *sums, int *counts)
{
    int t = threadIdx.x, c = t / DIMENSIONS, count = counts[c];
    if (count > 0)
        centers[t] = sums[t] / count;
    __syncthreads();
    sums[t] = 0;
    if (t % DIMENSIONS == 0)
        counts[c] = 0;
}
