// The functions of dynamic programming: the least or the greatest of three, of a sum and a number,
// each also with 0 ("relu"), and of two half words at once.
#pragma once

#define GRIDLANE_LEAST(a, b) __builtin_elementwise_min(a, b)
#define GRIDLANE_GREATEST(a, b) __builtin_elementwise_max(a, b)
#define GRIDLANE_THREE(R, T, name, expression)                                      \
    GRIDLANE_CONST R name(R a, R b, R c)                                            \
    {                                                                               \
        T x = __builtin_bit_cast(T, a), y = __builtin_bit_cast(T, b);               \
        T z = __builtin_bit_cast(T, c);                                             \
        return __builtin_bit_cast(R, (T)(expression));                              \
    }
#define GRIDLANE_TWO(R, T, name, expression)                                        \
    GRIDLANE_CONST R name(R a, R b)                                                 \
    {                                                                               \
        T x = __builtin_bit_cast(T, a), y = __builtin_bit_cast(T, b);               \
        return __builtin_bit_cast(R, (T)(expression));                              \
    }
// Sums wrap, so they are of the unsigned type U.
#define GRIDLANE_SUM(T, U) __builtin_bit_cast(T, (U)(__builtin_bit_cast(U, x) + __builtin_bit_cast(U, y)))
#define GRIDLANE_KIND(R, T, U, kind)                                                          \
    GRIDLANE_THREE(R, T, __vimax3_##kind, GRIDLANE_GREATEST(GRIDLANE_GREATEST(x, y), z))      \
    GRIDLANE_THREE(R, T, __vimin3_##kind, GRIDLANE_LEAST(GRIDLANE_LEAST(x, y), z))            \
    GRIDLANE_THREE(R, T, __viaddmax_##kind, GRIDLANE_GREATEST(GRIDLANE_SUM(T, U), z))         \
    GRIDLANE_THREE(R, T, __viaddmin_##kind, GRIDLANE_LEAST(GRIDLANE_SUM(T, U), z))
#define GRIDLANE_RELU(R, T, U, kind)                                                          \
    GRIDLANE_TWO(R, T, __vimax_##kind##_relu, GRIDLANE_GREATEST(GRIDLANE_GREATEST(x, y), T(0)))  \
    GRIDLANE_TWO(R, T, __vimin_##kind##_relu, GRIDLANE_GREATEST(GRIDLANE_LEAST(x, y), T(0)))  \
    GRIDLANE_THREE(R, T, __vimax3_##kind##_relu,                                              \
                   GRIDLANE_GREATEST(GRIDLANE_GREATEST(GRIDLANE_GREATEST(x, y), z), T(0)))    \
    GRIDLANE_THREE(R, T, __vimin3_##kind##_relu,                                              \
                   GRIDLANE_GREATEST(GRIDLANE_LEAST(GRIDLANE_LEAST(x, y), z), T(0)))          \
    GRIDLANE_THREE(R, T, __viaddmax_##kind##_relu,                                            \
                   GRIDLANE_GREATEST(GRIDLANE_GREATEST(GRIDLANE_SUM(T, U), z), T(0)))         \
    GRIDLANE_THREE(R, T, __viaddmin_##kind##_relu,                                            \
                   GRIDLANE_GREATEST(GRIDLANE_LEAST(GRIDLANE_SUM(T, U), z), T(0)))
GRIDLANE_KIND(int, int, unsigned, s32)
GRIDLANE_RELU(int, int, unsigned, s32)
GRIDLANE_KIND(unsigned, unsigned, unsigned, u32)
GRIDLANE_KIND(unsigned, gridlane_s16x2, gridlane_u16x2, s16x2)
GRIDLANE_RELU(unsigned, gridlane_s16x2, gridlane_u16x2, s16x2)
GRIDLANE_KIND(unsigned, gridlane_u16x2, gridlane_u16x2, u16x2)

// The place is true where the first is the one that is given.
#define GRIDLANE_PLACE(T, kind)                                                               \
    GRIDLANE_DEVICE T __vibmax_##kind(T a, T b, bool *first) { return *first = a >= b, a >= b ? a : b; }  \
    GRIDLANE_DEVICE T __vibmin_##kind(T a, T b, bool *first) { return *first = a <= b, a <= b ? a : b; }
GRIDLANE_PLACE(int, s32)
GRIDLANE_PLACE(unsigned, u32)
#undef GRIDLANE_PLACE
#define GRIDLANE_PLACES(name, op, T, kind)                                                    \
    GRIDLANE_DEVICE unsigned name##_##kind(unsigned a, unsigned b, bool *high, bool *low)     \
    {                                                                                         \
        T x = __builtin_bit_cast(T, a), y = __builtin_bit_cast(T, b);                         \
        *low = x.x op y.x, *high = x.y op y.y;                                                \
        return (*high ? a : b) & 0xffff0000 | (*low ? a : b) & 0xffff;                        \
    }
GRIDLANE_PLACES(__vibmax, >=, gridlane_s16x2, s16x2)
GRIDLANE_PLACES(__vibmin, <=, gridlane_s16x2, s16x2)
GRIDLANE_PLACES(__vibmax, >=, gridlane_u16x2, u16x2)
GRIDLANE_PLACES(__vibmin, <=, gridlane_u16x2, u16x2)
#undef GRIDLANE_PLACES
#undef GRIDLANE_RELU
#undef GRIDLANE_KIND
#undef GRIDLANE_SUM
#undef GRIDLANE_TWO
#undef GRIDLANE_THREE
#undef GRIDLANE_GREATEST
#undef GRIDLANE_LEAST
