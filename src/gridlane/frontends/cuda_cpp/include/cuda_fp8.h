// Numbers of 8 bits: e4m3 (largest 448, no infinity) and e5m2, and two or four of them.
#pragma once
#define __CUDA_FP8_H__
#include "cuda_bf16.h"
#include "cuda_fp16.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned __nv_fp8x4_storage_t;
// Out of range: the largest number, or NaN (e4m3) and infinity (e5m2).
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

// The nearest one, to even. A NaN becomes 0x7f.
GRIDLANE_BOTH __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t limit,
                                                       __nv_fp8_interpretation_t kind)
{
    unsigned bits = __builtin_bit_cast(unsigned, x), size = bits & 0x7fffffff;
    unsigned fraction = kind == __NV_E4M3 ? 3 : 2, least = kind == __NV_E4M3 ? 121 : 113;
    unsigned largest = kind == __NV_E4M3 ? 0x7e : 0x7b, made = 0;
    if (size > 0x7f800000)
        return 0x7f;
    // Below the least exponent the fraction has its leading one in it, and is shifted further.
    unsigned exponent = size >> 23, down = 23 - fraction;
    unsigned digits = exponent < least ? (size & 0x7fffff) | 0x800000 : size;
    down += exponent < least ? least - exponent : 0;
    if (down < 32)
        made = (digits + ((1u << (down - 1)) - 1) + (digits >> down & 1)) >> down;
    if (exponent >= least)
        made -= (least - 1) << fraction;
    if (made > largest)
        made = limit == __NV_SATFINITE ? largest : kind == __NV_E4M3 ? 0x7f : 0x7c;
    return (__nv_fp8_storage_t)(made | (bits >> 24 & 0x80));
}
// By a float whose last bit tells whether bits were lost, so that it is rounded once. A NaN of e5m2
// becomes 0x7e, as NVIDIA's conversion has it.
GRIDLANE_BOTH __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t limit,
                                                        __nv_fp8_interpretation_t kind)
{
    if (x != x)
        return kind == __NV_E4M3 ? 0x7f : 0x7e;
    float near = (float)x;
    double back = (double)near;
    unsigned bits = __builtin_bit_cast(unsigned, near);
    if (back != x) {
        if ((x < 0.0 ? -back : back) > (x < 0.0 ? -x : x))
            bits -= 1;
        bits |= 1;
    }
    return __nv_cvt_float_to_fp8(__builtin_bit_cast(float, bits), limit, kind);
}
GRIDLANE_BOTH __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw x, __nv_saturation_t limit,
                                                         __nv_fp8_interpretation_t kind)
{
    return __nv_cvt_float_to_fp8((float)__half(x), limit, kind);
}
GRIDLANE_BOTH __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw x,
                                                             __nv_saturation_t limit,
                                                             __nv_fp8_interpretation_t kind)
{
    return __nv_cvt_float_to_fp8((float)__nv_bfloat16(x), limit, kind);
}
#define GRIDLANE_TWO(from, T, one)                                                          \
    GRIDLANE_BOTH __nv_fp8x2_storage_t __nv_cvt_##from##2_to_fp8x2(                         \
        T v, __nv_saturation_t limit, __nv_fp8_interpretation_t kind)                       \
    {                                                                                       \
        unsigned low = __nv_cvt_##from##_to_fp8(one(v.x), limit, kind);                     \
        unsigned high = __nv_cvt_##from##_to_fp8(one(v.y), limit, kind);                    \
        return (__nv_fp8x2_storage_t)(low | high << 8);                                     \
    }
GRIDLANE_TWO(float, float2, )
GRIDLANE_TWO(double, double2, )
GRIDLANE_BOTH __half_raw gridlane_raw(unsigned short x) { return {x}; }
GRIDLANE_BOTH __nv_bfloat16_raw gridlane_brain(unsigned short x) { return {x}; }
GRIDLANE_TWO(halfraw, __half2_raw, gridlane_raw)
GRIDLANE_TWO(bfloat16raw, __nv_bfloat162_raw, gridlane_brain)
#undef GRIDLANE_TWO

