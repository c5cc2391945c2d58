// Brain floats and pairs of them.
#pragma once
#define __CUDA_BF16_H__

#if defined(GRIDLANE_PROGRAM) && !defined(__CUDA_ARCH__)
// What clang calls on the host to round to nearest even; libgcc has it from 13 on.
extern "C" __attribute__((weak)) __bf16 __truncsfbf2(float x)
{
    unsigned bits = __builtin_bit_cast(unsigned, x);
    unsigned short made = x != x ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return __builtin_bit_cast(__bf16, made);
}
extern "C" __attribute__((weak)) __bf16 __truncdfbf2(double x)
{
    float near = (float)x;  // an inexact one becomes odd, which rounds on as x does
    unsigned bits = __builtin_bit_cast(unsigned, near);
    if (near == near && !__builtin_isinf(near) && (double)near != x) {
        bits -= __builtin_fabs((double)near) > __builtin_fabs(x);
        bits |= 1;
    }
    return __truncsfbf2(__builtin_bit_cast(float, bits));
}
#endif

struct __nv_bfloat16;
struct __nv_bfloat162;
GRIDLANE_DEVICE __nv_bfloat16 atomicAdd(__nv_bfloat16 *p, __nv_bfloat16 v);

#define GRIDLANE_H __nv_bfloat16
#define GRIDLANE_H2 __nv_bfloat162
#define GRIDLANE_R __nv_bfloat16_raw
#define GRIDLANE_R2 __nv_bfloat162_raw
#define GRIDLANE_N __bf16
#define GRIDLANE_V gridlane_bfloat_pair
#include "gridlane/half_operations.h"
#undef GRIDLANE_H
#undef GRIDLANE_H2
#undef GRIDLANE_R
#undef GRIDLANE_R2
#undef GRIDLANE_N
#undef GRIDLANE_V

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

// A word of memory holds the number; the half beside it stays as it is.
GRIDLANE_DEVICE __nv_bfloat16 atomicAdd(__nv_bfloat16 *p, __nv_bfloat16 v)
{
    unsigned short old = *(volatile unsigned short *)p, seen;
    do {
        seen = old;
        __nv_bfloat16 sum = __builtin_bit_cast(__nv_bfloat16, seen) + v;
        old = atomicCAS((unsigned short *)p, seen, __builtin_bit_cast(unsigned short, sum));
    } while (old != seen);
    return __builtin_bit_cast(__nv_bfloat16, old);
}

