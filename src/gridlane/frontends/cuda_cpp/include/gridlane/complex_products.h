// What clang calls for products and quotients of complex numbers. Where both parts come out as NaN,
// infinities are recovered as annex G of the C standard has it.
#pragma once

// 1 or 0 with the sign: infinite or not. A NaN is 0.
#define GRIDLANE_SIGN(x, is_one) __builtin_copysign((is_one) ? 1.0 : 0.0, (double)(x))
#define GRIDLANE_COMPLEX(T, product, quotient)                                                   \
    extern "C" __device__ __attribute__((weak, used)) T _Complex product(T a, T b, T c, T d)     \
    {                                                                                            \
        T x = a * c - b * d, y = a * d + b * c;                                                  \
        if (__builtin_isnan(x) && __builtin_isnan(y)) {                                          \
            bool first = __builtin_isinf(a) || __builtin_isinf(b);                               \
            bool second = __builtin_isinf(c) || __builtin_isinf(d);                              \
            bool parts = __builtin_isinf(a * c) || __builtin_isinf(b * d)                        \
                || __builtin_isinf(a * d) || __builtin_isinf(b * c);                             \
            if (first || second || parts) {                                                      \
                if (first)                                                                       \
                    a = (T)GRIDLANE_SIGN(a, __builtin_isinf(a)),                                 \
                    b = (T)GRIDLANE_SIGN(b, __builtin_isinf(b));                                 \
                if (second)                                                                      \
                    c = (T)GRIDLANE_SIGN(c, __builtin_isinf(c)),                                 \
                    d = (T)GRIDLANE_SIGN(d, __builtin_isinf(d));                                 \
                a = __builtin_isnan(a) ? (T)GRIDLANE_SIGN(a, false) : a;                         \
                b = __builtin_isnan(b) ? (T)GRIDLANE_SIGN(b, false) : b;                         \
                c = __builtin_isnan(c) ? (T)GRIDLANE_SIGN(c, false) : c;                         \
                d = __builtin_isnan(d) ? (T)GRIDLANE_SIGN(d, false) : d;                         \
                x = (T)__builtin_inf() * (a * c - b * d);                                        \
                y = (T)__builtin_inf() * (a * d + b * c);                                        \
            }                                                                                    \
        }                                                                                        \
        T _Complex made;                                                                         \
        __real__ made = x, __imag__ made = y;                                                    \
        return made;                                                                             \
    }                                                                                            \
    extern "C" __device__ __attribute__((weak, used)) T _Complex quotient(T a, T b, T c, T d)    \
    {                                                                                            \
        /* The divisor is scaled by a power of two, so that its square neither overflows. */     \
        double most = __builtin_fmax(__builtin_fabs((double)c), __builtin_fabs((double)d));      \
        int by = most > 0.0 && __builtin_isfinite(most) ? -ilogb(most) : 0;                      \
        c = (T)__nv_ldexp((double)c, by), d = (T)__nv_ldexp((double)d, by);                      \
        T size = c * c + d * d;                                                                  \
        T x = (T)__nv_ldexp((double)((a * c + b * d) / size), by);                               \
        T y = (T)__nv_ldexp((double)((b * c - a * d) / size), by);                               \
        if (__builtin_isnan(x) && __builtin_isnan(y)) {                                          \
            bool first = __builtin_isinf(a) || __builtin_isinf(b);                               \
            if (size == 0 && !(__builtin_isnan(a) && __builtin_isnan(b))) {                      \
                x = (T)__builtin_copysign(__builtin_inf(), (double)c) * a;                               \
                y = (T)__builtin_copysign(__builtin_inf(), (double)c) * b;                               \
            } else if (first && __builtin_isfinite(c) && __builtin_isfinite(d)) {                \
                a = (T)GRIDLANE_SIGN(a, __builtin_isinf(a));                                     \
                b = (T)GRIDLANE_SIGN(b, __builtin_isinf(b));                                     \
                x = (T)__builtin_inf() * (a * c + b * d);                                        \
                y = (T)__builtin_inf() * (b * c - a * d);                                        \
            } else if (__builtin_isinf(most) && __builtin_isfinite(a) && __builtin_isfinite(b)) {\
                c = (T)GRIDLANE_SIGN(c, __builtin_isinf(c));                                     \
                d = (T)GRIDLANE_SIGN(d, __builtin_isinf(d));                                     \
                x = (T)0 * (a * c + b * d);                                                      \
                y = (T)0 * (b * c - a * d);                                                      \
            }                                                                                    \
        }                                                                                        \
        T _Complex made;                                                                         \
        __real__ made = x, __imag__ made = y;                                                    \
        return made;                                                                             \
    }
GRIDLANE_COMPLEX(float, __mulsc3, __divsc3)
GRIDLANE_COMPLEX(double, __muldc3, __divdc3)
#undef GRIDLANE_COMPLEX
#undef GRIDLANE_SIGN
