// The vector types, make_*, and dim3.
#pragma once

#define GRIDLANE_VECTORS(name, T, two, four)                                              \
    struct name##1 { T x; };                                                              \
    struct __attribute__((aligned(two))) name##2 { T x, y; };                             \
    struct name##3 { T x, y, z; };                                                        \
    struct __attribute__((aligned(four))) name##4 { T x, y, z, w; };                      \
    GRIDLANE_BOTH name##1 make_##name##1(T x) { return {x}; }                             \
    GRIDLANE_BOTH name##2 make_##name##2(T x, T y) { return {x, y}; }                     \
    GRIDLANE_BOTH name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }             \
    GRIDLANE_BOTH name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
GRIDLANE_VECTORS(char, signed char, 2, 4)
GRIDLANE_VECTORS(uchar, unsigned char, 2, 4)
GRIDLANE_VECTORS(short, short, 4, 8)
GRIDLANE_VECTORS(ushort, unsigned short, 4, 8)
GRIDLANE_VECTORS(int, int, 8, 16)
GRIDLANE_VECTORS(uint, unsigned, 8, 16)
GRIDLANE_VECTORS(long, long, 16, 16)
GRIDLANE_VECTORS(ulong, unsigned long, 16, 16)
GRIDLANE_VECTORS(longlong, long long, 16, 16)
GRIDLANE_VECTORS(ulonglong, unsigned long long, 16, 16)
GRIDLANE_VECTORS(float, float, 8, 16)
GRIDLANE_VECTORS(double, double, 16, 16)
#undef GRIDLANE_VECTORS

struct dim3 {
    unsigned x, y, z;
    __host__ __device__ constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1)
        : x(x), y(y), z(z) {}
    __host__ __device__ constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    __host__ __device__ constexpr operator uint3() const { return {x, y, z}; }
};