// Exact. e5m2 is the upper half of a binary16.
GRIDLANE_BOTH __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x,
                                                 __nv_fp8_interpretation_t kind)
{
    unsigned sign = (x & 0x80u) << 8, size = x & 0x7fu;
    if (kind == __NV_E5M2)
        return {(unsigned short)(size > 0x7c ? 0x7fff : x << 8)};
    if (size == 0x7f)
        return {0x7fff};
    if (size < 8) {  // a multiple of 2^-9
        _Float16 made = (_Float16)((float)size * 0.001953125f);
        return {(unsigned short)(__builtin_bit_cast(unsigned short, made) | sign)};
    }
    return {(unsigned short)(((size << 7) + (8u << 10)) | sign)};
}
GRIDLANE_BOTH __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t v,
                                                     __nv_fp8_interpretation_t kind)
{
    return {__nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)v, kind).x,
            __nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)(v >> 8), kind).x};
}

// Integers: towards zero, within the type; a NaN is 0.
template <typename T> GRIDLANE_BOTH T gridlane_integer(float x, T low, T high)
{
    if (x != x)
        return 0;
    return x <= (float)low ? low : x >= (float)high ? high : (T)x;
}

#define GRIDLANE_EIGHT(name, kind)                                                                \
    struct name {                                                                                 \
        __nv_fp8_storage_t __x;                                                                   \
        name() = default;                                                                         \
        explicit GRIDLANE_EACH name(float x)                                                      \
            : __x(__nv_cvt_float_to_fp8(x, __NV_SATFINITE, kind)) {}                              \
        explicit GRIDLANE_EACH name(double x)                                                     \
            : __x(__nv_cvt_double_to_fp8(x, __NV_SATFINITE, kind)) {}                             \
        explicit GRIDLANE_EACH name(__half x) : name((float)x) {}                                 \
        explicit GRIDLANE_EACH name(__nv_bfloat16 x) : name((float)x) {}                          \
        explicit GRIDLANE_EACH name(int x) : name((double)x) {}                                   \
        explicit GRIDLANE_EACH name(unsigned x) : name((double)x) {}                              \
        explicit GRIDLANE_EACH name(short x) : name((float)x) {}                                  \
        explicit GRIDLANE_EACH name(unsigned short x) : name((float)x) {}                         \
        explicit GRIDLANE_EACH name(long x) : name((long long)x) {}                               \
        explicit GRIDLANE_EACH name(unsigned long x) : name((unsigned long long)x) {}             \
        /* Those beyond 2^53 are out of range of 8 bits. */                                       \
        explicit GRIDLANE_EACH name(long long x) : name((double)x) {}                             \
        explicit GRIDLANE_EACH name(unsigned long long x) : name((double)x) {}                    \
        explicit GRIDLANE_EACH operator __half() const                                            \
        {                                                                                         \
            return __half(__nv_cvt_fp8_to_halfraw(__x, kind));                                    \
        }                                                                                         \
        explicit GRIDLANE_EACH operator float() const { return (float)(__half)*this; }            \
        explicit GRIDLANE_EACH operator double() const { return (float)*this; }                   \
        explicit GRIDLANE_EACH operator __nv_bfloat16() const                                     \
        {                                                                                         \
            return __nv_bfloat16((float)*this);                                                   \
        }                                                                                         \
        explicit GRIDLANE_EACH operator bool() const { return (__x & 0x7f) != 0; }                \
        GRIDLANE_TO(signed char, -128, 127)                                                 \
        GRIDLANE_TO(unsigned char, 0, 255)                                                  \
        GRIDLANE_TO(char, -128, 127)                                                        \
        GRIDLANE_TO(short, -32768, 32767)                                                   \
        GRIDLANE_TO(unsigned short, 0, 65535)                                               \
        GRIDLANE_TO(int, INT_MIN, INT_MAX)                                           \
        GRIDLANE_TO(unsigned, 0, UINT_MAX)                                                \
        GRIDLANE_TO(long, LONG_MIN, LONG_MAX)                                                          \
        GRIDLANE_TO(long long, LLONG_MIN, LLONG_MAX)                                                     \
        GRIDLANE_TO(unsigned long, 0, ULONG_MAX)                                                   \
        GRIDLANE_TO(unsigned long long, 0, ULLONG_MAX)                                              \
    };
