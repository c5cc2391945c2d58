// The place of a thread: its fields are read from special registers.
#pragma once

#define GRIDLANE_PLACE(kind, variable, place)                                                    \
    struct kind {                                                                                \
        __declspec(property(get = read_x)) unsigned x;                                           \
        __declspec(property(get = read_y)) unsigned y;                                           \
        __declspec(property(get = read_z)) unsigned z;                                           \
        __device__ static inline unsigned read_x() { return __nvvm_read_ptx_sreg_##place##_x(); }  \
        __device__ static inline unsigned read_y() { return __nvvm_read_ptx_sreg_##place##_y(); }  \
        __device__ static inline unsigned read_z() { return __nvvm_read_ptx_sreg_##place##_z(); }  \
        __device__ operator uint3() const { return {x, y, z}; }                                  \
        __device__ operator dim3() const { return dim3(x, y, z); }                               \
    };                                                                                           \
    extern const __device__ __attribute__((weak)) kind variable;
GRIDLANE_PLACE(gridlane_thread, threadIdx, tid)
GRIDLANE_PLACE(gridlane_block, blockIdx, ctaid)
GRIDLANE_PLACE(gridlane_block_size, blockDim, ntid)
GRIDLANE_PLACE(gridlane_grid_size, gridDim, nctaid)
#undef GRIDLANE_PLACE
constexpr __device__ int warpSize = 32;
