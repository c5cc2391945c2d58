// The covariance of columns: means, differences, products.
kernel void mean_of(global const float *data, global float *mean, int n, int m)
{
    int j = get_global_id(0);
    if (j < m) {
        float sum = 0;
        for (int i = 0; i < n; i++)
            sum += data[i * m + j];
        mean[j] = sum / n;
    }
}

kernel void center(global const float *data, global const float *mean, global float *centered, int n,
                   int m)
{
    int j = get_global_id(0), i = get_global_id(1);
    if (i < n && j < m)
        centered[i * m + j] = data[i * m + j] - mean[j];
}

kernel void covariance(global const float *centered, global float *out, int n, int m)
{
    int b = get_global_id(0), a = get_global_id(1);
    if (a < m && b < m && b >= a) {
        float sum = 0;
        for (int i = 0; i < n; i++)
            sum += centered[i * m + a] * centered[i * m + b];
        out[a * m + b] = sum / (n - 1);
        out[b * m + a] = out[a * m + b];
    }
}
