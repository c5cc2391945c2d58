// Arithmetic on the vector types, for both sides, as the CUDA samples have it.
#pragma once
#include <math.h>

#define GRIDLANE_2(V, f) return make_##V(f(x), f(y))
#define GRIDLANE_3(V, f) return make_##V(f(x), f(y), f(z))
#define GRIDLANE_4(V, f) return make_##V(f(x), f(y), f(z), f(w))

#define GRIDLANE_OPERATOR(V, T, n, op, assign)                                                \
    GRIDLANE_BOTH V operator op(V a, V b)                                                     \
    {                                                                                         \
        GRIDLANE_##n(V, GRIDLANE_EACH_##assign);                                              \
    }                                                                                         \
    GRIDLANE_BOTH V operator op(V a, T s)                                                     \
    {                                                                                         \
        V b = make_##V(s);                                                                    \
        GRIDLANE_##n(V, GRIDLANE_EACH_##assign);                                              \
    }                                                                                         \
    GRIDLANE_BOTH V operator op(T s, V b)                                                     \
    {                                                                                         \
        V a = make_##V(s);                                                                    \
        GRIDLANE_##n(V, GRIDLANE_EACH_##assign);                                              \
    }                                                                                         \
    GRIDLANE_BOTH void operator op##=(V &a, V b) { a = a op b; }                              \
    GRIDLANE_BOTH void operator op##=(V &a, T s) { a = a op s; }
#define GRIDLANE_EACH_add(x) a.x + b.x
#define GRIDLANE_EACH_sub(x) a.x - b.x
#define GRIDLANE_EACH_mul(x) a.x * b.x
#define GRIDLANE_EACH_div(x) a.x / b.x
#define GRIDLANE_EACH_neg(x) -a.x
#define GRIDLANE_EACH_min(x) min(a.x, b.x)
#define GRIDLANE_EACH_max(x) max(a.x, b.x)
#define GRIDLANE_EACH_same(x) s
#define GRIDLANE_EACH_clamp(x) max(low.x, min(v.x, high.x))

