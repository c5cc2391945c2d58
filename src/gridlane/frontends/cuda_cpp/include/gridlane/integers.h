// Integer intrinsics.
#pragma once

GRIDLANE_CONST int __popc(unsigned x) { return __builtin_popcount(x); }
GRIDLANE_CONST int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
GRIDLANE_CONST int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
GRIDLANE_CONST int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
GRIDLANE_CONST int __ffs(int x) { return __builtin_ffs(x); }
GRIDLANE_CONST int __ffsll(long long x) { return __builtin_ffsll(x); }
GRIDLANE_CONST unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
GRIDLANE_CONST unsigned long long __brevll(unsigned long long x)
{
    return __builtin_bitreverse64(x);
}
GRIDLANE_BOTH unsigned short __nv_bswap16(unsigned short x) { return __builtin_bswap16(x); }
GRIDLANE_BOTH unsigned __nv_bswap32(unsigned x) { return __builtin_bswap32(x); }
GRIDLANE_BOTH unsigned long long __nv_bswap64(unsigned long long x)
{
    return __builtin_bswap64(x);
}
GRIDLANE_CONST unsigned __byte_perm(unsigned x, unsigned y, unsigned selector)
{
    return __nvvm_prmt(x, y, selector & 0x7777);
}
GRIDLANE_CONST unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift)
{
    return (unsigned)(((unsigned long long)high << 32 | low) << (shift & 31) >> 32);
}
GRIDLANE_CONST unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift)
{
    return (unsigned)(((unsigned long long)high << 32 | low) >> (shift & 31));
}
GRIDLANE_CONST unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift)
{
    return shift < 32 ? __funnelshift_l(low, high, shift) : low;
}
GRIDLANE_CONST unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift)
{
    return shift < 32 ? __funnelshift_r(low, high, shift) : high;
}
GRIDLANE_CONST int __mulhi(int x, int y) { return (int)((long long)x * y >> 32); }
GRIDLANE_CONST unsigned __umulhi(unsigned x, unsigned y)
{
    return (unsigned)((unsigned long long)x * y >> 32);
}
GRIDLANE_CONST long long __mul64hi(long long x, long long y) { return __nvvm_mulhi_ll(x, y); }
GRIDLANE_CONST unsigned long long __umul64hi(unsigned long long x, unsigned long long y)
{
    return __nvvm_mulhi_ull(x, y);
}
// The low 24 bits count, and the product wraps.
GRIDLANE_CONST int __mul24(int x, int y)
{
    int a = (int)((unsigned)x << 8) >> 8, b = (int)((unsigned)y << 8) >> 8;
    return (int)((unsigned)a * (unsigned)b);
}
GRIDLANE_CONST unsigned __umul24(unsigned x, unsigned y)
{
    return (x & 0xffffff) * (y & 0xffffff);
}
GRIDLANE_CONST unsigned __sad(int x, int y, unsigned z)
{
    return (x > y ? (unsigned)x - (unsigned)y : (unsigned)y - (unsigned)x) + z;
}
GRIDLANE_CONST unsigned __usad(unsigned x, unsigned y, unsigned z)
{
    return (x > y ? x - y : y - x) + z;
}
GRIDLANE_CONST int __hadd(int x, int y) { return (int)(((long long)x + y) >> 1); }
GRIDLANE_CONST int __rhadd(int x, int y) { return (int)(((long long)x + y + 1) >> 1); }
GRIDLANE_CONST unsigned __uhadd(unsigned x, unsigned y)
{
    return (unsigned)(((unsigned long long)x + y) >> 1);
}
GRIDLANE_CONST unsigned __urhadd(unsigned x, unsigned y)
{
    return (unsigned)(((unsigned long long)x + y + 1) >> 1);
}

#define GRIDLANE_BYTE(T, x, n) ((T)((x) >> (8 * (n))))
#define GRIDLANE_DOT(name, R, A, a, B, b)                                              \
    GRIDLANE_CONST R name(A x, B y, R z)                                               \
    {                                                                                  \
        return z + GRIDLANE_BYTE(a, x, 0) * GRIDLANE_BYTE(b, y, 0) +                   \
            GRIDLANE_BYTE(a, x, 1) * GRIDLANE_BYTE(b, y, 1) +                          \
            GRIDLANE_BYTE(a, x, 2) * GRIDLANE_BYTE(b, y, 2) +                          \
            GRIDLANE_BYTE(a, x, 3) * GRIDLANE_BYTE(b, y, 3);                           \
    }
GRIDLANE_DOT(__dp4a, int, int, signed char, int, signed char)
GRIDLANE_DOT(__dp4a, unsigned, unsigned, unsigned char, unsigned, unsigned char)
#undef GRIDLANE_DOT
GRIDLANE_CONST int __dp4a(char4 x, char4 y, int z)
{
    return z + x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
}
GRIDLANE_CONST unsigned __dp4a(uchar4 x, uchar4 y, unsigned z)
{
    return z + x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
}
// The low or high two bytes of the second operand, with the two halves of the first.
GRIDLANE_CONST int __dp2a_lo(int x, int y, int z)
{
    return z + (short)x * GRIDLANE_BYTE(signed char, y, 0) +
        (short)(x >> 16) * GRIDLANE_BYTE(signed char, y, 1);
}
GRIDLANE_CONST int __dp2a_hi(int x, int y, int z) { return __dp2a_lo(x, y >> 16, z); }
GRIDLANE_CONST unsigned __dp2a_lo(unsigned x, unsigned y, unsigned z)
{
    return z + (x & 0xffff) * GRIDLANE_BYTE(unsigned char, y, 0) +
        (x >> 16) * GRIDLANE_BYTE(unsigned char, y, 1);
}
GRIDLANE_CONST unsigned __dp2a_hi(unsigned x, unsigned y, unsigned z)
{
    return __dp2a_lo(x, y >> 16, z);
}
#undef GRIDLANE_BYTE

// The place of the set bit that is so many steps from a place: upwards, downwards for less than 0;
// 0 steps ask for a bit at the place itself.
GRIDLANE_CONST unsigned __fns(unsigned mask, unsigned place, int steps)
{
    unsigned found;
    asm("fns.b32 %0, %1, %2, %3;" : "=r"(found) : "r"(mask), "r"(place), "r"(steps));
    return found;
}
