// Texture objects: reads on the device.
#pragma once

// A texel of any type, from the four numbers that a read gives.
template <typename T> struct gridlane_texel;
#define GRIDLANE_TEXEL(name, T, Four)                                                          \
    template <> struct gridlane_texel<T> {                                                     \
        typedef Four Read;                                                                     \
        __device__ static T of(Four v) { return (T)v.x; }                                      \
    };                                                                                         \
    template <> struct gridlane_texel<name##1> {                                               \
        typedef Four Read;                                                                     \
        __device__ static name##1 of(Four v) { return {(T)v.x}; }                              \
    };                                                                                         \
    template <> struct gridlane_texel<name##2> {                                               \
        typedef Four Read;                                                                     \
        __device__ static name##2 of(Four v) { return {(T)v.x, (T)v.y}; }                      \
    };                                                                                         \
    template <> struct gridlane_texel<name##4> {                                               \
        typedef Four Read;                                                                     \
        __device__ static name##4 of(Four v) { return {(T)v.x, (T)v.y, (T)v.z, (T)v.w}; }      \
    };
template <> struct gridlane_texel<char> {
    typedef int4 Read;
    __device__ static char of(int4 v) { return (char)v.x; }
};
GRIDLANE_TEXEL(float, float, float4)
GRIDLANE_TEXEL(int, int, int4)
GRIDLANE_TEXEL(uint, unsigned, uint4)
GRIDLANE_TEXEL(short, short, int4)
GRIDLANE_TEXEL(ushort, unsigned short, uint4)
GRIDLANE_TEXEL(char, signed char, int4)
GRIDLANE_TEXEL(uchar, unsigned char, uint4)
#undef GRIDLANE_TEXEL

#define GRIDLANE_LIST(...) __VA_ARGS__
#define GRIDLANE_READ(name, head, tail, Four, type, c, parameters, ...)                        \
    GRIDLANE_DEVICE void gridlane_##name(Four &v, cudaTextureObject_t t, GRIDLANE_LIST parameters) \
    {                                                                                          \
        asm(head ".v4." type " {%0, %1, %2, %3}, [%4, " tail ";"                               \
            : "=" c(v.x), "=" c(v.y), "=" c(v.z), "=" c(v.w) : "l"(t), __VA_ARGS__);           \
    }
#define GRIDLANE_TEXTURE(name, head, at, tail, parameters, arguments, ...)                     \
    GRIDLANE_READ(name, head, tail, float4, "f32." at, "f", parameters, __VA_ARGS__)           \
    GRIDLANE_READ(name, head, tail, int4, "s32." at, "r", parameters, __VA_ARGS__)             \
    GRIDLANE_READ(name, head, tail, uint4, "u32." at, "r", parameters, __VA_ARGS__)            \
    template <typename T>                                                                      \
    GRIDLANE_DEVICE T name(cudaTextureObject_t t, GRIDLANE_LIST parameters)                    \
    {                                                                                          \
        typename gridlane_texel<T>::Read v;                                                    \
        gridlane_##name(v, t, GRIDLANE_LIST arguments);                                        \
        return gridlane_texel<T>::of(v);                                                       \
    }                                                                                          \
    template <typename T>                                                                      \
    GRIDLANE_DEVICE void name(T *made, cudaTextureObject_t t, GRIDLANE_LIST parameters)        \
    {                                                                                          \
        *made = name<T>(t, GRIDLANE_LIST arguments);                                           \
    }

GRIDLANE_TEXTURE(tex1Dfetch, "tex.1d", "s32", "{%5}]", (int x), (x), "r"(x))

// One line for each geometry: how its coordinates are declared, handed on, written and given to
// the instruction; then the operands of a level of detail and of gradients.
#define GRIDLANE_LEVEL(name, geometry, at, next, parameters, arguments, ...)                   \
    GRIDLANE_TEXTURE(name, "tex." geometry, "f32", at, parameters, arguments, __VA_ARGS__)     \
    GRIDLANE_TEXTURE(name##Lod, "tex.level." geometry, "f32", at ", " next,                    \
                     (GRIDLANE_LIST parameters, float level), (GRIDLANE_LIST arguments, level), \
                     __VA_ARGS__, "f"(level))
