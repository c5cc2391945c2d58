// The covariance of columns: means, differences, products.
void covariance(const float *restrict data, float *restrict mean, float *restrict centered,
                float *restrict out, int n, int m)
{
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int j = 0; j < m; j++) {
            float sum = 0;
            for (int i = 0; i < n; i++)
                sum += data[i * m + j];
            mean[j] = sum / n;
        }
#pragma omp for
        for (int i = 0; i < n; i++)
            for (int j = 0; j < m; j++)
                centered[i * m + j] = data[i * m + j] - mean[j];
#pragma omp for schedule(dynamic, 4)
        for (int a = 0; a < m; a++) {
            for (int b = a; b < m; b++)
                out[a * m + b] = 0;
            for (int i = 0; i < n; i++)
                for (int b = a; b < m; b++)
                    out[a * m + b] += centered[i * m + a] * centered[i * m + b];
            for (int b = a; b < m; b++)
                out[b * m + a] = out[a * m + b] /= n - 1;
        }
    }
}
