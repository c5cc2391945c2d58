// LU decomposition in place, without pivots, by tiles: the one on the diagonal, those right of and
// below it, and the rest.
#define TILE 32

extern "C" __global__ void diagonal(float *a, int n, int k)
{
    __shared__ float own[TILE][TILE + 1];
    int t = threadIdx.x, first = k * TILE;
    for (int i = 0; i < TILE; i++)
        own[i][t] = a[(first + i) * n + first + t];
    __syncthreads();
    for (int i = 0; i < TILE - 1; i++) {
        if (t > i)
            own[t][i] /= own[i][i];
        __syncthreads();
        if (t > i)
            for (int j = i + 1; j < TILE; j++)
                own[j][t] -= own[j][i] * own[i][t];
        __syncthreads();
    }
    for (int i = 0; i < TILE; i++)
        a[(first + i) * n + first + t] = own[i][t];
}

// The first half of the blocks are right of the diagonal, a thread a column; the others below it, a
// thread a row.
extern "C" __global__ void borders(float *a, int n, int k)
{
    __shared__ float own[TILE][TILE + 1], corner[TILE][TILE + 1];
    int t = threadIdx.x, first = k * TILE, half = gridDim.x / 2;
    bool right = blockIdx.x < half;
    int other = (k + 1 + (right ? blockIdx.x : blockIdx.x - half)) * TILE;
    for (int i = 0; i < TILE; i++) {
        corner[i][t] = a[(first + i) * n + first + t];
        if (right)
            own[i][t] = a[(first + i) * n + other + t];
        else
            own[t][i] = a[(other + i) * n + first + t];
    }
    __syncthreads();
    for (int i = 0; i < TILE; i++) {
        float value = own[i][t];
        for (int j = 0; j < i; j++)
            value -= (right ? corner[i][j] : corner[j][i]) * own[j][t];
        own[i][t] = right ? value : value / corner[i][i];
    }
    __syncthreads();
    for (int i = 0; i < TILE; i++)
        if (right)
            a[(first + i) * n + other + t] = own[i][t];
        else
            a[(other + i) * n + first + t] = own[t][i];
}

extern "C" __global__ void rest(float *a, int n, int k)
{
    __shared__ float left[TILE][TILE], top[TILE][TILE];
    int t = threadIdx.x, first = k * TILE;
    int row = (k + 1 + blockIdx.y) * TILE, column = (k + 1 + blockIdx.x) * TILE;
    for (int i = threadIdx.y; i < TILE; i += blockDim.y) {
        left[i][t] = a[(row + i) * n + first + t];
        top[i][t] = a[(first + i) * n + column + t];
    }
    __syncthreads();
    for (int i = threadIdx.y; i < TILE; i += blockDim.y) {
        float sum = 0;
        for (int j = 0; j < TILE; j++)
            sum += left[i][j] * top[j][t];
        a[(row + i) * n + column + t] -= sum;
    }
}
