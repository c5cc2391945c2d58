// Forces between the particles of a box and those of the boxes around it.
#include <math.h>
#define PARTICLES 96

typedef struct { float x, y, z, w; } four;

static int most(int a, int b) { return a > b ? a : b; }
static int least(int a, int b) { return a < b ? a : b; }

void boxes(const four *restrict place, const float *restrict charge, four *restrict force, int side)
{
#pragma omp parallel for schedule(dynamic)
    for (int box = 0; box < side * side * side; box++) {
        int bx = box % side, by = box / side % side, bz = box / (side * side);
        for (int k = 0; k < PARTICLES; k++) {
            four p = place[box * PARTICLES + k];
            float fx = 0, fy = 0, fz = 0, fw = 0;
            for (int z = most(bz - 1, 0); z <= least(bz + 1, side - 1); z++)
                for (int y = most(by - 1, 0); y <= least(by + 1, side - 1); y++)
                    for (int x = most(bx - 1, 0); x <= least(bx + 1, side - 1); x++) {
                        int first = ((z * side + y) * side + x) * PARTICLES;
                        for (int n = first; n < first + PARTICLES; n++) {
                            float dx = p.x - place[n].x, dy = p.y - place[n].y, dz = p.z - place[n].z;
                            float v = expf(-0.5f * (dx * dx + dy * dy + dz * dz)) * charge[n];
                            fw += v;
                            fx += v * dx;
                            fy += v * dy;
                            fz += v * dz;
                        }
                    }
            force[box * PARTICLES + k] = (four){fx, fy, fz, fw};
        }
    }
}
