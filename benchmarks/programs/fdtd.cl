// Finite differences of a field in two dimensions.
kernel void step_y(global float *ey, global const float *hz, float source, int n, int m)
{
    int j = get_global_id(0), i = get_global_id(1);
    if (i < n && j < m) {
        if (i == 0)
            ey[j] = source;
        else
            ey[i * m + j] -= 0.5f * (hz[i * m + j] - hz[(i - 1) * m + j]);
    }
}

kernel void step_x(global float *ex, global const float *hz, int n, int m)
{
    int j = get_global_id(0), i = get_global_id(1);
    if (i < n && j > 0 && j < m)
        ex[i * m + j] -= 0.5f * (hz[i * m + j] - hz[i * m + j - 1]);
}

kernel void step_h(global const float *ex, global const float *ey, global float *hz, int n, int m)
{
    int j = get_global_id(0), i = get_global_id(1);
    if (i < n - 1 && j < m - 1)
        hz[i * m + j] -= 0.7f * (ex[i * m + j + 1] - ex[i * m + j] + ey[(i + 1) * m + j] - ey[i * m + j]);
}
