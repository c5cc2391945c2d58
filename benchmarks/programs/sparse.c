// A sparse matrix times a vector.
void sparse(const int *restrict first, const int *restrict columns, const float *restrict values,
            const float *restrict x, float *restrict y, int n)
{
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        float sum = 0;
        for (int e = first[i]; e < first[i + 1]; e++)
            sum += values[e] * x[columns[e]];
        y[i] = sum;
    }
}
