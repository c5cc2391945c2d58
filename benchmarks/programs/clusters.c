// Clustering: each point's nearest center, and the sums of each center's points.
#define DIMENSIONS 8
#define CENTERS 16

void clusters(const float *restrict points, float *restrict centers, int *restrict member, int n,
              int steps)
{
    for (int step = 0; step < steps; step++) {
        float sums[CENTERS * DIMENSIONS] = {0};
        int counts[CENTERS] = {0};
#pragma omp parallel for reduction(+ : sums, counts)
        for (int i = 0; i < n; i++) {
            float best = 3e38f;
            int which = 0;
            for (int c = 0; c < CENTERS; c++) {
                float sum = 0;
                for (int d = 0; d < DIMENSIONS; d++) {
                    float gap = points[i * DIMENSIONS + d] - centers[c * DIMENSIONS + d];
                    sum += gap * gap;
                }
                if (sum < best) {
                    best = sum;
                    which = c;
                }
            }
            member[i] = which;
            for (int d = 0; d < DIMENSIONS; d++)
                sums[which * DIMENSIONS + d] += points[i * DIMENSIONS + d];
            counts[which]++;
        }
        for (int c = 0; c < CENTERS; c++)
            for (int d = 0; d < DIMENSIONS; d++)
                if (counts[c])
                    centers[c * DIMENSIONS + d] = sums[c * DIMENSIONS + d] / counts[c];
    }
}
