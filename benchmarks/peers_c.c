/* The seven kernels as a C programmer writes them for a CPU: loops, OpenMP threads and simd. */
#include <math.h>
#include <string.h>

void vecadd(const float *a, const float *b, float *c, int n)
{
#pragma omp parallel for simd
    for (int i = 0; i < n; i++)
        c[i] = a[i] + b[i];
}

void nbody(const float *bodies, float *acc, int n)
{
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        float x = bodies[4 * i], y = bodies[4 * i + 1], z = bodies[4 * i + 2];
        float ax = 0, ay = 0, az = 0;
#pragma omp simd reduction(+ : ax, ay, az)
        for (int j = 0; j < n; j++) {
            float dx = bodies[4 * j] - x;
            float dy = bodies[4 * j + 1] - y;
            float dz = bodies[4 * j + 2] - z;
            float inv = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + 1e-3f);
            float w = bodies[4 * j + 3] * inv * inv * inv;
            ax += dx * w;
            ay += dy * w;
            az += dz * w;
        }
        acc[4 * i] = ax;
        acc[4 * i + 1] = ay;
        acc[4 * i + 2] = az;
        acc[4 * i + 3] = 0;
    }
}

void mandelbrot(int *counts, int width, int limit)
{
    /* Rows through the set take longest, so they are dealt out as threads get free. */
#pragma omp parallel for schedule(dynamic, 4)
    for (int y = 0; y < width; y++)
        for (int x = 0; x < width; x++) {
            float cr = -2.0f + 3.0f * x / width;
            float ci = -1.5f + 3.0f * y / width;
            float zr = 0, zi = 0;
            int i = 0;
            for (; i < limit; i++) {
                float rr = zr * zr, ii = zi * zi;
                if (rr + ii > 4.0f)
                    break;
                zi = 2.0f * zr * zi + ci;
                zr = rr - ii + cr;
            }
            counts[y * width + x] = i;
        }
}

/* Abramowitz and Stegun 26.2.17. */
static inline float normal_cdf(float d)
{
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float poly = 0.31938153f + k * (-0.356563782f + k * (1.781477937f
                 + k * (-1.821255978f + k * 1.330274429f)));
    float tail = 0.39894228f * expf(-0.5f * d * d) * k * poly;
    return d > 0 ? 1.0f - tail : tail;
}

void blackscholes(const float *spot, const float *strike, float *call, float *put, int n)
{
    const float t = 1.0f, rate = 0.02f, volatility = 0.3f;
    const float spread = volatility * sqrtf(t);
#pragma omp parallel for simd
    for (int i = 0; i < n; i++) {
        float s = spot[i], k = strike[i];
        float d1 = (logf(s / k) + (rate + 0.5f * volatility * volatility) * t) / spread;
        float d2 = d1 - spread;
        float n1 = normal_cdf(d1), n2 = normal_cdf(d2);
        float discounted = k * expf(-rate * t);
        call[i] = s * n1 - discounted * n2;
        put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
    }
}

void matmul(const float *a, const float *b, float *c, int n)
{
    /* i-k-j: the innermost loop walks rows of b and c. */
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            c[i * n + j] = 0;
        for (int k = 0; k < n; k++) {
            float factor = a[i * n + k];
#pragma omp simd
            for (int j = 0; j < n; j++)
                c[i * n + j] += factor * b[k * n + j];
        }
    }
}

void reduction(const float *values, float *total, int n)
{
    float sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
    for (int i = 0; i < n; i++)
        sum += values[i];
    *total = sum;
}

void histogram(const int *values, int *counts, int n)
{
    memset(counts, 0, 256 * sizeof(int));
#pragma omp parallel
    {
        int local[256] = {0};
#pragma omp for nowait
        for (int i = 0; i < n; i++)
            local[values[i] & 255]++;
#pragma omp critical
        for (int bin = 0; bin < 256; bin++)
            counts[bin] += local[bin];
    }
}
