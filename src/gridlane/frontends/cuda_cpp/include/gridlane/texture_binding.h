// Binding of texture and surface references by the host: to an object whose handle the variable holds.
#pragma once

// --- by the plain reference that each texture has

inline cudaError_t gridlane_bind(const textureReference *reference, const cudaResourceDesc &memory)
{
    cudaTextureDesc how = {};
    for (int axis = 0; axis < 3; axis++)
        how.addressMode[axis] = reference->addressMode[axis];
    how.filterMode = reference->filterMode;
    how.readMode = reference->gridlane_mode;
    how.sRGB = reference->sRGB;
    how.normalizedCoords = reference->normalized;
    how.maxAnisotropy = reference->maxAnisotropy;
    how.mipmapFilterMode = reference->mipmapFilterMode;
    how.mipmapLevelBias = reference->mipmapLevelBias;
    how.minMipmapLevelClamp = reference->minMipmapLevelClamp;
    how.maxMipmapLevelClamp = reference->maxMipmapLevelClamp;
    cudaTextureObject_t made = 0, before = reference->gridlane_object;
    cudaError_t error = ::cudaCreateTextureObject(&made, &memory, &how, nullptr);
    if (!error)
        error = ::cudaMemcpyToSymbol((const void *)reference, &made, sizeof made);
    if (error)
        return error;
    reference->gridlane_object = made;
    reference->gridlane_offset = 0;
    return before ? ::cudaDestroyTextureObject(before) : cudaSuccess;
}
// The bytes from an address to the end of its allocation; 0 where it is in none.
inline size_t gridlane_rest(const void *memory)
{
    typedef int Range(unsigned long long *, size_t *, unsigned long long);
    void *found = nullptr;
    cudaDriverEntryPointQueryResult status;
    unsigned long long begin = 0;
    size_t bytes = 0;
    if (::cudaGetDriverEntryPoint("cuMemGetAddressRange", &found, 0, &status) || !found ||
        ((Range *)found)(&begin, &bytes, (unsigned long long)memory))
        return 0;
    return begin + bytes - (unsigned long long)memory;
}
inline cudaError_t cudaBindTexture(size_t *offset, const textureReference *reference,
                                   const void *memory, const cudaChannelFormatDesc *format,
                                   size_t bytes = 0xFFFFFFFF)
{
    cudaResourceDesc made = {};
    made.resType = cudaResourceTypeLinear;
    made.res.linear.devPtr = (void *)memory;
    made.res.linear.desc = *format;
    const size_t texel = (format->x + format->y + format->z + format->w) / 8;
    if (bytes == 0xFFFFFFFF) {
        int device = 0, most = 0;
        cudaError_t error = ::cudaGetDevice(&device);
        if (!error)
            error = ::cudaDeviceGetAttribute(&most, cudaDevAttrMaxTexture1DLinearWidth, device);
        if (error)
            return error;
        bytes = gridlane_rest(memory);
        if (bytes > most * texel)
            bytes = most * texel;
    }
    made.res.linear.sizeInBytes = bytes;
    if (offset)
        *offset = 0;  // any multiple of a texel is an address of a texture
    return gridlane_bind(reference, made);
}
inline cudaError_t cudaBindTexture2D(size_t *offset, const textureReference *reference,
                                     const void *memory, const cudaChannelFormatDesc *format,
                                     size_t width, size_t height, size_t pitch)
{
    cudaResourceDesc made = {};
    made.resType = cudaResourceTypePitch2D;
    made.res.pitch2D.devPtr = (void *)memory;
    made.res.pitch2D.desc = *format;
    made.res.pitch2D.width = width;
    made.res.pitch2D.height = height;
    made.res.pitch2D.pitchInBytes = pitch;
    if (offset)
        *offset = 0;
    return gridlane_bind(reference, made);
}
inline cudaError_t cudaBindTextureToArray(const textureReference *reference,
                                          cudaArray_const_t array, const cudaChannelFormatDesc *)
{
    cudaResourceDesc made = {};
    made.resType = cudaResourceTypeArray;
    made.res.array.array = (cudaArray_t)array;
    return gridlane_bind(reference, made);
}
inline cudaError_t cudaBindTextureToMipmappedArray(const textureReference *reference,
                                                   cudaMipmappedArray_const_t levels,
                                                   const cudaChannelFormatDesc *)
{
    cudaResourceDesc made = {};
    made.resType = cudaResourceTypeMipmappedArray;
    made.res.mipmap.mipmap = (cudaMipmappedArray_t)levels;
    return gridlane_bind(reference, made);
}
inline cudaError_t cudaUnbindTexture(const textureReference *reference)
{
    cudaTextureObject_t none = 0, before = reference->gridlane_object;
    if (!before)
        return cudaSuccess;
    cudaError_t error = ::cudaMemcpyToSymbol((const void *)reference, &none, sizeof none);
    if (error)
        return error;
    reference->gridlane_object = 0;
    return ::cudaDestroyTextureObject(before);
}
inline cudaError_t cudaGetTextureAlignmentOffset(size_t *offset, const textureReference *reference)
{
    *offset = reference->gridlane_offset;
    return reference->gridlane_object ? cudaSuccess : cudaErrorInvalidTextureBinding;
}
inline cudaError_t cudaGetTextureReference(const textureReference **made, const void *symbol)
{
    *made = (const textureReference *)symbol;
    return symbol ? cudaSuccess : cudaErrorInvalidTexture;
}
inline cudaError_t cudaBindSurfaceToArray(const surfaceReference *reference,
                                          cudaArray_const_t array, const cudaChannelFormatDesc *)
{
    cudaResourceDesc memory = {};
    memory.resType = cudaResourceTypeArray;
    memory.res.array.array = (cudaArray_t)array;
    cudaSurfaceObject_t made = 0, before = reference->gridlane_object;
    cudaError_t error = ::cudaCreateSurfaceObject(&made, &memory);
    if (!error)
        error = ::cudaMemcpyToSymbol((const void *)reference, &made, sizeof made);
    if (error)
        return error;
    reference->gridlane_object = made;
    return before ? ::cudaDestroySurfaceObject(before) : cudaSuccess;
}
inline cudaError_t cudaGetSurfaceReference(const surfaceReference **made, const void *symbol)
{
    *made = (const surfaceReference *)symbol;
    return symbol ? cudaSuccess : cudaErrorInvalidSurface;
}

