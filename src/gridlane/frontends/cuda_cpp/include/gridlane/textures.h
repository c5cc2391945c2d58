// Texture objects: reads on the device, declarations for the host.
#pragma once

typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;

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
GRIDLANE_TEXEL(float, float, float4)
GRIDLANE_TEXEL(int, int, int4)
GRIDLANE_TEXEL(uint, unsigned, uint4)
GRIDLANE_TEXEL(short, short, int4)
GRIDLANE_TEXEL(ushort, unsigned short, uint4)
GRIDLANE_TEXEL(char, signed char, int4)
GRIDLANE_TEXEL(uchar, unsigned char, uint4)
#undef GRIDLANE_TEXEL

#define GRIDLANE_READ(name, geometry, at, Four, type, c, parameters, ...)                      \
    GRIDLANE_DEVICE void gridlane_##name(Four &v, cudaTextureObject_t t, GRIDLANE_LIST parameters)           \
    {                                                                                          \
        asm("tex." geometry ".v4." type " {%0, %1, %2, %3}, [%4, " at "];"                     \
            : "=" c(v.x), "=" c(v.y), "=" c(v.z), "=" c(v.w) : "l"(t), __VA_ARGS__);           \
    }
#define GRIDLANE_READS(name, geometry, at, coordinate, parameters, ...)                            \
    GRIDLANE_READ(name, geometry, at, float4, "f32." coordinate, "f", parameters, __VA_ARGS__)     \
    GRIDLANE_READ(name, geometry, at, int4, "s32." coordinate, "r", parameters, __VA_ARGS__)       \
    GRIDLANE_READ(name, geometry, at, uint4, "u32." coordinate, "r", parameters, __VA_ARGS__)
#define GRIDLANE_LIST(...) __VA_ARGS__
GRIDLANE_READS(tex1Dfetch, "1d", "{%5}", "s32", (int x), "r"(x))
GRIDLANE_READS(tex1D, "1d", "{%5}", "f32", (float x), "f"(x))
GRIDLANE_READS(tex2D, "2d", "{%5, %6}", "f32", (float x, float y), "f"(x), "f"(y))
GRIDLANE_READS(tex3D, "3d", "{%5, %6, %7, %7}", "f32",
               (float x, float y, float z), "f"(x), "f"(y), "f"(z))
GRIDLANE_READS(tex2DLayered, "a2d", "{%7, %5, %6, %6}", "f32",
               (float x, float y, int layer), "f"(x), "f"(y), "r"(layer))
#undef GRIDLANE_READ
#undef GRIDLANE_READS
#undef GRIDLANE_LIST

#define GRIDLANE_TEXTURE(name)                                                                 \
    template <typename T, typename... A>                                                       \
    GRIDLANE_DEVICE T name(cudaTextureObject_t t, A... at)                                     \
    {                                                                                          \
        typename gridlane_texel<T>::Read v;                                                    \
        gridlane_##name(v, t, at...);                                                          \
        return gridlane_texel<T>::of(v);                                                       \
    }                                                                                          \
    template <typename T, typename... A>                                                       \
    GRIDLANE_DEVICE void name(T *made, cudaTextureObject_t t, A... at)                         \
    {                                                                                          \
        *made = name<T>(t, at...);                                                             \
    }
GRIDLANE_TEXTURE(tex1Dfetch)
GRIDLANE_TEXTURE(tex1D)
GRIDLANE_TEXTURE(tex2D)
GRIDLANE_TEXTURE(tex3D)
GRIDLANE_TEXTURE(tex2DLayered)
#undef GRIDLANE_TEXTURE

// --- the host's side

enum cudaChannelFormatKind {
    cudaChannelFormatKindSigned,
    cudaChannelFormatKindUnsigned,
    cudaChannelFormatKindFloat,
    cudaChannelFormatKindNone,
};
enum cudaTextureAddressMode {
    cudaAddressModeWrap,
    cudaAddressModeClamp,
    cudaAddressModeMirror,
    cudaAddressModeBorder,
};
enum cudaTextureFilterMode { cudaFilterModePoint, cudaFilterModeLinear };
enum cudaTextureReadMode { cudaReadModeElementType, cudaReadModeNormalizedFloat };
enum cudaResourceType {
    cudaResourceTypeArray,
    cudaResourceTypeMipmappedArray,
    cudaResourceTypeLinear,
    cudaResourceTypePitch2D,
};
struct cudaChannelFormatDesc {
    int x, y, z, w;
    cudaChannelFormatKind f;
};
struct cudaMipmappedArray;
struct cudaResourceDesc {
    cudaResourceType resType;
    union {
        struct { cudaArray_t array; } array;
        struct { cudaMipmappedArray *mipmap; } mipmap;
        struct {
            void *devPtr;
            cudaChannelFormatDesc desc;
            size_t sizeInBytes;
        } linear;
        struct {
            void *devPtr;
            cudaChannelFormatDesc desc;
            size_t width, height, pitchInBytes;
        } pitch2D;
    } res;
};
struct cudaTextureDesc {
    cudaTextureAddressMode addressMode[3];
    cudaTextureFilterMode filterMode;
    cudaTextureReadMode readMode;
    int sRGB;
    float borderColor[4];
    int normalizedCoords;
    unsigned maxAnisotropy;
    cudaTextureFilterMode mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
};
struct cudaResourceViewDesc;
struct cudaMemcpy3DParms {
    cudaArray_t srcArray;
    cudaPos srcPos;
    cudaPitchedPtr srcPtr;
    cudaArray_t dstArray;
    cudaPos dstPos;
    cudaPitchedPtr dstPtr;
    cudaExtent extent;
    cudaMemcpyKind kind;
};
constexpr unsigned cudaArrayDefault = 0, cudaArrayLayered = 1, cudaArraySurfaceLoadStore = 2;

template <typename T> cudaChannelFormatDesc cudaCreateChannelDesc();
cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind);
cudaError_t cudaMallocArray(cudaArray_t *made, const cudaChannelFormatDesc *format, size_t width,
                            size_t height = 0, unsigned flags = 0);
cudaError_t cudaMalloc3DArray(cudaArray_t *made, const cudaChannelFormatDesc *format,
                              cudaExtent extent, unsigned flags = 0);
cudaError_t cudaMalloc3D(cudaPitchedPtr *made, cudaExtent extent);
cudaError_t cudaFreeArray(cudaArray_t array);
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms *copy);
cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t bytes,
                              cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch,
                                size_t width, size_t height, cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DFromArray(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                                  size_t width, size_t height, cudaMemcpyKind kind);
cudaError_t cudaCreateTextureObject(cudaTextureObject_t *made, const cudaResourceDesc *resource,
                                    const cudaTextureDesc *texture, const cudaResourceViewDesc *view);
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture);
cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *made, const cudaResourceDesc *resource);
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surface);
inline cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth)
{
    return {width, height, depth};
}
inline cudaPos make_cudaPos(size_t x, size_t y, size_t z) { return {x, y, z}; }
inline cudaPitchedPtr make_cudaPitchedPtr(void *p, size_t pitch, size_t width, size_t height)
{
    return {p, pitch, width, height};
}
