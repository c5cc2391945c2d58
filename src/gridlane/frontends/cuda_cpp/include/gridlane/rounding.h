// Arithmetic with a stated rounding, which is never contracted.
#pragma once

#define GRIDLANE_BINARY(name, T, ptx, c)                                    \
    GRIDLANE_CONST T name(T x, T y)                                         \
    {                                                                       \
        T z;                                                                \
        asm(ptx " %0, %1, %2;" : "=" c(z) : c(x), c(y));                    \
        return z;                                                           \
    }
#define GRIDLANE_UNARY(name, T, ptx, c)                                     \
    GRIDLANE_CONST T name(T x)                                              \
    {                                                                       \
        T z;                                                                \
        asm(ptx " %0, %1;" : "=" c(z) : c(x));                              \
        return z;                                                           \
    }
#define GRIDLANE_TERNARY(name, T, ptx, c)                                   \
    GRIDLANE_CONST T name(T x, T y, T w)                                    \
    {                                                                       \
        T z;                                                                \
        asm(ptx " %0, %1, %2, %3;" : "=" c(z) : c(x), c(y), c(w));          \
        return z;                                                           \
    }
#define GRIDLANE_ROUNDED(suffix, r)                                         \
    GRIDLANE_BINARY(__fadd_##suffix, float, "add." r ".f32", "f")           \
    GRIDLANE_BINARY(__fsub_##suffix, float, "sub." r ".f32", "f")           \
    GRIDLANE_BINARY(__fmul_##suffix, float, "mul." r ".f32", "f")           \
    GRIDLANE_BINARY(__fdiv_##suffix, float, "div." r ".f32", "f")           \
    GRIDLANE_UNARY(__frcp_##suffix, float, "rcp." r ".f32", "f")            \
    GRIDLANE_UNARY(__fsqrt_##suffix, float, "sqrt." r ".f32", "f")          \
    GRIDLANE_TERNARY(__fmaf_##suffix, float, "fma." r ".f32", "f")          \
    GRIDLANE_TERNARY(__fmaf_ieee_##suffix, float, "fma." r ".f32", "f")     \
    GRIDLANE_BINARY(__dadd_##suffix, double, "add." r ".f64", "d")          \
    GRIDLANE_BINARY(__dsub_##suffix, double, "sub." r ".f64", "d")          \
    GRIDLANE_BINARY(__dmul_##suffix, double, "mul." r ".f64", "d")          \
    GRIDLANE_BINARY(__ddiv_##suffix, double, "div." r ".f64", "d")          \
    GRIDLANE_UNARY(__drcp_##suffix, double, "rcp." r ".f64", "d")           \
    GRIDLANE_UNARY(__dsqrt_##suffix, double, "sqrt." r ".f64", "d")         \
    GRIDLANE_TERNARY(__fma_##suffix, double, "fma." r ".f64", "d")
GRIDLANE_ROUNDED(rn, "rn")
GRIDLANE_ROUNDED(rz, "rz")
GRIDLANE_ROUNDED(ru, "rp")
GRIDLANE_ROUNDED(rd, "rm")
// Rounded twice, which makes the nearest float of every float: tests try the one that is nearest to
// the middle of two.
GRIDLANE_CONST float __frsqrt_rn(float x) { return (float)(1.0 / __nvvm_sqrt_rn_d((double)x)); }
#undef GRIDLANE_ROUNDED
#undef GRIDLANE_BINARY
#undef GRIDLANE_UNARY
#undef GRIDLANE_TERNARY
