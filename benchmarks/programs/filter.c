// A filter of 5 by 5 weights; at the borders the nearest pixel counts.
static int within(int v, int last) { return v < 0 ? 0 : v > last ? last : v; }

void filter(const float *restrict in, const float *restrict weights, float *restrict out, int width,
            int height)
{
#pragma omp parallel for
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            float sum = 0;
            for (int j = -2; j <= 2; j++)
                for (int i = -2; i <= 2; i++)
                    sum += weights[(j + 2) * 5 + i + 2]
                        * in[within(y + j, height - 1) * width + within(x + i, width - 1)];
            out[y * width + x] = sum;
        }
}
