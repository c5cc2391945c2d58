#include <metal_stdlib>
using namespace metal;
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)

struct Launch {
    uint base[3];
    uint grid[3];
    device uchar* report;
    uint dynamic_bytes;
};
struct Params {
    device uchar* p0;
    device uchar* p1;
    int p2;
};
kernel void k_turn(
    constant Params& params [[buffer(0)]],
    constant Launch& launch [[buffer(1)]],
    uint3 thread_index [[thread_position_in_threadgroup]],
    uint3 block_index [[threadgroup_position_in_grid]],
    uint3 block_shape [[threads_per_threadgroup]],
    uint lane [[thread_index_in_simdgroup]]) {
    device uchar* v1 = params.p0;
    device uchar* v2 = params.p1;
    int v3 = params.p2;
    int v4 = int(thread_index.x);
    int v5 = int(block_index.x + launch.base[0]);
    int v6 = int(block_shape.x);
    int v7 = int(uint(v5) * uint(v6));
    int v8 = int(uint(v7) + uint(v4));
    bool v9 = v8 < v3;
    if (v9) {
        device uchar* v10 = (v1 + long(v8) * 4);
        float v11 = *(device float*)(v10);
        float v12 = v11 * 0.5f;
        int v13 = v8 / 4;
        device uchar* v14 = (v2 + long(v13) * 4);
        *(device float*)(v14) = v12;
    }
}