// --- by the variable

#define GRIDLANE_TEXTURE template <typename T, int shape, cudaTextureReadMode mode> inline cudaError_t
#define GRIDLANE_OF const texture<T, shape, mode> &reference
GRIDLANE_TEXTURE cudaBindTexture(size_t *offset, GRIDLANE_OF, const void *memory,
                                 const cudaChannelFormatDesc &format, size_t bytes = 0xFFFFFFFF)
{
    return cudaBindTexture(offset, (const textureReference *)&reference, memory, &format, bytes);
}
GRIDLANE_TEXTURE cudaBindTexture(size_t *offset, GRIDLANE_OF, const void *memory,
                                 size_t bytes = 0xFFFFFFFF)
{
    return cudaBindTexture(offset, reference, memory, reference.channelDesc, bytes);
}
GRIDLANE_TEXTURE cudaBindTexture2D(size_t *offset, GRIDLANE_OF, const void *memory,
                                   const cudaChannelFormatDesc &format, size_t width, size_t height,
                                   size_t pitch)
{
    return cudaBindTexture2D(offset, (const textureReference *)&reference, memory, &format, width,
                             height, pitch);
}
GRIDLANE_TEXTURE cudaBindTexture2D(size_t *offset, GRIDLANE_OF, const void *memory, size_t width,
                                   size_t height, size_t pitch)
{
    return cudaBindTexture2D(offset, reference, memory, reference.channelDesc, width, height, pitch);
}
GRIDLANE_TEXTURE cudaBindTextureToArray(GRIDLANE_OF, cudaArray_const_t array,
                                        const cudaChannelFormatDesc &format)
{
    return cudaBindTextureToArray((const textureReference *)&reference, array, &format);
}
GRIDLANE_TEXTURE cudaBindTextureToArray(GRIDLANE_OF, cudaArray_const_t array)
{
    return cudaBindTextureToArray((const textureReference *)&reference, array, nullptr);
}
GRIDLANE_TEXTURE cudaBindTextureToMipmappedArray(GRIDLANE_OF, cudaMipmappedArray_const_t levels,
                                                 const cudaChannelFormatDesc &format)
{
    return cudaBindTextureToMipmappedArray((const textureReference *)&reference, levels, &format);
}
GRIDLANE_TEXTURE cudaBindTextureToMipmappedArray(GRIDLANE_OF, cudaMipmappedArray_const_t levels)
{
    return cudaBindTextureToMipmappedArray((const textureReference *)&reference, levels, nullptr);
}
GRIDLANE_TEXTURE cudaUnbindTexture(GRIDLANE_OF)
{
    return cudaUnbindTexture((const textureReference *)&reference);
}
GRIDLANE_TEXTURE cudaGetTextureAlignmentOffset(size_t *offset, GRIDLANE_OF)
{
    return cudaGetTextureAlignmentOffset(offset, (const textureReference *)&reference);
}
GRIDLANE_TEXTURE cudaGetTextureReference(const textureReference **made, GRIDLANE_OF)
{
    return cudaGetTextureReference(made, (const void *)&reference);
}
#undef GRIDLANE_TEXTURE
#undef GRIDLANE_OF
template <int shape>
inline cudaError_t cudaBindSurfaceToArray(const surface<void, shape> &reference,
                                          cudaArray_const_t array)
{
    return cudaBindSurfaceToArray((const surfaceReference *)&reference, array, nullptr);
}
template <int shape>
inline cudaError_t cudaBindSurfaceToArray(const surface<void, shape> &reference,
                                          cudaArray_const_t array,
                                          const cudaChannelFormatDesc &format)
{
    return cudaBindSurfaceToArray((const surfaceReference *)&reference, array, &format);
}
