// Bits as floats and back; conversions with a stated rounding.
#pragma once

GRIDLANE_CONST int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
GRIDLANE_CONST unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
GRIDLANE_CONST float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
GRIDLANE_CONST float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
GRIDLANE_CONST long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
GRIDLANE_CONST double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
GRIDLANE_CONST int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
GRIDLANE_CONST int __double2loint(double x) { return (int)__double_as_longlong(x); }
GRIDLANE_CONST double __hiloint2double(int high, int low)
{
    return __longlong_as_double((long long)high << 32 | (unsigned)low);
}

#define GRIDLANE_CONVERSION(name, To, From, ptx, out, in) \
    GRIDLANE_CONST To name(From x)                        \
    {                                                     \
        To y;                                             \
        asm("cvt" ptx " %0, %1;" : "=" out(y) : in(x));   \
        return y;                                         \
    }
// Floats to integers: .rni and its like; integers to floats: .rn and its like.
#define GRIDLANE_TO_INTEGER(name, To, From, to, from, out, in)                          \
    GRIDLANE_CONVERSION(name##_rn, To, From, ".rni." to "." from, out, in)              \
    GRIDLANE_CONVERSION(name##_rz, To, From, ".rzi." to "." from, out, in)              \
    GRIDLANE_CONVERSION(name##_ru, To, From, ".rpi." to "." from, out, in)              \
    GRIDLANE_CONVERSION(name##_rd, To, From, ".rmi." to "." from, out, in)
#define GRIDLANE_TO_FLOAT(name, To, From, to, from, out, in)                            \
    GRIDLANE_CONVERSION(name##_rn, To, From, ".rn." to "." from, out, in)               \
    GRIDLANE_CONVERSION(name##_rz, To, From, ".rz." to "." from, out, in)               \
    GRIDLANE_CONVERSION(name##_ru, To, From, ".rp." to "." from, out, in)               \
    GRIDLANE_CONVERSION(name##_rd, To, From, ".rm." to "." from, out, in)
GRIDLANE_TO_INTEGER(__float2int, int, float, "s32", "f32", "r", "f")
GRIDLANE_TO_INTEGER(__float2uint, unsigned, float, "u32", "f32", "r", "f")
GRIDLANE_TO_INTEGER(__float2ll, long long, float, "s64", "f32", "l", "f")
GRIDLANE_TO_INTEGER(__float2ull, unsigned long long, float, "u64", "f32", "l", "f")
GRIDLANE_TO_INTEGER(__double2int, int, double, "s32", "f64", "r", "d")
GRIDLANE_TO_INTEGER(__double2uint, unsigned, double, "u32", "f64", "r", "d")
GRIDLANE_TO_INTEGER(__double2ll, long long, double, "s64", "f64", "l", "d")
GRIDLANE_TO_INTEGER(__double2ull, unsigned long long, double, "u64", "f64", "l", "d")
GRIDLANE_TO_FLOAT(__int2float, float, int, "f32", "s32", "f", "r")
GRIDLANE_TO_FLOAT(__uint2float, float, unsigned, "f32", "u32", "f", "r")
GRIDLANE_TO_FLOAT(__ll2float, float, long long, "f32", "s64", "f", "l")
GRIDLANE_TO_FLOAT(__ull2float, float, unsigned long long, "f32", "u64", "f", "l")
GRIDLANE_TO_FLOAT(__ll2double, double, long long, "f64", "s64", "d", "l")
GRIDLANE_TO_FLOAT(__ull2double, double, unsigned long long, "f64", "u64", "d", "l")
GRIDLANE_TO_FLOAT(__double2float, float, double, "f32", "f64", "f", "d")
GRIDLANE_CONST double __int2double_rn(int x) { return x; }
GRIDLANE_CONST double __uint2double_rn(unsigned x) { return x; }
#undef GRIDLANE_TO_INTEGER
#undef GRIDLANE_TO_FLOAT
#undef GRIDLANE_CONVERSION
