// A filter of 5 by 5 weights; at the borders the nearest pixel counts.
kernel void filter(global const float *in, global float *out, int width, int height,
                   constant float *weights)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    float sum = 0;
    for (int j = -2; j <= 2; j++)
        for (int i = -2; i <= 2; i++) {
            int row = min(max(y + j, 0), height - 1), column = min(max(x + i, 0), width - 1);
            sum += weights[(j + 2) * 5 + i + 2] * in[row * width + column];
        }
    out[y * width + x] = sum;
}