#define GRIDLANE_EACH __host__ __device__ inline
#define GRIDLANE_TO(T, low, high) \
    explicit GRIDLANE_EACH operator T() const { return gridlane_integer<T>((float)*this, low, high); }

#define GRIDLANE_EIGHTS(two, four, kind)                                                          \
    struct two {                                                                                  \
        __nv_fp8x2_storage_t __x;                                                                 \
        two() = default;                                                                          \
        explicit GRIDLANE_EACH two(float2 v)                                                      \
            : __x(__nv_cvt_float2_to_fp8x2(v, __NV_SATFINITE, kind)) {}                           \
        explicit GRIDLANE_EACH two(double2 v)                                                     \
            : __x(__nv_cvt_double2_to_fp8x2(v, __NV_SATFINITE, kind)) {}                          \
        explicit GRIDLANE_EACH two(__half2 v) : two(float2{(float)v.x, (float)v.y}) {}            \
        explicit GRIDLANE_EACH two(__nv_bfloat162 v) : two(float2{(float)v.x, (float)v.y}) {}     \
        explicit GRIDLANE_EACH operator __half2() const                                           \
        {                                                                                         \
            __half2_raw made = __nv_cvt_fp8x2_to_halfraw2(__x, kind);                             \
            return __half2(__half(__half_raw{made.x}), __half(__half_raw{made.y}));               \
        }                                                                                         \
        explicit GRIDLANE_EACH operator float2() const                                            \
        {                                                                                         \
            __half2 made = (__half2)*this;                                                        \
            return {(float)made.x, (float)made.y};                                                \
        }                                                                                         \
    };                                                                                            \
    struct four {                                                                                 \
        __nv_fp8x4_storage_t __x;                                                                 \
        four() = default;                                                                         \
        explicit GRIDLANE_EACH four(two low, two high) : __x(low.__x | (unsigned)high.__x << 16) {} \
        explicit GRIDLANE_EACH four(float4 v)                                                     \
            : four(two(float2{v.x, v.y}), two(float2{v.z, v.w})) {}                               \
        explicit GRIDLANE_EACH four(double4 v)                                                    \
            : four(two(double2{v.x, v.y}), two(double2{v.z, v.w})) {}                             \
        explicit GRIDLANE_EACH four(__half2 low, __half2 high) : four(two(low), two(high)) {}     \
        explicit GRIDLANE_EACH four(__nv_bfloat162 low, __nv_bfloat162 high)                      \
            : four(two(low), two(high)) {}                                                        \
        explicit GRIDLANE_EACH operator float4() const                                            \
        {                                                                                         \
            two low, high;                                                                        \
            low.__x = (__nv_fp8x2_storage_t)__x, high.__x = (__nv_fp8x2_storage_t)(__x >> 16);    \
            float2 a = (float2)low, b = (float2)high;                                             \
            return {a.x, a.y, b.x, b.y};                                                          \
        }                                                                                         \
    };
GRIDLANE_EIGHT(__nv_fp8_e4m3, __NV_E4M3)
GRIDLANE_EIGHT(__nv_fp8_e5m2, __NV_E5M2)
GRIDLANE_EIGHTS(__nv_fp8x2_e4m3, __nv_fp8x4_e4m3, __NV_E4M3)
GRIDLANE_EIGHTS(__nv_fp8x2_e5m2, __nv_fp8x4_e5m2, __NV_E5M2)
#undef GRIDLANE_EIGHTS
#undef GRIDLANE_EIGHT
#undef GRIDLANE_TO
#undef GRIDLANE_EACH
