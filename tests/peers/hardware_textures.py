"""Textures of an NVIDIA GPU by the CUDA runtime, for ``textures_on_gpu.py``."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from cuda.bindings import driver, runtime
from tests.frontends.ptx import model_textures as model


def checked(made: tuple[Any, ...]) -> Any:
    """The results of a call of CUDA.

    Raises:
        RuntimeError: the call failed.
    """
    error, *rest = made
    if int(error):
        raise RuntimeError(f"{error!r}")
    return rest[0] if len(rest) == 1 else tuple(rest)


class Hardware:
    """The GPU's own textures, with the interface of ``Ours``."""

    name = "hardware"

    def __init__(self, ptx: str) -> None:
        checked(runtime.cudaFree(0))
        self._module = checked(driver.cuModuleLoadData(ptx.encode() + b"\0"))

    def image(self, texels: np.ndarray, how: model.Texture, flags: int = 0, read: int = 0) -> int:
        """A texture object of an array."""
        sizes = [*texels.shape[-2::-1], 0, 0][:3]
        if flags & 1 and texels.ndim == 3:  # layers of lines
            sizes = [sizes[0], 0, sizes[1]]
        array = checked(runtime.cudaMalloc3DArray(_format(texels), _extent(*sizes), flags))
        _fill(array, texels, sizes)
        resource = runtime.cudaResourceDesc()
        resource.resType = runtime.cudaResourceType.cudaResourceTypeArray
        resource.res.array.array = array
        return self._object(resource, how, read)

    def mipmapped(self, how: model.Texture, texels: list[np.ndarray]) -> int:
        """A texture object of the levels of an image."""
        height, width, _ = texels[0].shape
        extent = _extent(width, height, 0)
        form = _format(texels[0])
        made = checked(runtime.cudaMallocMipmappedArray(form, extent, len(texels), 0))
        for number, level in enumerate(texels):
            array = checked(runtime.cudaGetMipmappedArrayLevel(made, number))
            _fill(array, level, [level.shape[1], level.shape[0], 0])
        resource = runtime.cudaResourceDesc()
        resource.resType = runtime.cudaResourceType.cudaResourceTypeMipmappedArray
        resource.res.mipmap.mipmap = made
        return self._object(resource, how, 0)

    def linear(self, texels: np.ndarray) -> int:
        """A texture object of linear memory; texels are (number, channel)."""
        resource = runtime.cudaResourceDesc()
        resource.resType = runtime.cudaResourceType.cudaResourceTypeLinear
        resource.res.linear.devPtr = self._copied(texels)
        resource.res.linear.desc = _format(texels)
        resource.res.linear.sizeInBytes = texels.nbytes
        return self._object(resource, model.Texture([]), 0)

    @staticmethod
    def _object(resource: Any, how: model.Texture, read: int) -> int:
        made = runtime.cudaTextureDesc()
        made.addressMode = [runtime.cudaTextureAddressMode(mode) for mode in how.modes]
        made.filterMode = runtime.cudaTextureFilterMode(int(how.linear))
        made.readMode = runtime.cudaTextureReadMode(read & 1)
        made.sRGB = read >> 1
        made.borderColor = list(how.border)
        made.normalizedCoords = int(how.normalized)
        made.mipmapFilterMode = runtime.cudaTextureFilterMode(int(how.linear_levels))
        made.mipmapLevelBias = how.bias
        made.minMipmapLevelClamp, made.maxMipmapLevelClamp = how.clamp
        return int(checked(runtime.cudaCreateTextureObject(resource, made, None)))

    @staticmethod
    def _copied(values: np.ndarray) -> int:
        there = checked(runtime.cudaMalloc(max(values.nbytes, 256)))
        kind = runtime.cudaMemcpyKind.cudaMemcpyHostToDevice
        checked(runtime.cudaMemcpy(there, values.ctypes.data, values.nbytes, kind))
        return there

    def run(self, name: str, *args: Any, threads: int) -> None:
        """Launch; arrays are copied in and back."""
        function = checked(driver.cuModuleGetFunction(self._module, name.encode()))
        there = {n: self._copied(each) for n, each in enumerate(args) if _is_array(each)}
        values = tuple(there.get(n, each) for n, each in enumerate(args))
        params = values, (ctypes.c_uint64,) * len(values)
        checked(driver.cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, 0, params, 0))
        checked(runtime.cudaDeviceSynchronize())
        kind = runtime.cudaMemcpyKind.cudaMemcpyDeviceToHost
        for n, address in there.items():
            checked(runtime.cudaMemcpy(args[n].ctypes.data, address, args[n].nbytes, kind))
            checked(runtime.cudaFree(address))


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def _extent(width: int, height: int, depth: int) -> Any:
    made = runtime.cudaExtent()
    made.width, made.height, made.depth = width, height, depth
    return made


def _format(texels: np.ndarray) -> Any:
    made = runtime.cudaChannelFormatDesc()
    bits = [8 * texels.dtype.itemsize * (n < texels.shape[-1]) for n in range(4)]
    made.x, made.y, made.z, made.w = bits
    made.f = runtime.cudaChannelFormatKind("iuf".index(texels.dtype.kind))
    return made


def _fill(array: Any, texels: np.ndarray, sizes: list[int]) -> None:
    """Copy texels to an array."""
    width, height, depth = (max(1, size) for size in sizes)
    row = width * texels.shape[-1] * texels.dtype.itemsize
    texels = np.ascontiguousarray(texels)
    copy = runtime.cudaMemcpy3DParms()
    copy.srcPtr = runtime.make_cudaPitchedPtr(texels.ctypes.data, row, width, height)
    copy.dstArray = array
    copy.extent = _extent(width, height, depth)
    copy.kind = runtime.cudaMemcpyKind.cudaMemcpyHostToDevice
    checked(runtime.cudaMemcpy3D(copy))
