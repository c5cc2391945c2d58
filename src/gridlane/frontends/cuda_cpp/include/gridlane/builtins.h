// The place of a thread: its fields are read from special registers.
#pragma once

struct gridlane_thread {
    __declspec(property(get = read_x)) unsigned x;
    __declspec(property(get = read_y)) unsigned y;
    __declspec(property(get = read_z)) unsigned z;
    __device__ static inline unsigned read_x() { return __nvvm_read_ptx_sreg_tid_x(); }
    __device__ static inline unsigned read_y() { return __nvvm_read_ptx_sreg_tid_y(); }
    __device__ static inline unsigned read_z() { return __nvvm_read_ptx_sreg_tid_z(); }
    __device__ operator uint3() const { return {x, y, z}; }
    __device__ operator dim3() const { return dim3(x, y, z); }
};
struct gridlane_block {
    __declspec(property(get = read_x)) unsigned x;
    __declspec(property(get = read_y)) unsigned y;
    __declspec(property(get = read_z)) unsigned z;
    __device__ static inline unsigned read_x() { return __nvvm_read_ptx_sreg_ctaid_x(); }
    __device__ static inline unsigned read_y() { return __nvvm_read_ptx_sreg_ctaid_y(); }
    __device__ static inline unsigned read_z() { return __nvvm_read_ptx_sreg_ctaid_z(); }
    __device__ operator uint3() const { return {x, y, z}; }
    __device__ operator dim3() const { return dim3(x, y, z); }
};
struct gridlane_block_size {
    __declspec(property(get = read_x)) unsigned x;
    __declspec(property(get = read_y)) unsigned y;
    __declspec(property(get = read_z)) unsigned z;
    __device__ static inline unsigned read_x() { return __nvvm_read_ptx_sreg_ntid_x(); }
    __device__ static inline unsigned read_y() { return __nvvm_read_ptx_sreg_ntid_y(); }
    __device__ static inline unsigned read_z() { return __nvvm_read_ptx_sreg_ntid_z(); }
    __device__ operator uint3() const { return {x, y, z}; }
    __device__ operator dim3() const { return dim3(x, y, z); }
};
struct gridlane_grid_size {
    __declspec(property(get = read_x)) unsigned x;
    __declspec(property(get = read_y)) unsigned y;
    __declspec(property(get = read_z)) unsigned z;
    __device__ static inline unsigned read_x() { return __nvvm_read_ptx_sreg_nctaid_x(); }
    __device__ static inline unsigned read_y() { return __nvvm_read_ptx_sreg_nctaid_y(); }
    __device__ static inline unsigned read_z() { return __nvvm_read_ptx_sreg_nctaid_z(); }
    __device__ operator uint3() const { return {x, y, z}; }
    __device__ operator dim3() const { return dim3(x, y, z); }
};

extern const __device__ __attribute__((weak)) gridlane_thread threadIdx;
extern const __device__ __attribute__((weak)) gridlane_block blockIdx;
extern const __device__ __attribute__((weak)) gridlane_block_size blockDim;
extern const __device__ __attribute__((weak)) gridlane_grid_size gridDim;
constexpr __device__ int warpSize = 32;
