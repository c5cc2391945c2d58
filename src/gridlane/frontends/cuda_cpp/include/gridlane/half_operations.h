// The operations of a type of 16 bits and of a pair of them. cuda_fp16.h and cuda_bf16.h include
// this with GRIDLANE_H (the type), GRIDLANE_H2 (the pair), GRIDLANE_R and GRIDLANE_R2 (their bits)
// and GRIDLANE_N (clang's own type).

struct GRIDLANE_R { unsigned short x; };
struct GRIDLANE_R2 { unsigned short x, y; };
typedef GRIDLANE_N GRIDLANE_V __attribute__((ext_vector_type(2)));

struct GRIDLANE_H {
    GRIDLANE_N gridlane_value;
    GRIDLANE_H() = default;
#define GRIDLANE_FROM(T) \
    __host__ __device__ GRIDLANE_H(T x) : gridlane_value((GRIDLANE_N)x) {}
    GRIDLANE_FROM(float) GRIDLANE_FROM(double) GRIDLANE_FROM(short) GRIDLANE_FROM(unsigned short)
    GRIDLANE_FROM(int) GRIDLANE_FROM(unsigned) GRIDLANE_FROM(long) GRIDLANE_FROM(unsigned long)
    GRIDLANE_FROM(long long) GRIDLANE_FROM(unsigned long long) GRIDLANE_FROM(GRIDLANE_N)
#undef GRIDLANE_FROM
    __host__ __device__ GRIDLANE_H(GRIDLANE_R raw)
        : gridlane_value(__builtin_bit_cast(GRIDLANE_N, raw.x)) {}
    __host__ __device__ operator float() const { return (float)gridlane_value; }
    __host__ __device__ operator GRIDLANE_R() const
    {
        return {__builtin_bit_cast(unsigned short, gridlane_value)};
    }
};

struct __attribute__((aligned(4))) GRIDLANE_H2 {
    GRIDLANE_H x, y;
    GRIDLANE_H2() = default;
    __host__ __device__ GRIDLANE_H2(GRIDLANE_H x, GRIDLANE_H y) : x(x), y(y) {}
    __host__ __device__ GRIDLANE_H2(GRIDLANE_V v) : x(v.x), y(v.y) {}
    __host__ __device__ GRIDLANE_H2(GRIDLANE_R2 raw)
        : x(GRIDLANE_R{raw.x}), y(GRIDLANE_R{raw.y}) {}
    __host__ __device__ operator GRIDLANE_R2() const
    {
        return {((GRIDLANE_R)x).x, ((GRIDLANE_R)y).x};
    }
    __host__ __device__ operator GRIDLANE_V() const
    {
        return GRIDLANE_V{x.gridlane_value, y.gridlane_value};
    }
};

// --- arithmetic

// A function of pairs: that of each half.
#define GRIDLANE_OF_PAIRS(device, pair, name)                                               \
    device GRIDLANE_H2 pair(GRIDLANE_H2 a, GRIDLANE_H2 b)                                   \
    {                                                                                       \
        return GRIDLANE_H2(name(a.x, b.x), name(a.y, b.y));                                 \
    }
#define GRIDLANE_OF_THREE(pair, name)                                                       \
    GRIDLANE_DEVICE GRIDLANE_H2 pair(GRIDLANE_H2 a, GRIDLANE_H2 b, GRIDLANE_H2 c)           \
    {                                                                                       \
        return GRIDLANE_H2(name(a.x, b.x, c.x), name(a.y, b.y, c.y));                       \
    }

