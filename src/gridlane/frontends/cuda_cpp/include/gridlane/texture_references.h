// Texture and surface references: variables that hold an object's handle, which the host binds.
#pragma once

struct textureReference {
    int normalized;
    cudaTextureFilterMode filterMode;
    cudaTextureAddressMode addressMode[3];
    cudaChannelFormatDesc channelDesc;
    int sRGB;
    unsigned maxAnisotropy;
    cudaTextureFilterMode mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    int disableTrilinearOptimization;
    // How it is read, the object that it is bound to, and the bytes that its address is moved by.
    cudaTextureReadMode gridlane_mode;
    mutable cudaTextureObject_t gridlane_object;
    mutable size_t gridlane_offset;
    constexpr textureReference(int normalized, cudaTextureFilterMode filter,
                               cudaTextureAddressMode mode, cudaChannelFormatDesc format,
                               cudaTextureReadMode read)
        : normalized(normalized), filterMode(filter), addressMode{mode, mode, mode},
          channelDesc(format), sRGB(0), maxAnisotropy(0), mipmapFilterMode(cudaFilterModePoint),
          mipmapLevelBias(0), minMipmapLevelClamp(0), maxMipmapLevelClamp(0),
          disableTrilinearOptimization(0), gridlane_mode(read), gridlane_object(0),
          gridlane_offset(0) {}
};
struct surfaceReference {
    cudaChannelFormatDesc channelDesc;
    mutable cudaSurfaceObject_t gridlane_object;
    constexpr surfaceReference() : channelDesc{}, gridlane_object(0) {}
};
template <typename T> constexpr cudaChannelFormatDesc gridlane_format()
{
#ifdef GRIDLANE_PROGRAM
    return gridlane_channel<T>::made();
#else
    return {};
#endif
}

// On the device such a variable is its handle.
template <typename T, int shape = cudaTextureType1D,
          cudaTextureReadMode mode = cudaReadModeElementType>
struct __attribute__((device_builtin_texture_type)) texture : textureReference {
    constexpr texture(int normalized = 0, cudaTextureFilterMode filter = cudaFilterModePoint,
                      cudaTextureAddressMode address = cudaAddressModeClamp,
                      cudaChannelFormatDesc format = gridlane_format<T>())
        : textureReference(normalized, filter, address, format, mode) {}
};
template <typename T, int shape = cudaTextureType1D>
struct __attribute__((device_builtin_surface_type)) surface;
template <int shape>
struct __attribute__((device_builtin_surface_type)) surface<void, shape> : surfaceReference {
    constexpr surface() {}
};

template <typename T, int shape, cudaTextureReadMode mode>
GRIDLANE_DEVICE cudaTextureObject_t gridlane_handle(texture<T, shape, mode> reference)
{
    cudaTextureObject_t made;
    asm("mov.b64 %0, %1;" : "=l"(made) : "l"(reference));
    return made;
}
template <int shape>
GRIDLANE_DEVICE cudaSurfaceObject_t gridlane_handle(surface<void, shape> reference)
{
    cudaSurfaceObject_t made;
    asm("mov.b64 %0, %1;" : "=l"(made) : "l"(reference));
    return made;
}

// What a read gives: texels, or as many floats.
template <typename T, cudaTextureReadMode mode> struct gridlane_read {
    typedef T Type;
};
template <int count> struct gridlane_floats;
template <> struct gridlane_floats<1> { typedef float Type; };
template <> struct gridlane_floats<2> { typedef float2 Type; };
template <> struct gridlane_floats<4> { typedef float4 Type; };
template <typename T> struct gridlane_read<T, cudaReadModeNormalizedFloat> {
    typedef typename gridlane_floats<gridlane_elements<T>::count>::Type Type;
};

#define GRIDLANE_LIST(...) __VA_ARGS__
#define GRIDLANE_REFERENCE(name, shape, parameters, arguments)                                 \
    template <typename T, cudaTextureReadMode mode>                                            \
    GRIDLANE_DEVICE typename gridlane_read<T, mode>::Type name(texture<T, shape, mode> t,      \
                                                               GRIDLANE_LIST parameters)       \
    {                                                                                          \
        return name<typename gridlane_read<T, mode>::Type>(gridlane_handle(t),                 \
                                                           GRIDLANE_LIST arguments);           \
    }
GRIDLANE_REFERENCE(tex1Dfetch, cudaTextureType1D, (int x), (x))
#define GRIDLANE_LEVELS(name, shape, parameters, arguments)                                    \
    GRIDLANE_REFERENCE(name, shape, parameters, arguments)                                     \
    GRIDLANE_REFERENCE(name##Lod, shape, (GRIDLANE_LIST parameters, float level),              \
                       (GRIDLANE_LIST arguments, level))
