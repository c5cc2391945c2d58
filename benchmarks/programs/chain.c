// A chain of matrix products: (A B) (C D).
static void product(const float *restrict a, const float *restrict b, float *restrict c, int n)
{
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            c[i * n + j] = 0;
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++)
                c[i * n + j] += a[i * n + k] * b[k * n + j];
    }
}

void chain(const float *a, const float *b, const float *c, const float *d, float *e, float *f,
           float *g, int n)
{
    product(a, b, e, n);
    product(c, d, f, n);
    product(e, f, g, n);
}
