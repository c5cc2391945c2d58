// LU decomposition in place, without pivots: a column, then what is right of and below it.
void lu(float *a, int n)
{
#pragma omp parallel
    for (int k = 0; k < n; k++) {
#pragma omp for
        for (int i = k + 1; i < n; i++) {
            float *restrict row = a + i * n;
            const float *restrict top = a + k * n;
            row[k] /= top[k];
            for (int j = k + 1; j < n; j++)
                row[j] -= row[k] * top[j];
        }
    }
}
