// Exchange between the lanes of a warp.
#pragma once

GRIDLANE_DEVICE unsigned __activemask()
{
    unsigned mask;
    asm volatile("activemask.b32 %0;" : "=r"(mask));
    return mask;
}
GRIDLANE_DEVICE void __syncwarp(unsigned mask = 0xffffffff)
{
    asm volatile("bar.warp.sync %0;" ::"r"(mask) : "memory");
}
GRIDLANE_DEVICE unsigned __lanemask_lt()
{
    return __nvvm_read_ptx_sreg_lanemask_lt();
}

#define GRIDLANE_VOTE(name, mode)                                                             \
    GRIDLANE_DEVICE int name(unsigned mask, int predicate)                                    \
    {                                                                                         \
        int result;                                                                           \
        asm volatile("{\n .reg .pred p1, p2;\n setp.ne.u32 p1, %2, 0;\n"                \
                     " vote.sync." mode ".pred p2, p1, %1;\n selp.s32 %0, 1, 0, p2;\n}" \
                     : "=r"(result) : "r"(mask), "r"(predicate) : "memory");                  \
        return result;                                                                        \
    }
GRIDLANE_VOTE(__all_sync, "all")
GRIDLANE_VOTE(__any_sync, "any")
GRIDLANE_VOTE(__uni_sync, "uni")
#undef GRIDLANE_VOTE
GRIDLANE_DEVICE unsigned __ballot_sync(unsigned mask, int predicate)
{
    unsigned result;
    asm volatile("{\n .reg .pred p1;\n setp.ne.u32 p1, %2, 0;\n"
                 " vote.sync.ballot.b32 %0, p1, %1;\n}"
                 : "=r"(result) : "r"(mask), "r"(predicate) : "memory");
    return result;
}

