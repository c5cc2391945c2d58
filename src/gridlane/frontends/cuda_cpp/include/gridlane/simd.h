// Four bytes or two half words in a register, as clang's vectors.
#pragma once

typedef unsigned char gridlane_u8x4 __attribute__((ext_vector_type(4)));
typedef signed char gridlane_s8x4 __attribute__((ext_vector_type(4)));
typedef unsigned short gridlane_u16x2 __attribute__((ext_vector_type(2)));
typedef short gridlane_s16x2 __attribute__((ext_vector_type(2)));

#define GRIDLANE_LANES(name, V, expression)                                    \
    GRIDLANE_CONST unsigned name(unsigned x, unsigned y)                       \
    {                                                                          \
        V a = __builtin_bit_cast(V, x), b = __builtin_bit_cast(V, y);          \
        return __builtin_bit_cast(unsigned, (V)(expression));                  \
    }
#define GRIDLANE_WIDTH(n, U, S)                                                          \
    GRIDLANE_LANES(__vadd##n, U, a + b)                                                  \
    GRIDLANE_LANES(__vsub##n, U, a - b)                                                  \
    GRIDLANE_LANES(__vminu##n, U, __builtin_elementwise_min(a, b))                       \
    GRIDLANE_LANES(__vmaxu##n, U, __builtin_elementwise_max(a, b))                       \
    GRIDLANE_LANES(__vmins##n, S, __builtin_elementwise_min(a, b))                       \
    GRIDLANE_LANES(__vmaxs##n, S, __builtin_elementwise_max(a, b))                       \
    GRIDLANE_LANES(__vaddus##n, U, __builtin_elementwise_add_sat(a, b))                  \
    GRIDLANE_LANES(__vsubus##n, U, __builtin_elementwise_sub_sat(a, b))                  \
    GRIDLANE_LANES(__vaddss##n, S, __builtin_elementwise_add_sat(a, b))                  \
    GRIDLANE_LANES(__vsubss##n, S, __builtin_elementwise_sub_sat(a, b))                  \
    GRIDLANE_LANES(__vcmpeq##n, U, a == b)                                               \
    GRIDLANE_LANES(__vcmpne##n, U, a != b)                                               \
    GRIDLANE_LANES(__vcmpgtu##n, U, a > b)                                               \
    GRIDLANE_LANES(__vcmpgeu##n, U, a >= b)                                              \
    GRIDLANE_LANES(__vcmpltu##n, U, a < b)                                               \
    GRIDLANE_LANES(__vcmpleu##n, U, a <= b)                                              \
    GRIDLANE_LANES(__vcmpgts##n, S, a > b)                                               \
    GRIDLANE_LANES(__vcmpges##n, S, a >= b)                                              \
    GRIDLANE_LANES(__vcmplts##n, S, a < b)                                               \
    GRIDLANE_LANES(__vcmples##n, S, a <= b)                                              \
    GRIDLANE_LANES(__vseteq##n, U, -(a == b))                                            \
    GRIDLANE_LANES(__vsetne##n, U, -(a != b))                                            \
    GRIDLANE_LANES(__vsetgtu##n, U, -(a > b))                                            \
    GRIDLANE_LANES(__vsetgeu##n, U, -(a >= b))                                           \
    GRIDLANE_LANES(__vsetltu##n, U, -(a < b))                                            \
    GRIDLANE_LANES(__vsetleu##n, U, -(a <= b))                                           \
    GRIDLANE_LANES(__vsetgts##n, S, -(a > b))                                            \
    GRIDLANE_LANES(__vsetges##n, S, -(a >= b))                                           \
    GRIDLANE_LANES(__vsetlts##n, S, -(a < b))                                            \
    GRIDLANE_LANES(__vsetles##n, S, -(a <= b))                                           \
    GRIDLANE_LANES(__vabsdiffu##n, U,                                                    \
                   __builtin_elementwise_max(a, b) - __builtin_elementwise_min(a, b))    \
    GRIDLANE_LANES(__vabsdiffs##n, S,                                                    \
                   __builtin_elementwise_max(a, b) - __builtin_elementwise_min(a, b))    \
    GRIDLANE_LANES(__vhaddu##n, U, (a & b) + ((a ^ b) >> (unsigned char)1))              \
    GRIDLANE_LANES(__vavgu##n, U, (a | b) - ((a ^ b) >> (unsigned char)1))               \
    GRIDLANE_CONST unsigned __vneg##n(unsigned x) { return __vsub##n(0, x); }            \
    GRIDLANE_CONST unsigned __vnegss##n(unsigned x) { return __vsubss##n(0, x); }        \
    GRIDLANE_CONST unsigned __vabs##n(unsigned x)                                        \
    {                                                                                    \
        return __vmaxs##n(x, __vsub##n(0, x)) |                                          \
            (x & __vsub##n(0, x) & __vcmpeq##n(x, __vsub##n(0, x)));                     \
    }                                                                                    \
    GRIDLANE_CONST unsigned __vabsss##n(unsigned x) { return __vmaxs##n(x, __vsubss##n(0, x)); }
GRIDLANE_WIDTH(4, gridlane_u8x4, gridlane_s8x4)
GRIDLANE_WIDTH(2, gridlane_u16x2, gridlane_s16x2)
#undef GRIDLANE_WIDTH
#undef GRIDLANE_LANES
// (a + b + (a + b >= 0)) >> 1
#define GRIDLANE_MEANS(n)                                                                \
    GRIDLANE_CONST unsigned __vavgs##n(unsigned x, unsigned y)                           \
    {                                                                                    \
        unsigned mean;                                                                   \
        asm("vavrg" #n ".s32.s32.s32 %0, %1, %2, 0;" : "=r"(mean) : "r"(x), "r"(y));     \
        return mean;                                                                     \
    }
GRIDLANE_MEANS(4)
GRIDLANE_MEANS(2)
#undef GRIDLANE_MEANS

#define GRIDLANE_SUM_OF(name, V, of, sum)                                                \
    GRIDLANE_CONST unsigned name(unsigned x, unsigned y)                                 \
    {                                                                                    \
        V d = __builtin_bit_cast(V, of(x, y));                                           \
        return sum;                                                                      \
    }
GRIDLANE_SUM_OF(__vsadu4, gridlane_u8x4, __vabsdiffu4, d.x + d.y + d.z + d.w)
GRIDLANE_SUM_OF(__vsadu2, gridlane_u16x2, __vabsdiffu2, (unsigned)d.x + d.y)
GRIDLANE_SUM_OF(__vsads4, gridlane_u8x4, __vabsdiffs4, d.x + d.y + d.z + d.w)
GRIDLANE_SUM_OF(__vsads2, gridlane_u16x2, __vabsdiffs2, (unsigned)d.x + d.y)
#undef GRIDLANE_SUM_OF
