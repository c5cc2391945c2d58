// Forces between the particles of a box and those of the boxes around it. A group is a box.
#define PARTICLES 96

kernel void boxes(global const float4 *place, global const float *charge, global float4 *force, int side)
{
    local float4 others[PARTICLES];
    local float charges[PARTICLES];
    int group = get_group_id(0), t = get_local_id(0);
    int bx = group % side, by = group / side % side, bz = group / (side * side);
    int own = group * PARTICLES + t;
    float4 p = place[own], f = (float4)(0);
    for (int z = max(bz - 1, 0); z <= min(bz + 1, side - 1); z++)
        for (int y = max(by - 1, 0); y <= min(by + 1, side - 1); y++)
            for (int x = max(bx - 1, 0); x <= min(bx + 1, side - 1); x++) {
                int first = ((z * side + y) * side + x) * PARTICLES;
                others[t] = place[first + t];
                charges[t] = charge[first + t];
                barrier(CLK_LOCAL_MEM_FENCE);
                for (int n = 0; n < PARTICLES; n++) {
                    float dx = p.x - others[n].x, dy = p.y - others[n].y, dz = p.z - others[n].z;
                    float v = exp(-0.5f * (dx * dx + dy * dy + dz * dz)) * charges[n];
                    f.w += v;
                    f.x += v * dx;
                    f.y += v * dy;
                    f.z += v * dz;
                }
                barrier(CLK_LOCAL_MEM_FENCE);
            }
    force[own] = f;
}
