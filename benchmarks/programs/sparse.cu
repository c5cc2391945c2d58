// A sparse matrix times a vector, a row a thread.
extern "C" __global__ void sparse(const int *first, const int *columns, const float *values,
                                  const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = 0;
        for (int e = first[i]; e < first[i + 1]; e++)
            sum += values[e] * x[columns[e]];
        y[i] = sum;
    }
}
