// Finite differences of a field in two dimensions.
void fdtd(float *restrict ex, float *restrict ey, float *restrict hz, int n, int m, int steps)
{
    for (int t = 0; t < steps; t++) {
#pragma omp parallel
        {
#pragma omp for
            for (int i = 0; i < n; i++)
                for (int j = 0; j < m; j++)
                    if (i == 0)
                        ey[j] = t;
                    else
                        ey[i * m + j] -= 0.5f * (hz[i * m + j] - hz[(i - 1) * m + j]);
#pragma omp for
            for (int i = 0; i < n; i++)
                for (int j = 1; j < m; j++)
                    ex[i * m + j] -= 0.5f * (hz[i * m + j] - hz[i * m + j - 1]);
#pragma omp for
            for (int i = 0; i < n - 1; i++)
                for (int j = 0; j < m - 1; j++)
                    hz[i * m + j] -= 0.7f * (ex[i * m + j + 1] - ex[i * m + j]
                                             + ey[(i + 1) * m + j] - ey[i * m + j]);
        }
    }
}