#define GRIDLANE_OPERATOR(op)                                                               \
    GRIDLANE_BOTH GRIDLANE_H operator op(const GRIDLANE_H &a, const GRIDLANE_H &b)          \
    {                                                                                       \
        return GRIDLANE_H(GRIDLANE_N(a.gridlane_value op b.gridlane_value));                \
    }                                                                                       \
    GRIDLANE_BOTH GRIDLANE_H2 operator op(const GRIDLANE_H2 &a, const GRIDLANE_H2 &b)       \
    {                                                                                       \
        return GRIDLANE_H2((GRIDLANE_V)a op (GRIDLANE_V)b);                                 \
    }                                                                                       \
    GRIDLANE_BOTH GRIDLANE_H &operator op##=(GRIDLANE_H &a, const GRIDLANE_H &b)            \
    {                                                                                       \
        return a = a op b;                                                                  \
    }                                                                                       \
    GRIDLANE_BOTH GRIDLANE_H2 &operator op##=(GRIDLANE_H2 &a, const GRIDLANE_H2 &b)         \
    {                                                                                       \
        return a = a op b;                                                                  \
    }
GRIDLANE_OPERATOR(+) GRIDLANE_OPERATOR(-) GRIDLANE_OPERATOR(*) GRIDLANE_OPERATOR(/)
#undef GRIDLANE_OPERATOR
GRIDLANE_BOTH GRIDLANE_H operator-(const GRIDLANE_H &a) { return GRIDLANE_H(GRIDLANE_N(-a.gridlane_value)); }
GRIDLANE_BOTH GRIDLANE_H operator+(const GRIDLANE_H &a) { return a; }
GRIDLANE_BOTH GRIDLANE_H2 operator-(const GRIDLANE_H2 &a) { return GRIDLANE_H2(-(GRIDLANE_V)a); }
GRIDLANE_BOTH GRIDLANE_H2 operator+(const GRIDLANE_H2 &a) { return a; }
GRIDLANE_BOTH GRIDLANE_H &operator++(GRIDLANE_H &a) { return a = a + GRIDLANE_H(1); }
GRIDLANE_BOTH GRIDLANE_H &operator--(GRIDLANE_H &a) { return a = a - GRIDLANE_H(1); }
GRIDLANE_BOTH GRIDLANE_H operator++(GRIDLANE_H &a, int)
{
    GRIDLANE_H old = a;
    return ++a, old;
}
GRIDLANE_BOTH GRIDLANE_H operator--(GRIDLANE_H &a, int)
{
    GRIDLANE_H old = a;
    return --a, old;
}

#define GRIDLANE_NAMED(name, op)                                                              \
    GRIDLANE_BOTH GRIDLANE_H name(GRIDLANE_H a, GRIDLANE_H b) { return a op b; }              \
    GRIDLANE_BOTH GRIDLANE_H2 name##2(GRIDLANE_H2 a, GRIDLANE_H2 b) { return a op b; }
