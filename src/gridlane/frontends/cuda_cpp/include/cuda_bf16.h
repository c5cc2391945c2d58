// Brain floats and pairs of them.
#pragma once

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
GRIDLANE_BOTH __nv_bfloat16 __float2bfloat16_rz(float x)
{
    unsigned bits = __builtin_bit_cast(unsigned, x);
    unsigned short kept = (unsigned short)(x != x ? 0x7fff : bits >> 16);
    return __builtin_bit_cast(__nv_bfloat16, kept);
}
GRIDLANE_BOTH __nv_bfloat16 __double2bfloat16(double x) { return __nv_bfloat16(x); }
GRIDLANE_BOTH float __bfloat162float(__nv_bfloat16 x) { return (float)x; }
GRIDLANE_BOTH __nv_bfloat16 __int2bfloat16_rn(int x) { return __nv_bfloat16(x); }
GRIDLANE_BOTH __nv_bfloat16 __uint2bfloat16_rn(unsigned x) { return __nv_bfloat16(x); }
GRIDLANE_DEVICE int __bfloat162int_rn(__nv_bfloat16 x) { return __float2int_rn(x); }
GRIDLANE_DEVICE int __bfloat162int_rz(__nv_bfloat16 x) { return __float2int_rz(x); }
GRIDLANE_DEVICE unsigned __bfloat162uint_rz(__nv_bfloat16 x) { return __float2uint_rz(x); }
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
