// Clustering: each point's nearest center, and the sums of each center's points.
#define DIMENSIONS 8
#define CENTERS 16

kernel void assign(global const float *points, global const float *centers, global int *member, int n)
{
    int i = get_global_id(0);
    if (i >= n)
        return;
    float best = 3e38f;
    int which = 0;
    for (int c = 0; c < CENTERS; c++) {
        float sum = 0;
        for (int d = 0; d < DIMENSIONS; d++) {
            float gap = points[d * n + i] - centers[c * DIMENSIONS + d];
            sum += gap * gap;
        }
        if (sum < best) {
            best = sum;
            which = c;
        }
    }
    member[i] = which;
}

// OpenCL 1.2 has no atomic sums of floats.
static void add_local(volatile local float *place, float value)
{
    volatile local int *words = (volatile local int *)place;
    int old = *words, seen;
    while ((seen = atomic_cmpxchg(words, old, as_int(as_float(old) + value))) != old)
        old = seen;
}

static void add_global(volatile global float *place, float value)
{
    volatile global int *words = (volatile global int *)place;
    int old = *words, seen;
    while ((seen = atomic_cmpxchg(words, old, as_int(as_float(old) + value))) != old)
        old = seen;
}

kernel void gather(global const float *points, global const int *member, global float *sums,
                   global int *counts, int n)
{
    local float part[CENTERS * DIMENSIONS];
    local int count[CENTERS];
    int t = get_local_id(0);
    if (t < CENTERS * DIMENSIONS)
        part[t] = 0;
    if (t < CENTERS)
        count[t] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_global_id(0); i < n; i += get_global_size(0)) {
        int c = member[i];
        for (int d = 0; d < DIMENSIONS; d++)
            add_local(&part[c * DIMENSIONS + d], points[d * n + i]);
        atomic_add(&count[c], 1);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t < CENTERS * DIMENSIONS)
        add_global(&sums[t], part[t]);
    if (t < CENTERS)
        atomic_add(&counts[t], count[t]);
}

kernel void move(global float *centers, global float *sums, global int *counts)
{
    int t = get_local_id(0), c = t / DIMENSIONS, count = counts[c];
    if (count > 0)
        centers[t] = sums[t] / count;
    barrier(CLK_GLOBAL_MEM_FENCE);
    sums[t] = 0;
    if (t % DIMENSIONS == 0)
        counts[c] = 0;
}