GRIDLANE_NAMED(__hadd, +) GRIDLANE_NAMED(__hsub, -) GRIDLANE_NAMED(__hmul, *)
#undef GRIDLANE_NAMED
// Each operation rounds: none is fused with the next.
#define GRIDLANE_ROUNDS(name, op)                                                             \
    GRIDLANE_BOTH GRIDLANE_H name##_rn(GRIDLANE_H a, GRIDLANE_H b)                            \
    {                                                                                         \
        _Pragma("clang fp contract(off)")                                                     \
        return GRIDLANE_H(GRIDLANE_N(a.gridlane_value op b.gridlane_value));                  \
    }                                                                                         \
    GRIDLANE_OF_PAIRS(GRIDLANE_BOTH, name##2_rn, name##_rn)
GRIDLANE_ROUNDS(__hadd, +) GRIDLANE_ROUNDS(__hsub, -) GRIDLANE_ROUNDS(__hmul, *)
#undef GRIDLANE_ROUNDS
GRIDLANE_BOTH GRIDLANE_H __hdiv(GRIDLANE_H a, GRIDLANE_H b) { return a / b; }
GRIDLANE_BOTH GRIDLANE_H2 __h2div(GRIDLANE_H2 a, GRIDLANE_H2 b) { return a / b; }
GRIDLANE_BOTH GRIDLANE_H __hneg(GRIDLANE_H a) { return -a; }
GRIDLANE_BOTH GRIDLANE_H2 __hneg2(GRIDLANE_H2 a) { return -a; }
GRIDLANE_BOTH GRIDLANE_H __habs(GRIDLANE_H a)
{
    return GRIDLANE_H(GRIDLANE_N(__builtin_elementwise_abs(a.gridlane_value)));
}
GRIDLANE_BOTH GRIDLANE_H2 __habs2(GRIDLANE_H2 a)
{
    return GRIDLANE_H2(__habs(a.x), __habs(a.y));
}
GRIDLANE_DEVICE GRIDLANE_H __hfma(GRIDLANE_H a, GRIDLANE_H b, GRIDLANE_H c)
{
    return GRIDLANE_H(GRIDLANE_N(
        __builtin_elementwise_fma(a.gridlane_value, b.gridlane_value, c.gridlane_value)));
}
GRIDLANE_DEVICE GRIDLANE_H2 __hfma2(GRIDLANE_H2 a, GRIDLANE_H2 b, GRIDLANE_H2 c)
{
    return GRIDLANE_H2(
        __builtin_elementwise_fma((GRIDLANE_V)a, (GRIDLANE_V)b, (GRIDLANE_V)c));
}
// Of a number and a NaN the number.
GRIDLANE_DEVICE GRIDLANE_H __hmin(GRIDLANE_H a, GRIDLANE_H b)
{
    return GRIDLANE_H(::fminf((float)a, (float)b));
}
GRIDLANE_DEVICE GRIDLANE_H __hmax(GRIDLANE_H a, GRIDLANE_H b)
{
    return GRIDLANE_H(::fmaxf((float)a, (float)b));
}
GRIDLANE_OF_PAIRS(GRIDLANE_DEVICE, __hmin2, __hmin)
GRIDLANE_OF_PAIRS(GRIDLANE_DEVICE, __hmax2, __hmax)
// Of a number and a NaN the NaN.
#define GRIDLANE_EXTREME(name)                                                                  \
    GRIDLANE_DEVICE GRIDLANE_H name##_nan(GRIDLANE_H a, GRIDLANE_H b)                           \
    {                                                                                           \
        bool number = a.gridlane_value == a.gridlane_value && b.gridlane_value == b.gridlane_value; \
        return number ? name(a, b) : GRIDLANE_H(__builtin_nanf(""));                            \
    }                                                                                           \
    GRIDLANE_OF_PAIRS(GRIDLANE_DEVICE, name##2_nan, name##_nan)
GRIDLANE_EXTREME(__hmin) GRIDLANE_EXTREME(__hmax)
#undef GRIDLANE_EXTREME
// Within 0 and 1; a NaN becomes 0.
GRIDLANE_DEVICE GRIDLANE_H gridlane_saturated(GRIDLANE_H a)
{
    return (float)a > 0.0f ? ((float)a < 1.0f ? a : GRIDLANE_H(1.0f)) : GRIDLANE_H(0.0f);
}
#define GRIDLANE_SATURATED(name, op)                                             \
    GRIDLANE_DEVICE GRIDLANE_H name##_sat(GRIDLANE_H a, GRIDLANE_H b)            \
    {                                                                            \
        return gridlane_saturated(a op b);                                       \
    }                                                                            \
    GRIDLANE_OF_PAIRS(GRIDLANE_DEVICE, name##2_sat, name##_sat)
GRIDLANE_SATURATED(__hadd, +) GRIDLANE_SATURATED(__hsub, -) GRIDLANE_SATURATED(__hmul, *)
#undef GRIDLANE_SATURATED
GRIDLANE_DEVICE GRIDLANE_H __hfma_sat(GRIDLANE_H a, GRIDLANE_H b, GRIDLANE_H c)
{
    return gridlane_saturated(__hfma(a, b, c));
}
GRIDLANE_OF_THREE(__hfma2_sat, __hfma_sat)
// What is below 0 becomes 0; a NaN stays one.
GRIDLANE_DEVICE GRIDLANE_H __hfma_relu(GRIDLANE_H a, GRIDLANE_H b, GRIDLANE_H c)
{
    return __hmax_nan(__hfma(a, b, c), GRIDLANE_H(0.0f));
}
GRIDLANE_OF_THREE(__hfma2_relu, __hfma_relu)
#undef GRIDLANE_OF_PAIRS
#undef GRIDLANE_OF_THREE

// The product of complex numbers and a sum, of real and imaginary parts.
GRIDLANE_DEVICE GRIDLANE_H2 __hcmadd(GRIDLANE_H2 a, GRIDLANE_H2 b, GRIDLANE_H2 c)
{
    return GRIDLANE_H2(__hfma(-a.y, b.y, __hfma(a.x, b.x, c.x)),
                       __hfma(a.y, b.x, __hfma(a.x, b.y, c.y)));
}

// --- comparisons; the ones with u hold for a NaN as well

#define GRIDLANE_COMPARED(name, op, opposite)                                                    \
    GRIDLANE_BOTH bool operator op(const GRIDLANE_H &a, const GRIDLANE_H &b)                     \
    {                                                                                            \
        return a.gridlane_value op b.gridlane_value;                                             \
    }                                                                                            \
    GRIDLANE_BOTH bool operator op(const GRIDLANE_H2 &a, const GRIDLANE_H2 &b)                   \
    {                                                                                            \
        return a.x op b.x && a.y op b.y;                                                         \
    }                                                                                            \
    GRIDLANE_BOTH bool __h##name(GRIDLANE_H a, GRIDLANE_H b) { return a op b; }                  \
    GRIDLANE_BOTH bool __h##name##u(GRIDLANE_H a, GRIDLANE_H b)                                  \
    {                                                                                            \
        return opposite;                                                                         \
    }                                                                                            \
    GRIDLANE_PAIRS(name) GRIDLANE_PAIRS(name##u)
// Of pairs: both, a number for each, a mask for each.
#define GRIDLANE_PAIRS(name)                                                                     \
    GRIDLANE_BOTH bool __hb##name##2(GRIDLANE_H2 a, GRIDLANE_H2 b)                               \
    {                                                                                            \
        return __h##name(a.x, b.x) && __h##name(a.y, b.y);                                       \
    }                                                                                            \
    GRIDLANE_BOTH GRIDLANE_H2 __h##name##2(GRIDLANE_H2 a, GRIDLANE_H2 b)                         \
    {                                                                                            \
        return GRIDLANE_H2(GRIDLANE_H(__h##name(a.x, b.x) ? 1 : 0),                              \
                           GRIDLANE_H(__h##name(a.y, b.y) ? 1 : 0));                             \
    }                                                                                            \
    GRIDLANE_BOTH unsigned __h##name##2_mask(GRIDLANE_H2 a, GRIDLANE_H2 b)                       \
    {                                                                                            \
        return (__h##name(a.x, b.x) ? 0xffffu : 0u) | (__h##name(a.y, b.y) ? 0xffff0000u : 0u);  \
    }
GRIDLANE_COMPARED(eq, ==, !(a.gridlane_value < b.gridlane_value || a.gridlane_value > b.gridlane_value))
GRIDLANE_COMPARED(lt, <, !(a.gridlane_value >= b.gridlane_value))
GRIDLANE_COMPARED(le, <=, !(a.gridlane_value > b.gridlane_value))
GRIDLANE_COMPARED(gt, >, !(a.gridlane_value <= b.gridlane_value))
GRIDLANE_COMPARED(ge, >=, !(a.gridlane_value < b.gridlane_value))
#undef GRIDLANE_COMPARED
GRIDLANE_BOTH bool operator!=(const GRIDLANE_H &a, const GRIDLANE_H &b)
{
    return a.gridlane_value != b.gridlane_value;
}
GRIDLANE_BOTH bool __hneu(GRIDLANE_H a, GRIDLANE_H b) { return a != b; }
GRIDLANE_BOTH bool __hne(GRIDLANE_H a, GRIDLANE_H b)
{
    return a.gridlane_value < b.gridlane_value || a.gridlane_value > b.gridlane_value;
}
GRIDLANE_PAIRS(ne) GRIDLANE_PAIRS(neu)
#undef GRIDLANE_PAIRS
GRIDLANE_BOTH bool operator!=(const GRIDLANE_H2 &a, const GRIDLANE_H2 &b) { return __hbneu2(a, b); }
GRIDLANE_BOTH bool __hisnan(GRIDLANE_H a) { return a.gridlane_value != a.gridlane_value; }
GRIDLANE_BOTH int __hisinf(GRIDLANE_H a)
{
    float x = a;
    return x == __builtin_inff() ? 1 : x == -__builtin_inff() ? -1 : 0;
}
GRIDLANE_BOTH GRIDLANE_H2 __hisnan2(GRIDLANE_H2 a)
{
    return GRIDLANE_H2(GRIDLANE_H(__hisnan(a.x) ? 1 : 0), GRIDLANE_H(__hisnan(a.y) ? 1 : 0));
}

// --- functions, by those of float

#define GRIDLANE_FUNCTION(name, expression)                                                     \
    GRIDLANE_DEVICE GRIDLANE_H h##name(GRIDLANE_H a)                                            \
    {                                                                                           \
        float x = a;                                                                            \
        return GRIDLANE_H(expression);                                                          \
    }                                                                                           \
    GRIDLANE_DEVICE GRIDLANE_H2 h2##name(GRIDLANE_H2 a)                                         \
    {                                                                                           \
        return GRIDLANE_H2(h##name(a.x), h##name(a.y));                                         \
    }
GRIDLANE_FUNCTION(sqrt, ::sqrtf(x)) GRIDLANE_FUNCTION(rsqrt, ::rsqrtf(x))
GRIDLANE_FUNCTION(rcp, 1.0f / x) GRIDLANE_FUNCTION(exp, __nv_expf(x))
GRIDLANE_FUNCTION(exp2, __nv_exp2f(x)) GRIDLANE_FUNCTION(exp10, __nv_exp10f(x))
GRIDLANE_FUNCTION(log, __nv_logf(x)) GRIDLANE_FUNCTION(log2, __nv_log2f(x))
GRIDLANE_FUNCTION(log10, __nv_log10f(x)) GRIDLANE_FUNCTION(sin, __nv_sinf(x))
GRIDLANE_FUNCTION(cos, __nv_cosf(x)) GRIDLANE_FUNCTION(tanh, __nv_tanhf(x))
GRIDLANE_FUNCTION(floor, ::floorf(x)) GRIDLANE_FUNCTION(ceil, ::ceilf(x))
GRIDLANE_FUNCTION(trunc, ::truncf(x)) GRIDLANE_FUNCTION(rint, ::rintf(x))
GRIDLANE_FUNCTION(tanh_approx, __nv_tanhf(x))
#undef GRIDLANE_FUNCTION

// --- parts, exchange, atomics

GRIDLANE_BOTH GRIDLANE_H2 __lowhigh2highlow(GRIDLANE_H2 a) { return GRIDLANE_H2(a.y, a.x); }
GRIDLANE_BOTH float __low2float(GRIDLANE_H2 a) { return (float)a.x; }
GRIDLANE_BOTH float __high2float(GRIDLANE_H2 a) { return (float)a.y; }

#define GRIDLANE_SHUFFLE(name, Lane)                                                            \
    GRIDLANE_DEVICE GRIDLANE_H name(unsigned mask, GRIDLANE_H v, Lane lane, int width = 32)     \
    {                                                                                           \
        unsigned bits = __builtin_bit_cast(unsigned short, v);                                  \
        bits = name(mask, bits, lane, width);                                                   \
        return __builtin_bit_cast(GRIDLANE_H, (unsigned short)bits);                            \
    }                                                                                           \
    GRIDLANE_DEVICE GRIDLANE_H2 name(unsigned mask, GRIDLANE_H2 v, Lane lane, int width = 32)   \
    {                                                                                           \
        unsigned bits = __builtin_bit_cast(unsigned, v);                                        \
        return __builtin_bit_cast(GRIDLANE_H2, name(mask, bits, lane, width));                  \
    }
GRIDLANE_SHUFFLE(__shfl_sync, int) GRIDLANE_SHUFFLE(__shfl_up_sync, unsigned)
GRIDLANE_SHUFFLE(__shfl_down_sync, unsigned) GRIDLANE_SHUFFLE(__shfl_xor_sync, int)
#undef GRIDLANE_SHUFFLE

// The names before Volta; see gridlane/warps.h.
#define GRIDLANE_SHUFFLE(name, Lane)                                                            \
    GRIDLANE_DEVICE GRIDLANE_H name(GRIDLANE_H v, Lane lane, int width = 32)                    \
    {                                                                                           \
        return name##_sync(__activemask(), v, lane, width);                                     \
    }                                                                                           \
    GRIDLANE_DEVICE GRIDLANE_H2 name(GRIDLANE_H2 v, Lane lane, int width = 32)                  \
    {                                                                                           \
        return name##_sync(__activemask(), v, lane, width);                                     \
    }
GRIDLANE_SHUFFLE(__shfl, int) GRIDLANE_SHUFFLE(__shfl_up, unsigned)
GRIDLANE_SHUFFLE(__shfl_down, unsigned) GRIDLANE_SHUFFLE(__shfl_xor, int)
#undef GRIDLANE_SHUFFLE

// Each of a pair is atomic by itself.
GRIDLANE_DEVICE GRIDLANE_H2 atomicAdd(GRIDLANE_H2 *p, GRIDLANE_H2 v)
{
    GRIDLANE_H low = atomicAdd(&p->x, v.x);
    return GRIDLANE_H2(low, atomicAdd(&p->y, v.y));
}

#ifndef GRIDLANE_INTEGERS
// Conversions to integers, which saturate.
#define GRIDLANE_INTEGERS(name, T)                                                                 \
    GRIDLANE_ROUNDED_INTEGERS(name, T, rn) GRIDLANE_ROUNDED_INTEGERS(name, T, rz)                  \
    GRIDLANE_ROUNDED_INTEGERS(name, T, ru) GRIDLANE_ROUNDED_INTEGERS(name, T, rd)                  \
    GRIDLANE_DEVICE signed char name##2char_rz(T x)                                                \
    {                                                                                              \
        return (signed char)max(-128, min(127, __float2int_rz(x)));                                \
    }                                                                                              \
    GRIDLANE_DEVICE unsigned char name##2uchar_rz(T x)                                             \
    {                                                                                              \
        return (unsigned char)min(255u, __float2uint_rz(x));                                       \
    }
#define GRIDLANE_ROUNDED_INTEGERS(name, T, suffix)                                                 \
    GRIDLANE_DEVICE int name##2int_##suffix(T x) { return __float2int_##suffix(x); }               \
    GRIDLANE_DEVICE unsigned name##2uint_##suffix(T x) { return __float2uint_##suffix(x); }        \
    GRIDLANE_DEVICE short name##2short_##suffix(T x)                                               \
    {                                                                                              \
        return (short)max(-32768, min(32767, __float2int_##suffix(x)));                            \
    }                                                                                              \
    GRIDLANE_DEVICE unsigned short name##2ushort_##suffix(T x)                                     \
    {                                                                                              \
        return (unsigned short)min(65535u, __float2uint_##suffix(x));                              \
    }                                                                                              \
    GRIDLANE_DEVICE long long name##2ll_##suffix(T x) { return __float2ll_##suffix(x); }           \
    GRIDLANE_DEVICE unsigned long long name##2ull_##suffix(T x) { return __float2ull_##suffix(x); }
#endif