#define GRIDLANE_VECTOR(V, T, n)                                                              \
    GRIDLANE_BOTH V make_##V(T s) { GRIDLANE_##n(V, GRIDLANE_EACH_same); }                    \
    GRIDLANE_OPERATOR(V, T, n, +, add)                                                        \
    GRIDLANE_OPERATOR(V, T, n, -, sub)                                                        \
    GRIDLANE_OPERATOR(V, T, n, *, mul)                                                        \
    GRIDLANE_BOTH V min(V a, V b) { GRIDLANE_##n(V, GRIDLANE_EACH_min); }                     \
    GRIDLANE_BOTH V max(V a, V b) { GRIDLANE_##n(V, GRIDLANE_EACH_max); }                     \
    GRIDLANE_BOTH V clamp(V v, V low, V high) { GRIDLANE_##n(V, GRIDLANE_EACH_clamp); }       \
    GRIDLANE_BOTH V clamp(V v, T least, T most)                                               \
    {                                                                                         \
        return clamp(v, make_##V(least), make_##V(most));                                     \
    }                                                                                         \
    GRIDLANE_BOTH T dot(V a, V b)                                                             \
    {                                                                                         \
        GRIDLANE_SUM_##n;                                                                     \
    }
#define GRIDLANE_SUM_2 return a.x * b.x + a.y * b.y
#define GRIDLANE_SUM_3 return a.x * b.x + a.y * b.y + a.z * b.z
#define GRIDLANE_SUM_4 return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w

GRIDLANE_BOTH float clamp(float v, float low, float high) { return fmaxf(low, fminf(v, high)); }
GRIDLANE_BOTH int clamp(int v, int low, int high) { return max(low, min(v, high)); }
GRIDLANE_BOTH unsigned clamp(unsigned v, unsigned low, unsigned high)
{
    return max(low, min(v, high));
}
GRIDLANE_BOTH float lerp(float a, float b, float t) { return a + t * (b - a); }
GRIDLANE_BOTH float fracf(float v) { return v - floorf(v); }
GRIDLANE_BOTH float smoothstep(float a, float b, float x)
{
    float t = clamp((x - a) / (b - a), 0.0f, 1.0f);
    return t * t * (3.0f - 2.0f * t);
}

#define GRIDLANE_INTEGERS(T, kind)   \
    GRIDLANE_VECTOR(kind##2, T, 2)   \
    GRIDLANE_VECTOR(kind##3, T, 3)   \
    GRIDLANE_VECTOR(kind##4, T, 4)
GRIDLANE_INTEGERS(int, int)
GRIDLANE_INTEGERS(unsigned, uint)
#define GRIDLANE_NEGATIVE(V, n) \
    GRIDLANE_BOTH V operator-(V a) { GRIDLANE_##n(V, GRIDLANE_EACH_neg); }
GRIDLANE_NEGATIVE(int2, 2) GRIDLANE_NEGATIVE(int3, 3) GRIDLANE_NEGATIVE(int4, 4)

#define GRIDLANE_EACH_fminf(x) ::fminf(a.x, b.x)
#define GRIDLANE_EACH_fmaxf(x) ::fmaxf(a.x, b.x)
#define GRIDLANE_EACH_fmodf(x) ::fmodf(a.x, b.x)
#define GRIDLANE_EACH_floorf(x) ::floorf(a.x)
#define GRIDLANE_EACH_fracf(x) ::fracf(a.x)
#define GRIDLANE_EACH_fabs(x) ::fabsf(a.x)
#define GRIDLANE_EACH_smooth(x) ::smoothstep(a.x, b.x, v.x)
#define GRIDLANE_OF_TWO(V, n, name) \
    GRIDLANE_BOTH V name(V a, V b) { GRIDLANE_##n(V, GRIDLANE_EACH_##name); }
#define GRIDLANE_OF_ONE(V, n, name) \
    GRIDLANE_BOTH V name(V a) { GRIDLANE_##n(V, GRIDLANE_EACH_##name); }
#define GRIDLANE_FLOATS(V, n)                                                                 \
    GRIDLANE_VECTOR(V, float, n)                                                              \
    GRIDLANE_OPERATOR(V, float, n, /, div)                                                    \
    GRIDLANE_NEGATIVE(V, n)                                                                   \
    GRIDLANE_OF_TWO(V, n, fminf) GRIDLANE_OF_TWO(V, n, fmaxf) GRIDLANE_OF_TWO(V, n, fmodf)    \
    GRIDLANE_OF_ONE(V, n, floorf) GRIDLANE_OF_ONE(V, n, fracf) GRIDLANE_OF_ONE(V, n, fabs)    \
    GRIDLANE_BOTH V lerp(V a, V b, float t) { return a + t * (b - a); }                       \
    GRIDLANE_BOTH float length(V v) { return sqrtf(dot(v, v)); }                              \
    GRIDLANE_BOTH V normalize(V v) { return v * rsqrtf(dot(v, v)); }                          \
    GRIDLANE_BOTH V reflect(V i, V normal) { return i - 2.0f * normal * dot(normal, i); }     \
    GRIDLANE_BOTH V smoothstep(V a, V b, V v) { GRIDLANE_##n(V, GRIDLANE_EACH_smooth); }
GRIDLANE_FLOATS(float2, 2)
GRIDLANE_FLOATS(float3, 3)
GRIDLANE_FLOATS(float4, 4)
GRIDLANE_BOTH float3 cross(float3 a, float3 b)
{
    return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

// --- vectors of others: shorter, longer, of another type

#define GRIDLANE_OTHERS(T, kind)                                                                   \
    GRIDLANE_BOTH kind##2 make_##kind##2(kind##3 a) { return make_##kind##2(a.x, a.y); }           \
    GRIDLANE_BOTH kind##3 make_##kind##3(kind##2 a) { return make_##kind##3(a.x, a.y, 0); }        \
    GRIDLANE_BOTH kind##3 make_##kind##3(kind##2 a, T z) { return make_##kind##3(a.x, a.y, z); }   \
    GRIDLANE_BOTH kind##3 make_##kind##3(kind##4 a) { return make_##kind##3(a.x, a.y, a.z); }      \
    GRIDLANE_BOTH kind##4 make_##kind##4(kind##3 a) { return make_##kind##4(a.x, a.y, a.z, 0); }   \
    GRIDLANE_BOTH kind##4 make_##kind##4(kind##3 a, T w) { return make_##kind##4(a.x, a.y, a.z, w); }
GRIDLANE_OTHERS(float, float)
GRIDLANE_OTHERS(int, int)
GRIDLANE_OTHERS(unsigned, uint)
#define GRIDLANE_OF(V, W, T, n) \
    GRIDLANE_BOTH V make_##V(W a) { GRIDLANE_##n(V, GRIDLANE_EACH_##T); }
#define GRIDLANE_EACH_float(x) (float)a.x
#define GRIDLANE_EACH_int(x) (int)a.x
#define GRIDLANE_EACH_unsigned(x) (unsigned)a.x
GRIDLANE_OF(float2, int2, float, 2) GRIDLANE_OF(float3, int3, float, 3)
GRIDLANE_OF(float4, int4, float, 4) GRIDLANE_OF(float2, uint2, float, 2)
GRIDLANE_OF(float3, uint3, float, 3) GRIDLANE_OF(float4, uint4, float, 4)
GRIDLANE_OF(int2, float2, int, 2) GRIDLANE_OF(int3, float3, int, 3)
GRIDLANE_OF(int4, float4, int, 4) GRIDLANE_OF(int2, uint2, int, 2)
GRIDLANE_OF(int3, uint3, int, 3) GRIDLANE_OF(int4, uint4, int, 4)
GRIDLANE_OF(uint2, int2, unsigned, 2) GRIDLANE_OF(uint3, int3, unsigned, 3)
GRIDLANE_OF(uint4, int4, unsigned, 4)

#undef GRIDLANE_2
#undef GRIDLANE_3
#undef GRIDLANE_4
#undef GRIDLANE_OPERATOR
#undef GRIDLANE_VECTOR
#undef GRIDLANE_INTEGERS
#undef GRIDLANE_NEGATIVE
#undef GRIDLANE_OF_TWO
#undef GRIDLANE_OF_ONE
#undef GRIDLANE_FLOATS
#undef GRIDLANE_OTHERS
#undef GRIDLANE_OF
#undef GRIDLANE_SUM_2
#undef GRIDLANE_SUM_3
#undef GRIDLANE_SUM_4
#undef GRIDLANE_EACH_add
#undef GRIDLANE_EACH_sub
#undef GRIDLANE_EACH_mul
#undef GRIDLANE_EACH_div
#undef GRIDLANE_EACH_neg
#undef GRIDLANE_EACH_min
#undef GRIDLANE_EACH_max
#undef GRIDLANE_EACH_same
#undef GRIDLANE_EACH_clamp
#undef GRIDLANE_EACH_fminf
#undef GRIDLANE_EACH_fmaxf
#undef GRIDLANE_EACH_fmodf
#undef GRIDLANE_EACH_floorf
#undef GRIDLANE_EACH_fracf
#undef GRIDLANE_EACH_fabs
#undef GRIDLANE_EACH_smooth
#undef GRIDLANE_EACH_float
#undef GRIDLANE_EACH_int
#undef GRIDLANE_EACH_unsigned
