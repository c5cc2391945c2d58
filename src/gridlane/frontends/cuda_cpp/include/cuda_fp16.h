// Binary16 and pairs of it.
#pragma once
#define __CUDA_FP16_H__

struct __half;
struct __half2;
GRIDLANE_DEVICE __half atomicAdd(__half *p, __half v);

#define GRIDLANE_H __half
#define GRIDLANE_H2 __half2
#define GRIDLANE_R __half_raw
#define GRIDLANE_R2 __half2_raw
#define GRIDLANE_N _Float16
#define GRIDLANE_V gridlane_half_pair
#include "gridlane/half_operations.h"
#undef GRIDLANE_H
#undef GRIDLANE_H2
#undef GRIDLANE_R
#undef GRIDLANE_R2
#undef GRIDLANE_N
#undef GRIDLANE_V

typedef __half half;
typedef __half2 half2;
typedef __half __nv_half;
typedef __half2 __nv_half2;

GRIDLANE_DEVICE __half atomicAdd(__half *p, __half v)
{
    return __half(__scoped_atomic_fetch_add((_Float16 *)p, v.gridlane_value, __ATOMIC_RELAXED,
                                            __MEMORY_SCOPE_DEVICE));
}

// --- numbers as halves

GRIDLANE_BOTH __half __float2half(float x) { return __half(x); }
GRIDLANE_BOTH __half __float2half_rn(float x) { return __half(x); }
GRIDLANE_BOTH __half __double2half(double x) { return __half(x); }
GRIDLANE_BOTH float __half2float(__half x) { return (float)x; }
GRIDLANE_BOTH __half __int2half_rn(int x) { return __half(x); }
GRIDLANE_BOTH __half __uint2half_rn(unsigned x) { return __half(x); }
GRIDLANE_BOTH __half __short2half_rn(short x) { return __half(x); }
GRIDLANE_BOTH __half __ushort2half_rn(unsigned short x) { return __half(x); }
GRIDLANE_BOTH __half __ll2half_rn(long long x) { return __half(x); }
GRIDLANE_BOTH __half __ull2half_rn(unsigned long long x) { return __half(x); }
#define GRIDLANE_ROUNDED(suffix, ptx)                                               \
    GRIDLANE_CONST __half __float2half_##suffix(float x)                            \
    {                                                                               \
        unsigned short y;                                                           \
        asm("cvt." ptx ".f16.f32 %0, %1;" : "=h"(y) : "f"(x));                      \
        return __builtin_bit_cast(__half, y);                                       \
    }
GRIDLANE_ROUNDED(rz, "rz") GRIDLANE_ROUNDED(ru, "rp") GRIDLANE_ROUNDED(rd, "rm")
#undef GRIDLANE_ROUNDED
#define GRIDLANE_ROUNDED(T, name, suffix, ptx, c)                                   \
    GRIDLANE_CONST __half __##name##2half_##suffix(T x)                             \
    {                                                                               \
        unsigned short y;                                                           \
        asm("cvt." ptx " %0, %1;" : "=h"(y) : c(x));                                \
        return __builtin_bit_cast(__half, y);                                       \
    }
#define GRIDLANE_FROM_INTEGER(T, name, ptx, c)              \
    GRIDLANE_ROUNDED(T, name, rz, "rz.f16." ptx, c)         \
    GRIDLANE_ROUNDED(T, name, ru, "rp.f16." ptx, c)         \
    GRIDLANE_ROUNDED(T, name, rd, "rm.f16." ptx, c)
GRIDLANE_FROM_INTEGER(short, short, "s16", "h")
GRIDLANE_FROM_INTEGER(unsigned short, ushort, "u16", "h")
GRIDLANE_FROM_INTEGER(int, int, "s32", "r")
GRIDLANE_FROM_INTEGER(unsigned, uint, "u32", "r")
GRIDLANE_FROM_INTEGER(long long, ll, "s64", "l")
GRIDLANE_FROM_INTEGER(unsigned long long, ull, "u64", "l")
#undef GRIDLANE_FROM_INTEGER
#undef GRIDLANE_ROUNDED
GRIDLANE_INTEGERS(__half, __half)
GRIDLANE_BOTH short __half_as_short(__half x) { return __builtin_bit_cast(short, x); }
GRIDLANE_BOTH unsigned short __half_as_ushort(__half x)
{
    return __builtin_bit_cast(unsigned short, x);
}
GRIDLANE_BOTH __half __short_as_half(short x) { return __builtin_bit_cast(__half, x); }
GRIDLANE_BOTH __half __ushort_as_half(unsigned short x) { return __builtin_bit_cast(__half, x); }

// --- pairs

GRIDLANE_BOTH __half2 make_half2(__half x, __half y) { return __half2(x, y); }
GRIDLANE_BOTH __half2 __halves2half2(__half x, __half y) { return __half2(x, y); }
GRIDLANE_BOTH __half2 __half2half2(__half x) { return __half2(x, x); }
GRIDLANE_BOTH __half2 __float2half2_rn(float x) { return __half2(__half(x), __half(x)); }
GRIDLANE_BOTH __half2 __floats2half2_rn(float x, float y) { return __half2(__half(x), __half(y)); }
GRIDLANE_BOTH __half2 __float22half2_rn(float2 v) { return __floats2half2_rn(v.x, v.y); }
GRIDLANE_BOTH float2 __half22float2(__half2 v) { return {(float)v.x, (float)v.y}; }
GRIDLANE_BOTH __half __low2half(__half2 v) { return v.x; }
GRIDLANE_BOTH __half __high2half(__half2 v) { return v.y; }
GRIDLANE_BOTH __half2 __low2half2(__half2 v) { return __half2(v.x, v.x); }
GRIDLANE_BOTH __half2 __high2half2(__half2 v) { return __half2(v.y, v.y); }
GRIDLANE_BOTH __half2 __lows2half2(__half2 a, __half2 b) { return __half2(a.x, b.x); }
GRIDLANE_BOTH __half2 __highs2half2(__half2 a, __half2 b) { return __half2(a.y, b.y); }

#define CUDART_INF_FP16 __ushort_as_half((unsigned short)0x7C00u)
#define CUDART_NAN_FP16 __ushort_as_half((unsigned short)0x7FFFu)
#define CUDART_ZERO_FP16 __ushort_as_half((unsigned short)0x0000u)
#define CUDART_ONE_FP16 __ushort_as_half((unsigned short)0x3C00u)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half((unsigned short)0x7BFFu)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half((unsigned short)0x0001u)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half((unsigned short)0x8000u)