GRIDLANE_BOTH __nv_bfloat16 __float2bfloat16(float x) { return __nv_bfloat16(x); }
GRIDLANE_BOTH __nv_bfloat16 __float2bfloat16_rn(float x) { return __nv_bfloat16(x); }
// The upper half of the word, and one more where that is further in the direction.
GRIDLANE_BOTH __nv_bfloat16 gridlane_bfloat(float x, bool further)
{
    unsigned bits = __builtin_bit_cast(unsigned, x), more = further && bits & 0xffff ? 1 : 0;
    unsigned short kept = (unsigned short)(x != x ? 0x7fff : (bits >> 16) + more);
    return __builtin_bit_cast(__nv_bfloat16, kept);
}
GRIDLANE_BOTH __nv_bfloat16 __float2bfloat16_rz(float x) { return gridlane_bfloat(x, false); }
GRIDLANE_BOTH __nv_bfloat16 __float2bfloat16_ru(float x) { return gridlane_bfloat(x, x > 0); }
GRIDLANE_BOTH __nv_bfloat16 __float2bfloat16_rd(float x) { return gridlane_bfloat(x, x < 0); }
GRIDLANE_BOTH __nv_bfloat16 __double2bfloat16(double x) { return __nv_bfloat16(x); }
GRIDLANE_BOTH float __bfloat162float(__nv_bfloat16 x) { return (float)x; }
// By a float, whose last bit is set where it is not exact: so both roundings are one.
#define GRIDLANE_FROM_INTEGER(T, name, by, Wide)                                               \
    GRIDLANE_CONST __nv_bfloat16 __##name##2bfloat16_rn(T x)                                   \
    {                                                                                          \
        float cut = __##by##2float_rz(x);                                                      \
        unsigned odd = (Wide)cut != (Wide)x;                                                   \
        return __nv_bfloat16(__uint_as_float(__float_as_uint(cut) | odd));                     \
    }                                                                                          \
    GRIDLANE_CONST __nv_bfloat16 __##name##2bfloat16_rz(T x)                                   \
    {                                                                                          \
        return __float2bfloat16_rz(__##by##2float_rz(x));                                      \
    }                                                                                          \
    GRIDLANE_CONST __nv_bfloat16 __##name##2bfloat16_ru(T x)                                   \
    {                                                                                          \
        return __float2bfloat16_ru(__##by##2float_ru(x));                                      \
    }                                                                                          \
    GRIDLANE_CONST __nv_bfloat16 __##name##2bfloat16_rd(T x)                                   \
    {                                                                                          \
        return __float2bfloat16_rd(__##by##2float_rd(x));                                      \
    }
GRIDLANE_FROM_INTEGER(short, short, int, long long)
GRIDLANE_FROM_INTEGER(unsigned short, ushort, uint, long long)
GRIDLANE_FROM_INTEGER(int, int, int, long long)
GRIDLANE_FROM_INTEGER(unsigned, uint, uint, long long)
GRIDLANE_FROM_INTEGER(long long, ll, ll, long long)
GRIDLANE_FROM_INTEGER(unsigned long long, ull, ull, unsigned long long)
#undef GRIDLANE_FROM_INTEGER
GRIDLANE_INTEGERS(__bfloat16, __nv_bfloat16)
GRIDLANE_BOTH short __bfloat16_as_short(__nv_bfloat16 x) { return __builtin_bit_cast(short, x); }
GRIDLANE_BOTH unsigned short __bfloat16_as_ushort(__nv_bfloat16 x)
{
    return __builtin_bit_cast(unsigned short, x);
}
GRIDLANE_BOTH __nv_bfloat16 __short_as_bfloat16(short x)
{
    return __builtin_bit_cast(__nv_bfloat16, x);
}
GRIDLANE_BOTH __nv_bfloat16 __ushort_as_bfloat16(unsigned short x)
{
    return __builtin_bit_cast(__nv_bfloat16, x);
}

GRIDLANE_BOTH __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
GRIDLANE_BOTH __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
GRIDLANE_BOTH __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 x) { return {x, x}; }
GRIDLANE_BOTH __nv_bfloat162 __float2bfloat162_rn(float x)
{
    return {__nv_bfloat16(x), __nv_bfloat16(x)};
}
GRIDLANE_BOTH __nv_bfloat162 __floats2bfloat162_rn(float x, float y)
{
    return {__nv_bfloat16(x), __nv_bfloat16(y)};
}
GRIDLANE_BOTH __nv_bfloat162 __float22bfloat162_rn(float2 v)
{
    return __floats2bfloat162_rn(v.x, v.y);
}
GRIDLANE_BOTH float2 __bfloat1622float2(__nv_bfloat162 v) { return {(float)v.x, (float)v.y}; }
GRIDLANE_BOTH __nv_bfloat16 __low2bfloat16(__nv_bfloat162 v) { return v.x; }
GRIDLANE_BOTH __nv_bfloat16 __high2bfloat16(__nv_bfloat162 v) { return v.y; }
GRIDLANE_BOTH __nv_bfloat162 __low2bfloat162(__nv_bfloat162 v) { return {v.x, v.x}; }
GRIDLANE_BOTH __nv_bfloat162 __high2bfloat162(__nv_bfloat162 v) { return {v.y, v.y}; }
GRIDLANE_BOTH __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.x, b.x}; }
GRIDLANE_BOTH __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.y, b.y}; }

#define CUDART_INF_BF16 __ushort_as_bfloat16((unsigned short)0x7F80u)
#define CUDART_NAN_BF16 __ushort_as_bfloat16((unsigned short)0x7FFFu)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x0000u)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x8000u)
#define CUDART_ONE_BF16 __ushort_as_bfloat16((unsigned short)0x3F80u)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16((unsigned short)0x7F7Fu)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16((unsigned short)0x0001u)
