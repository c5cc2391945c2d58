// Forces between the particles of a box and those of the boxes around it. A block is a box.
#define PARTICLES 96

extern "C" __global__ void boxes(const float4 *place, const float *charge, float4 *force, int side)
{
    __shared__ float4 others[PARTICLES];
    __shared__ float charges[PARTICLES];
    int bx = blockIdx.x % side, by = blockIdx.x / side % side, bz = blockIdx.x / (side * side);
    int own = blockIdx.x * PARTICLES + threadIdx.x;
    float4 p = place[own], f = make_float4(0, 0, 0, 0);
    for (int z = max(bz - 1, 0); z <= min(bz + 1, side - 1); z++)
        for (int y = max(by - 1, 0); y <= min(by + 1, side - 1); y++)
            for (int x = max(bx - 1, 0); x <= min(bx + 1, side - 1); x++) {
                int first = ((z * side + y) * side + x) * PARTICLES;
                others[threadIdx.x] = place[first + threadIdx.x];
                charges[threadIdx.x] = charge[first + threadIdx.x];
                __syncthreads();
                for (int n = 0; n < PARTICLES; n++) {
                    float dx = p.x - others[n].x, dy = p.y - others[n].y, dz = p.z - others[n].z;
                    float v = expf(-0.5f * (dx * dx + dy * dy + dz * dz)) * charges[n];
                    f.w += v;
                    f.x += v * dx;
                    f.y += v * dy;
                    f.z += v * dz;
                }
                __syncthreads();
            }
    force[own] = f;
}
