// Atomic functions, for the device, the block and the system. All are relaxed.
#pragma once

#if !__has_builtin(__scoped_atomic_fetch_add)
#error "atomics need clang 18 or newer"
#endif

#define GRIDLANE_FETCH(name, T, builtin)                                                  \
    GRIDLANE_DEVICE T name(T *p, T v)                                                     \
    {                                                                                     \
        return builtin(p, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);                    \
    }                                                                                     \
    GRIDLANE_DEVICE T name##_block(T *p, T v)                                             \
    {                                                                                     \
        return builtin(p, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);                    \
    }                                                                                     \
    GRIDLANE_DEVICE T name##_system(T *p, T v)                                            \
    {                                                                                     \
        return builtin(p, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);                    \
    }
#define GRIDLANE_FETCH_INTEGERS(name, builtin)            \
    GRIDLANE_FETCH(name, int, builtin)                    \
    GRIDLANE_FETCH(name, unsigned, builtin)               \
    GRIDLANE_FETCH(name, long, builtin)                   \
    GRIDLANE_FETCH(name, unsigned long, builtin)          \
    GRIDLANE_FETCH(name, long long, builtin)              \
    GRIDLANE_FETCH(name, unsigned long long, builtin)
GRIDLANE_FETCH_INTEGERS(atomicAdd, __scoped_atomic_fetch_add)
GRIDLANE_FETCH(atomicAdd, float, __scoped_atomic_fetch_add)
GRIDLANE_FETCH(atomicAdd, double, __scoped_atomic_fetch_add)
GRIDLANE_FETCH_INTEGERS(atomicSub, __scoped_atomic_fetch_sub)
GRIDLANE_FETCH_INTEGERS(atomicAnd, __scoped_atomic_fetch_and)
GRIDLANE_FETCH_INTEGERS(atomicOr, __scoped_atomic_fetch_or)
GRIDLANE_FETCH_INTEGERS(atomicXor, __scoped_atomic_fetch_xor)
GRIDLANE_FETCH_INTEGERS(atomicMin, __scoped_atomic_fetch_min)
GRIDLANE_FETCH_INTEGERS(atomicMax, __scoped_atomic_fetch_max)
GRIDLANE_FETCH_INTEGERS(atomicExch, __scoped_atomic_exchange_n)
#undef GRIDLANE_FETCH
#undef GRIDLANE_FETCH_INTEGERS

#define GRIDLANE_SCOPED(GRIDLANE_ONE)                   \
    GRIDLANE_ONE(, __MEMORY_SCOPE_DEVICE, "gpu")        \
    GRIDLANE_ONE(_block, __MEMORY_SCOPE_WRKGRP, "cta")  \
    GRIDLANE_ONE(_system, __MEMORY_SCOPE_SYSTEM, "sys")

#define GRIDLANE_ONE(suffix, scope, ptx)                                                        \
    GRIDLANE_DEVICE float atomicExch##suffix(float *p, float v)                                 \
    {                                                                                           \
        unsigned bits = __builtin_bit_cast(unsigned, v);                                        \
        bits = __scoped_atomic_exchange_n((unsigned *)p, bits, __ATOMIC_RELAXED, scope);        \
        return __builtin_bit_cast(float, bits);                                                 \
    }                                                                                           \
    GRIDLANE_DEVICE unsigned atomicInc##suffix(unsigned *p, unsigned most)                      \
    {                                                                                           \
        unsigned old;                                                                           \
        asm volatile("atom." ptx ".inc.u32 %0, [%1], %2;"                                       \
                     : "=r"(old) : "l"(p), "r"(most) : "memory");                               \
        return old;                                                                             \
    }                                                                                           \
    GRIDLANE_DEVICE unsigned atomicDec##suffix(unsigned *p, unsigned most)                      \
    {                                                                                           \
        unsigned old;                                                                           \
        asm volatile("atom." ptx ".dec.u32 %0, [%1], %2;"                                       \
                     : "=r"(old) : "l"(p), "r"(most) : "memory");                               \
        return old;                                                                             \
    }
GRIDLANE_SCOPED(GRIDLANE_ONE)
#undef GRIDLANE_ONE

#define GRIDLANE_SWAP(T, suffix, scope)                                                     \
    GRIDLANE_DEVICE T atomicCAS##suffix(T *p, T expected, T v)                              \
    {                                                                                       \
        __scoped_atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_RELAXED,        \
                                           __ATOMIC_RELAXED, scope);                        \
        return expected;                                                                    \
    }
#define GRIDLANE_ONE(suffix, scope, ptx)                    \
    GRIDLANE_SWAP(unsigned short, suffix, scope)            \
    GRIDLANE_SWAP(int, suffix, scope)                       \
    GRIDLANE_SWAP(unsigned, suffix, scope)                  \
    GRIDLANE_SWAP(long, suffix, scope)                      \
    GRIDLANE_SWAP(unsigned long, suffix, scope)             \
    GRIDLANE_SWAP(long long, suffix, scope)                 \
    GRIDLANE_SWAP(unsigned long long, suffix, scope)
GRIDLANE_SCOPED(GRIDLANE_ONE)
#undef GRIDLANE_ONE
#undef GRIDLANE_SWAP
#undef GRIDLANE_SCOPED