GRIDLANE_LEVELS(tex1D, cudaTextureType1D, (float x), (x))
GRIDLANE_LEVELS(tex2D, cudaTextureType2D, (float x, float y), (x, y))
GRIDLANE_LEVELS(tex3D, cudaTextureType3D, (float x, float y, float z), (x, y, z))
GRIDLANE_LEVELS(tex1DLayered, cudaTextureType1DLayered, (float x, int layer), (x, layer))
GRIDLANE_LEVELS(tex2DLayered, cudaTextureType2DLayered, (float x, float y, int layer),
                (x, y, layer))
GRIDLANE_LEVELS(texCubemap, cudaTextureTypeCubemap, (float x, float y, float z), (x, y, z))
GRIDLANE_LEVELS(texCubemapLayered, cudaTextureTypeCubemapLayered,
                (float x, float y, float z, int layer), (x, y, z, layer))
#define GRIDLANE_GRADIENT(name, shape, T_, parameters, arguments)                              \
    GRIDLANE_REFERENCE(name##Grad, shape, (GRIDLANE_LIST parameters, T_ dx, T_ dy),            \
                       (GRIDLANE_LIST arguments, dx, dy))
GRIDLANE_GRADIENT(tex1D, cudaTextureType1D, float, (float x), (x))
GRIDLANE_GRADIENT(tex2D, cudaTextureType2D, float2, (float x, float y), (x, y))
GRIDLANE_GRADIENT(tex3D, cudaTextureType3D, float4, (float x, float y, float z), (x, y, z))
GRIDLANE_GRADIENT(tex1DLayered, cudaTextureType1DLayered, float, (float x, int layer), (x, layer))
GRIDLANE_GRADIENT(tex2DLayered, cudaTextureType2DLayered, float2, (float x, float y, int layer),
                  (x, y, layer))
#undef GRIDLANE_GRADIENT
#undef GRIDLANE_REFERENCE
#undef GRIDLANE_LEVELS

// The same channel of four texels; which one does not depend on their type.
template <typename T> struct gridlane_four { typedef int4 Type; };
template <> struct gridlane_four<float4> { typedef float4 Type; };
template <> struct gridlane_four<uint4> { typedef uint4 Type; };
template <typename T, cudaTextureReadMode mode>
GRIDLANE_DEVICE auto tex2Dgather(texture<T, cudaTextureType2D, mode> t, float x, float y,
                                 int channel = 0)
{
    typedef typename gridlane_texel<typename gridlane_read<T, mode>::Type>::Read Read;
    return tex2Dgather<typename gridlane_four<Read>::Type>(gridlane_handle(t), x, y, channel);
}

#define GRIDLANE_REFERENCE(name, shape, parameters, arguments)                                 \
    template <typename T>                                                                      \
    GRIDLANE_DEVICE T name##read(surface<void, shape> s, GRIDLANE_LIST parameters,             \
                                 cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)          \
    {                                                                                          \
        return name##read<T>(gridlane_handle(s), GRIDLANE_LIST arguments, mode);               \
    }                                                                                          \
    template <typename T>                                                                      \
    GRIDLANE_DEVICE void name##read(T *made, surface<void, shape> s, GRIDLANE_LIST parameters, \
                                    cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)       \
    {                                                                                          \
        *made = name##read<T>(gridlane_handle(s), GRIDLANE_LIST arguments, mode);              \
    }                                                                                          \
    template <typename T>                                                                      \
    GRIDLANE_DEVICE void name##write(T value, surface<void, shape> s, GRIDLANE_LIST parameters, \
                                     cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)      \
    {                                                                                          \
        name##write<T>(value, gridlane_handle(s), GRIDLANE_LIST arguments, mode);              \
    }
GRIDLANE_REFERENCE(surf1D, cudaSurfaceType1D, (int x), (x))
GRIDLANE_REFERENCE(surf2D, cudaSurfaceType2D, (int x, int y), (x, y))
GRIDLANE_REFERENCE(surf3D, cudaSurfaceType3D, (int x, int y, int z), (x, y, z))
GRIDLANE_REFERENCE(surf1DLayered, cudaSurfaceType1DLayered, (int x, int layer), (x, layer))
GRIDLANE_REFERENCE(surf2DLayered, cudaSurfaceType2DLayered, (int x, int y, int layer),
                   (x, y, layer))
#undef GRIDLANE_REFERENCE
#undef GRIDLANE_LIST

#include "gridlane/texture_binding.h"
