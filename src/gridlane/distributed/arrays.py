"""Arrays as a header and a buffer: what pickle's protocol 5 sends apart, and Dask as a frame."""

from __future__ import annotations

import copyreg
from typing import Any

import numpy as np

from gridlane import cuda, xp
from gridlane.cuda.numba_compat.devicearray import DeviceNDArray, DeviceRecord

_HOST = 1
"""DLPack's kind of the host's memory."""
_BYTE = np.dtype("u1")


def register() -> None:
    """Let arrays be pickled, by the elements."""
    copyreg.pickle(DeviceNDArray, _reduced)
    copyreg.pickle(DeviceRecord, _reduced)
    copyreg.pickle(xp.Array, _reduced_lazy)


def _reduced(array: Any) -> tuple[Any, ...]:
    """A device array in the form of ``__reduce__``.

    Memory without gaps is sent as it is, with its strides; of other arrays the elements, in C
    order.
    """
    cls, shape, strides = type(array), array.shape, array.strides
    if not array.size:
        octets = np.empty(0, _BYTE)
    elif array.alloc_size == array.nbytes:
        low = sum(min(0, step * (extent - 1)) for step, extent in zip(strides, shape, strict=True))
        octets = _host_of(array, array.address + low)
    else:
        host = np.ascontiguousarray(array.copy_to_host()).reshape(shape)
        octets, strides = _octets(host), host.strides
    form = cls, shape, strides, array.dtype, array.readonly
    return restored, (*form, octets)  # which protocol 5 sends apart


def _host_of(array: Any, address: int) -> np.ndarray:
    """The memory of an array without gaps; a copy where the host does not see it."""
    whole = DeviceNDArray((array.nbytes,), (1,), _BYTE, array.stream, array.buffer, address)
    if _is_of_host(array):
        cuda.synchronize()  # kernels of other streams may write to it
        return np.from_dlpack(whole)
    return whole.copy_to_host()


def _is_of_host(array: Any) -> bool:
    try:
        return array.__dlpack_device__()[0] == _HOST
    except BufferError:  # memory that DLPack has no kind for
        return False


def _octets(host: np.ndarray) -> np.ndarray:
    return host.reshape(-1).view(_BYTE)


def restored(
    cls: Any, shape: Any, strides: Any, dtype: np.dtype, readonly: bool, octets: np.ndarray
) -> Any:
    """A device array of a buffer, whose memory it uses where it may."""
    is_kept = octets.flags.writeable or readonly
    if octets.size and is_kept and _is_aligned(octets, dtype):
        memory = cuda.from_dlpack(octets)
    else:
        memory = cuda.to_device(octets)
    pointer = memory.gpu_data if octets.size else None
    if cls is DeviceRecord:
        return DeviceRecord(dtype, 0, pointer, None, readonly)
    return DeviceNDArray(shape, strides, dtype, 0, pointer, None, readonly)


def _is_aligned(octets: np.ndarray, dtype: np.dtype) -> bool:
    return octets.ctypes.data % max(dtype.alignment, min(dtype.itemsize, 16) & -dtype.itemsize) == 0


def _reduced_lazy(array: Any) -> tuple[Any, ...]:
    """An array of ``gridlane.xp``, computed, in the form of ``__reduce__``."""
    host = np.ascontiguousarray(_seen(array)).reshape(array.shape)
    return restored_lazy, (host.shape, host.dtype, array.device, _octets(host))


def _seen(array: Any) -> np.ndarray:
    """The elements where they are, or a copy of them for the host."""
    if array.size and _is_numpys(array.dtype) and _is_of_host(array):
        return np.from_dlpack(array)
    return np.asarray(array)


def _is_numpys(dtype: np.dtype) -> bool:
    """Whether NumPy's DLPack has a type, unlike those of ml_dtypes."""
    return dtype.isbuiltin == 1


def restored_lazy(shape: Any, dtype: np.dtype, device: str, octets: np.ndarray) -> Any:
    """An array of ``gridlane.xp`` of a buffer, whose memory it uses where it may."""
    host = octets.view(dtype).reshape(shape)
    is_usable = host.flags.writeable and host.flags.aligned and _is_numpys(dtype)
    make = xp.from_dlpack if host.size and is_usable else xp.asarray
    return make(host, device=device)
