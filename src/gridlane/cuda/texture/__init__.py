"""Texture and surface objects for raw kernels, with CuPy's names and conventions.

>>> import numpy as np
>>> from gridlane import cuda
>>> from gridlane.cuda import texture
>>> code = '''
... extern "C" __global__ void shown(cudaTextureObject_t image, float *out)
... {
...     out[threadIdx.x] = tex2D<float>(image, threadIdx.x + 1.0f, 0.5f);
... }'''
>>> form = texture.ChannelFormatDescriptor(32, 0, 0, 0, texture.cudaChannelFormatKindFloat)
>>> pixels = texture.CUDAarray(form, 3, 2)
>>> pixels.copy_from(np.array([[1, 2, 4], [8, 8, 8]], np.float32))
>>> image = texture.TextureObject(
...     texture.ResourceDescriptor(texture.cudaResourceTypeArray, cuArr=pixels),
...     texture.TextureDescriptor(filterMode=texture.cudaFilterModeLinear),
... )
>>> out = np.zeros(3, np.float32)
>>> cuda.RawKernel(code, "shown")((1,), (3,), (image, out))
>>> out
array([1.5, 3. , 4. ], dtype=float32)
"""

from gridlane.cuda.texture.arrays import CUDAarray, MipmappedArray
from gridlane.cuda.texture.descriptors import ResourceDescriptor
from gridlane.cuda.texture.objects import SurfaceObject, TextureObject
from gridlane.cuda.texture.references import Reference, TextureReference
from gridlane.textures.constants import (
    cudaAddressModeBorder,
    cudaAddressModeClamp,
    cudaAddressModeMirror,
    cudaAddressModeWrap,
    cudaArrayCubemap,
    cudaArrayDefault,
    cudaArrayLayered,
    cudaArraySurfaceLoadStore,
    cudaArrayTextureGather,
    cudaChannelFormatKindFloat,
    cudaChannelFormatKindSigned,
    cudaChannelFormatKindUnsigned,
    cudaFilterModeLinear,
    cudaFilterModePoint,
    cudaReadModeElementType,
    cudaReadModeNormalizedFloat,
    cudaResourceTypeArray,
    cudaResourceTypeLinear,
    cudaResourceTypeMipmappedArray,
    cudaResourceTypePitch2D,
)
from gridlane.textures.formats import ChannelFormatDescriptor
from gridlane.textures.sampling import TextureDescriptor

__all__ = [
    "CUDAarray", "ChannelFormatDescriptor", "MipmappedArray", "Reference", "ResourceDescriptor",
    "SurfaceObject", "TextureDescriptor", "TextureObject", "TextureReference",
    "cudaAddressModeBorder", "cudaAddressModeClamp", "cudaAddressModeMirror",
    "cudaAddressModeWrap", "cudaArrayCubemap", "cudaArrayDefault", "cudaArrayLayered",
    "cudaArraySurfaceLoadStore", "cudaArrayTextureGather", "cudaChannelFormatKindFloat",
    "cudaChannelFormatKindSigned", "cudaChannelFormatKindUnsigned", "cudaFilterModeLinear",
    "cudaFilterModePoint", "cudaReadModeElementType", "cudaReadModeNormalizedFloat",
    "cudaResourceTypeArray", "cudaResourceTypeLinear", "cudaResourceTypeMipmappedArray",
    "cudaResourceTypePitch2D",
]  # fmt: skip
