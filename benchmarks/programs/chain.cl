// A chain of matrix products: (A B) (C D), an element a work item.
kernel void product(global const float *a, global const float *b, global float *c, int n)
{
    int j = get_global_id(0), i = get_global_id(1);
    if (i < n && j < n) {
        float sum = 0;
        for (int k = 0; k < n; k++)
            sum += a[i * n + k] * b[k * n + j];
        c[i * n + j] = sum;
    }
}
