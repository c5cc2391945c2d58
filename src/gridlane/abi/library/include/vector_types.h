/* The vector types, make_* of them, and dim3, for C and C++ of the host. */
#pragma once

#ifndef GRIDLANE_VECTOR_TYPES /* code of the device has its own, which are these as well */
#define GRIDLANE_VECTOR_TYPES
#define GRIDLANE_VECTORS(name, T, two, four)                                                   \
    typedef struct name##1 { T x; } name##1;                                                   \
    typedef struct __attribute__((aligned(two))) name##2 { T x, y; } name##2;                  \
    typedef struct name##3 { T x, y, z; } name##3;                                             \
    typedef struct __attribute__((aligned(four))) name##4 { T x, y, z, w; } name##4;           \
    static inline name##1 make_##name##1(T x) { name##1 v = { x }; return v; }                 \
    static inline name##2 make_##name##2(T x, T y) { name##2 v = { x, y }; return v; }         \
    static inline name##3 make_##name##3(T x, T y, T z) { name##3 v = { x, y, z }; return v; } \
    static inline name##4 make_##name##4(T x, T y, T z, T w)                                   \
    {                                                                                          \
        name##4 v = { x, y, z, w };                                                            \
        return v;                                                                              \
    }
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

typedef struct dim3 {
    unsigned x, y, z;
#ifdef __cplusplus
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return uint3{ x, y, z }; }
#endif
} dim3;
#endif