// The bound of the segment: its first lane for up, its last for the others.
#define GRIDLANE_SHUFFLE(name, mode, T, Lane, last)                                           \
    GRIDLANE_DEVICE unsigned gridlane##name(unsigned mask, unsigned v, Lane lane, int width)  \
    {                                                                                         \
        unsigned result, bound = (unsigned)(32 - width) << 8 | last;                          \
        asm volatile("shfl.sync." mode ".b32 %0, %1, %2, %3, %4;"                             \
                     : "=r"(result) : "r"(v), "r"(lane), "r"(bound), "r"(mask) : "memory");   \
        return result;                                                                        \
    }                                                                                         \
    GRIDLANE_DEVICE int name(unsigned mask, int v, Lane lane, int width = 32)                 \
    {                                                                                         \
        return (int)gridlane##name(mask, (unsigned)v, lane, width);                           \
    }                                                                                         \
    GRIDLANE_DEVICE unsigned name(unsigned mask, unsigned v, Lane lane, int width = 32)       \
    {                                                                                         \
        return gridlane##name(mask, v, lane, width);                                          \
    }                                                                                         \
    GRIDLANE_DEVICE float name(unsigned mask, float v, Lane lane, int width = 32)             \
    {                                                                                         \
        unsigned bits = __builtin_bit_cast(unsigned, v);                                      \
        return __builtin_bit_cast(float, gridlane##name(mask, bits, lane, width));            \
    }                                                                                         \
    GRIDLANE_DEVICE unsigned long long name(unsigned mask, unsigned long long v, Lane lane,   \
                                            int width = 32)                                   \
    {                                                                                         \
        unsigned low = gridlane##name(mask, (unsigned)v, lane, width);                        \
        return (unsigned long long)gridlane##name(mask, (unsigned)(v >> 32), lane, width)     \
            << 32 | low;                                                                      \
    }                                                                                         \
    GRIDLANE_DEVICE long long name(unsigned mask, long long v, Lane lane, int width = 32)     \
    {                                                                                         \
        return (long long)name(mask, (unsigned long long)v, lane, width);                     \
    }                                                                                         \
    GRIDLANE_DEVICE unsigned long name(unsigned mask, unsigned long v, Lane lane,             \
                                       int width = 32)                                        \
    {                                                                                         \
        return (unsigned long)name(mask, (unsigned long long)v, lane, width);                 \
    }                                                                                         \
    GRIDLANE_DEVICE long name(unsigned mask, long v, Lane lane, int width = 32)               \
    {                                                                                         \
        return (long)name(mask, (unsigned long long)v, lane, width);                          \
    }                                                                                         \
    GRIDLANE_DEVICE double name(unsigned mask, double v, Lane lane, int width = 32)           \
    {                                                                                         \
        unsigned long long bits = __builtin_bit_cast(unsigned long long, v);                  \
        return __builtin_bit_cast(double, name(mask, bits, lane, width));                     \
    }
GRIDLANE_SHUFFLE(__shfl_sync, "idx", T, int, 31)
GRIDLANE_SHUFFLE(__shfl_up_sync, "up", T, unsigned, 0)
GRIDLANE_SHUFFLE(__shfl_down_sync, "down", T, unsigned, 31)
GRIDLANE_SHUFFLE(__shfl_xor_sync, "bfly", T, int, 31)
#undef GRIDLANE_SHUFFLE

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
GRIDLANE_DEVICE unsigned gridlane_match_any(unsigned mask, unsigned v)
{
    unsigned found;
    asm volatile("match.any.sync.b32 %0, %1, %2;" : "=r"(found) : "r"(v), "r"(mask) : "memory");
    return found;
}
GRIDLANE_DEVICE unsigned gridlane_match_any(unsigned mask, unsigned long long v)
{
    unsigned found;
    asm volatile("match.any.sync.b64 %0, %1, %2;" : "=r"(found) : "l"(v), "r"(mask) : "memory");
    return found;
}
GRIDLANE_DEVICE unsigned gridlane_match_all(unsigned mask, unsigned v, int *all)
{
    unsigned found;
    asm volatile("{\n .reg .pred p1;\n match.all.sync.b32 %0|p1, %2, %3;\n"
                 " selp.s32 %1, 1, 0, p1;\n}"
                 : "=r"(found), "=r"(*all) : "r"(v), "r"(mask) : "memory");
    return found;
}
GRIDLANE_DEVICE unsigned gridlane_match_all(unsigned mask, unsigned long long v, int *all)
{
    unsigned found;
    asm volatile("{\n .reg .pred p1;\n match.all.sync.b64 %0|p1, %2, %3;\n"
                 " selp.s32 %1, 1, 0, p1;\n}"
                 : "=r"(found), "=r"(*all) : "l"(v), "r"(mask) : "memory");
    return found;
}
#define GRIDLANE_MATCH(T, Bits)                                                   \
    GRIDLANE_DEVICE unsigned __match_any_sync(unsigned mask, T v)                 \
    {                                                                             \
        return gridlane_match_any(mask, __builtin_bit_cast(Bits, v));             \
    }                                                                             \
    GRIDLANE_DEVICE unsigned __match_all_sync(unsigned mask, T v, int *all)       \
    {                                                                             \
        return gridlane_match_all(mask, __builtin_bit_cast(Bits, v), all);        \
    }
GRIDLANE_MATCH(int, unsigned)
GRIDLANE_MATCH(unsigned, unsigned)
GRIDLANE_MATCH(float, unsigned)
GRIDLANE_MATCH(long, unsigned long long)
GRIDLANE_MATCH(unsigned long, unsigned long long)
GRIDLANE_MATCH(long long, unsigned long long)
GRIDLANE_MATCH(unsigned long long, unsigned long long)
GRIDLANE_MATCH(double, unsigned long long)
#undef GRIDLANE_MATCH
#endif

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define GRIDLANE_REDUCE(name, T, ptx)                                                         \
    GRIDLANE_DEVICE T name(unsigned mask, T v)                                                \
    {                                                                                         \
        T result;                                                                             \
        asm volatile("redux.sync." ptx " %0, %1, %2;"                                         \
                     : "=r"(result) : "r"(v), "r"(mask) : "memory");                          \
        return result;                                                                        \
    }
GRIDLANE_REDUCE(__reduce_add_sync, int, "add.s32")
GRIDLANE_REDUCE(__reduce_min_sync, int, "min.s32")
GRIDLANE_REDUCE(__reduce_max_sync, int, "max.s32")
GRIDLANE_REDUCE(__reduce_add_sync, unsigned, "add.u32")
GRIDLANE_REDUCE(__reduce_min_sync, unsigned, "min.u32")
GRIDLANE_REDUCE(__reduce_max_sync, unsigned, "max.u32")
GRIDLANE_REDUCE(__reduce_and_sync, unsigned, "and.b32")
GRIDLANE_REDUCE(__reduce_or_sync, unsigned, "or.b32")
GRIDLANE_REDUCE(__reduce_xor_sync, unsigned, "xor.b32")
#undef GRIDLANE_REDUCE
#endif

// The names before Volta, of the lanes that run together. Templates, as programs that still have
// them may define their own.
#define GRIDLANE_SHUFFLE(name, Lane)                                                          \
    template <typename T> GRIDLANE_DEVICE T name(T v, Lane lane, int width = 32)              \
    {                                                                                         \
        return name##_sync(__activemask(), v, lane, width);                                   \
    }
GRIDLANE_SHUFFLE(__shfl, int)
GRIDLANE_SHUFFLE(__shfl_up, unsigned)
GRIDLANE_SHUFFLE(__shfl_down, unsigned)
GRIDLANE_SHUFFLE(__shfl_xor, int)
#undef GRIDLANE_SHUFFLE
template <typename T> GRIDLANE_DEVICE int __any(T predicate)
{
    return __any_sync(__activemask(), predicate != 0);
}
template <typename T> GRIDLANE_DEVICE int __all(T predicate)
{
    return __all_sync(__activemask(), predicate != 0);
}
template <typename T> GRIDLANE_DEVICE unsigned __ballot(T predicate)
{
    return __ballot_sync(__activemask(), predicate != 0);
}
