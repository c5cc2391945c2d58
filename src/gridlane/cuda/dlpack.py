"""DLPack: device arrays to and from other libraries without a copy.

The structures are those of dlpack.h, version 0.8, which every library reads: a capsule "dltensor"
with a DLManagedTensor. https://dmlc.github.io/dlpack/latest/c_api.html
"""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np

from gridlane.cuda import active

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
_SIGNED, _UNSIGNED, _FLOAT, _BFLOAT, _COMPLEX, _BOOL = 0, 1, 2, 4, 5, 6
_KINDS = {"i": _SIGNED, "u": _UNSIGNED, "f": _FLOAT, "c": _COMPLEX, "b": _BOOL}
_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_NAME, _USED = b"dltensor", b"used_dltensor"


class _Device(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int32), ("id", ctypes.c_int32))


class _DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    _fields_ = (
        ("tensor", _Tensor),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


_api = ctypes.pythonapi
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", _api)
)
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _api)
)
# By address: a capsule that is being destroyed must not be counted as a Python object.
_is_named = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", _api)
)
_raw_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _api)
)

_exported: dict[int, tuple[Any, ...]] = {}
"""What exported tensors hold, by the address of their structure, until their consumer is done."""


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _release(address: int) -> None:
    """The deleter of exported tensors; consumers call it from any thread."""
    _exported.pop(address, None)


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _destroy(capsule: int) -> None:
    """The destructor of a capsule: nobody took the tensor when it still has its first name."""
    if _is_named(capsule, _NAME):
        _exported.pop(_raw_pointer(capsule, _NAME) or 0, None)


def device_of() -> tuple[int, int]:
    """DLPack's (kind, number) of this thread's device."""
    device = active.device()
    return (CPU, 0) if device.host_visible else (CUDA, device.ordinal)


def export(array: Any) -> Any:
    """A capsule over a device array's memory, which it keeps alive.

    Raises:
        BufferError: the elements are of a type that DLPack has not, or strides are not multiples
            of the element's size.
    """
    dtype = array.dtype
    code = _BFLOAT if dtype == _BFLOAT16 else _KINDS.get(dtype.kind)
    if code is None or any(stride % dtype.itemsize for stride in array.strides):
        raise BufferError(f"DLPack cannot describe {array!r}")
    shape = (ctypes.c_int64 * max(1, array.ndim))(*array.shape)
    steps = [stride // dtype.itemsize for stride in array.strides]
    strides = (ctypes.c_int64 * max(1, array.ndim))(*steps)
    managed = _Managed()
    tensor = managed.tensor
    tensor.data = array.address
    tensor.device = _Device(*device_of())
    tensor.ndim = array.ndim
    tensor.dtype = _DataType(code, dtype.itemsize * 8, 1)
    tensor.shape = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
    tensor.strides = ctypes.cast(strides, ctypes.POINTER(ctypes.c_int64))
    managed.deleter = ctypes.cast(_release, ctypes.c_void_p)
    address = ctypes.addressof(managed)
    _exported[address] = (managed, shape, strides, array)
    return _new(address, _NAME, ctypes.cast(_destroy, ctypes.c_void_p))


def read(value: Any) -> dict[str, Any] | None:
    """What ``value.__dlpack__`` shows, as an array interface with its ``dtype`` and ``owner``.

    None for memory that is not this thread's device's: a host array on a GPU, say.

    Raises:
        TypeError: the elements are of a type that kernels have not.
    """
    kind, number = map(int, value.__dlpack_device__())
    if device_of()[0] == CPU or kind not in (CUDA, CUDA_HOST, CUDA_MANAGED):
        return None
    if kind == CUDA and number != device_of()[1]:
        return None
    capsule = value.__dlpack__(stream=1)  # ordered before the default stream's later work
    tensor = ctypes.cast(_pointer(capsule, _NAME) or 0, ctypes.POINTER(_Managed)).contents.tensor
    dtype = _dtype(tensor.dtype)
    shape = tuple(tensor.shape[n] for n in range(tensor.ndim))
    strides = None
    if tensor.strides:
        strides = tuple(tensor.strides[n] * dtype.itemsize for n in range(tensor.ndim))
    return {
        "shape": shape,
        "strides": strides,
        "dtype": dtype,
        "data": ((tensor.data or 0) + tensor.byte_offset, False),
        # A capsule that nobody consumed deletes its tensor when it goes.
        "owner": (capsule, value),
    }


def _dtype(type_: _DataType) -> np.dtype:
    if type_.lanes == 1 and type_.code == _BFLOAT and type_.bits == 16:
        return _BFLOAT16
    kinds = {code: kind for kind, code in _KINDS.items()}
    if type_.lanes != 1 or type_.code not in kinds or type_.bits % 8:
        raise TypeError(f"DLPack type {type_.code}, {type_.bits} bits, is not one of kernels")
    return np.dtype(f"{kinds[type_.code]}{type_.bits // 8}")