#define GRIDLANE_GRADIENT(name, geometry, tail, T, parameters, arguments, ...)                 \
    GRIDLANE_TEXTURE(name##Grad, "tex.grad." geometry, "f32", tail,                            \
                     (GRIDLANE_LIST parameters, T dx, T dy), (GRIDLANE_LIST arguments, dx, dy), \
                     __VA_ARGS__)

GRIDLANE_LEVEL(tex1D, "1d", "{%5}]", "%6", (float x), (x), "f"(x))
GRIDLANE_LEVEL(tex2D, "2d", "{%5, %6}]", "%7", (float x, float y), (x, y), "f"(x), "f"(y))
GRIDLANE_LEVEL(tex3D, "3d", "{%5, %6, %7, %7}]", "%8", (float x, float y, float z), (x, y, z),
               "f"(x), "f"(y), "f"(z))
GRIDLANE_LEVEL(tex1DLayered, "a1d", "{%6, %5}]", "%7", (float x, int layer), (x, layer), "f"(x),
               "r"(layer))
GRIDLANE_LEVEL(tex2DLayered, "a2d", "{%7, %5, %6, %6}]", "%8", (float x, float y, int layer),
               (x, y, layer), "f"(x), "f"(y), "r"(layer))
GRIDLANE_LEVEL(texCubemap, "cube", "{%5, %6, %7, %7}]", "%8", (float x, float y, float z),
               (x, y, z), "f"(x), "f"(y), "f"(z))
GRIDLANE_LEVEL(texCubemapLayered, "acube", "{%8, %5, %6, %7}]", "%9",
               (float x, float y, float z, int layer), (x, y, z, layer), "f"(x), "f"(y), "f"(z),
               "r"(layer))

GRIDLANE_GRADIENT(tex1D, "1d", "{%5}], {%6}, {%7}", float, (float x), (x), "f"(x), "f"(dx), "f"(dy))
GRIDLANE_GRADIENT(tex2D, "2d", "{%5, %6}], {%7, %8}, {%9, %10}", float2, (float x, float y), (x, y),
                  "f"(x), "f"(y), "f"(dx.x), "f"(dx.y), "f"(dy.x), "f"(dy.y))
GRIDLANE_GRADIENT(tex3D, "3d", "{%5, %6, %7, %7}], {%8, %9, %10, %10}, {%11, %12, %13, %13}", float4,
                  (float x, float y, float z), (x, y, z), "f"(x), "f"(y), "f"(z), "f"(dx.x),
                  "f"(dx.y), "f"(dx.z), "f"(dy.x), "f"(dy.y), "f"(dy.z))
GRIDLANE_GRADIENT(tex1DLayered, "a1d", "{%6, %5}], {%7}, {%8}", float, (float x, int layer),
                  (x, layer), "f"(x), "r"(layer), "f"(dx), "f"(dy))
GRIDLANE_GRADIENT(tex2DLayered, "a2d", "{%7, %5, %6, %6}], {%8, %9}, {%10, %11}", float2,
                  (float x, float y, int layer), (x, y, layer), "f"(x), "f"(y), "r"(layer),
                  "f"(dx.x), "f"(dx.y), "f"(dy.x), "f"(dy.y))

#define GRIDLANE_GATHER(channel)                                                               \
    GRIDLANE_TEXTURE(gridlane_gather_##channel, "tld4." #channel ".2d", "f32", "{%5, %6}]",    \
                     (float x, float y), (x, y), "f"(x), "f"(y))
GRIDLANE_GATHER(r)
GRIDLANE_GATHER(g)
GRIDLANE_GATHER(b)
GRIDLANE_GATHER(a)
template <typename T>
GRIDLANE_DEVICE T tex2Dgather(cudaTextureObject_t t, float x, float y, int channel = 0)
{
    if (channel == 1)
        return gridlane_gather_g<T>(t, x, y);
    if (channel == 2)
        return gridlane_gather_b<T>(t, x, y);
    return channel == 3 ? gridlane_gather_a<T>(t, x, y) : gridlane_gather_r<T>(t, x, y);
}
template <typename T>
GRIDLANE_DEVICE void tex2Dgather(T *made, cudaTextureObject_t t, float x, float y, int channel = 0)
{
    *made = tex2Dgather<T>(t, x, y, channel);
}
#undef GRIDLANE_READ
#undef GRIDLANE_TEXTURE
#undef GRIDLANE_LEVEL
#undef GRIDLANE_GRADIENT
#undef GRIDLANE_GATHER
#undef GRIDLANE_LIST
