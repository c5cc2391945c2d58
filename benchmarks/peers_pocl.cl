/* The seven kernels in OpenCL, written like the CUDA ones. */
kernel void vecadd(global const float *a, global const float *b, global float *c, int n)
{
    int i = get_global_id(0);
    if (i < n)
        c[i] = a[i] + b[i];
}

kernel void nbody(global const float4 *bodies, global float4 *acc, int n)
{
    local float4 tile[256];
    int t = get_local_id(0), i = get_global_id(0);
    float4 me = bodies[i];
    float ax = 0, ay = 0, az = 0;
    for (int start = 0; start < n; start += 256) {
        tile[t] = bodies[start + t];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < 256; j++) {
            float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
            float inv = 1.0f / sqrt(dx * dx + dy * dy + dz * dz + 1e-3f);
            float w = tile[j].w * inv * inv * inv;
            ax += dx * w;
            ay += dy * w;
            az += dz * w;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    acc[i] = (float4)(ax, ay, az, 0);
}

kernel void mandelbrot(global int *counts, int width, int limit)
{
    int x = get_global_id(0), y = get_global_id(1);
    float cr = -2.0f + 3.0f * x / width, ci = -1.5f + 3.0f * y / width;
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

float normal_cdf(float d)
{
    float k = 1.0f / (1.0f + 0.2316419f * fabs(d));
    float poly = 0.31938153f + k * (-0.356563782f + k * (1.781477937f
                 + k * (-1.821255978f + k * 1.330274429f)));
    float tail = 0.39894228f * exp(-0.5f * d * d) * k * poly;
    return d > 0 ? 1.0f - tail : tail;
}

kernel void blackscholes(global const float *spot, global const float *strike,
                         global float *call, global float *put, int n)
{
    int i = get_global_id(0);
    if (i >= n)
        return;
    float t = 1.0f, rate = 0.02f, volatility = 0.3f, spread = volatility * sqrt(t);
    float s = spot[i], k = strike[i];
    float d1 = (log(s / k) + (rate + 0.5f * volatility * volatility) * t) / spread;
    float d2 = d1 - spread;
    float n1 = normal_cdf(d1), n2 = normal_cdf(d2), discounted = k * exp(-rate * t);
    call[i] = s * n1 - discounted * n2;
    put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
}

kernel void matmul(global const float *a, global const float *b, global float *c, int n)
{
    local float tile_a[16][16], tile_b[16][16];
    int tx = get_local_id(0), ty = get_local_id(1), x = get_global_id(0), y = get_global_id(1);
    float total = 0;
    for (int start = 0; start < n; start += 16) {
        tile_a[ty][tx] = a[y * n + start + tx];
        tile_b[ty][tx] = b[(start + ty) * n + x];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 16; k++)
            total += tile_a[ty][k] * tile_b[k][tx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[y * n + x] = total;
}

kernel void reduction(global const float *values, global float *sums, int n)
{
    local float partial[256];
    int t = get_local_id(0);
    float total = 0;
    for (int i = get_global_id(0); i < n; i += get_global_size(0))
        total += values[i];
    partial[t] = total;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = 128; step > 0; step /= 2) {
        if (t < step)
            partial[t] += partial[t + step];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (t == 0)
        sums[get_group_id(0)] = partial[0];
}

kernel void histogram(global const int *values, global int *counts, int n)
{
    local int bins[256];
    int t = get_local_id(0);
    bins[t] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_global_id(0); i < n; i += get_global_size(0))
        atomic_inc(&bins[values[i] & 255]);
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&counts[t], bins[t]);
}
