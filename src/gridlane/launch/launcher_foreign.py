"""Arrays of other libraries as arguments of a launch by the driver's function; see launcher.py.

A matcher of one wants

    way         0 for what has ``__cuda_array_interface__``, 1 for a tensor as PyTorch's is
    expected    the interface's typestr, or the object that the tensor's dtype is
    ndim, layout, itemsize, readonly    of the array; the layout by its place in ``LAYOUTS``
    limit       the largest length, stride and reach in bytes; negative for an array beyond it
    attribute   address of a function with cuPointerGetAttribute's signature, which says whether
                kernels can use the memory
    stream      the launch's
"""

from __future__ import annotations

import ctypes
import struct
from typing import Any

from gridlane.launch import geometry

BY_INTERFACE, BY_TENSOR = range(2)
LAYOUTS = "CFA"
MOST_AXES = 8
DEVICE_POINTER = 3
"""CU_POINTER_ATTRIBUTE_DEVICE_POINTER."""

Wanted = tuple[int, Any, int, int, int, int, int, int, int]
Seen = tuple[int, tuple[int, ...], tuple[int, ...]]

_ATTRIBUTE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_ulonglong)
_INT64 = range(-(2**63), 2**63)


def octets(wanted: Wanted, value: Any) -> bytes | None:
    """The bytes of an array that is as wanted, else None: what cannot be read is for the slow path
    to explain."""
    try:
        seen = _tensor(wanted, value) if wanted[0] == BY_TENSOR else _interface(wanted, value)
    except Exception:
        return None
    if seen is None or not _suits(wanted, *seen):
        return None
    address, shape, strides = seen
    return struct.pack(f"<Q{2 * len(shape)}q", address, *shape, *strides)


def _interface(wanted: Wanted, value: Any) -> Seen | None:
    _, expected, ndim, _, itemsize, readonly, _, _, own = wanted
    shown = value.__cuda_array_interface__
    if type(shown) is not dict or shown.get("typestr") != expected or shown.get("mask") is not None:
        return None
    data, shape = shown["data"], shown["shape"]
    strides, stream = shown.get("strides"), shown.get("stream")
    if type(data) is not tuple or len(data) != 2 or data[1] is not bool(readonly):
        return None
    if stream is not None and (type(stream) is not int or stream not in (1, own)):
        return None
    if not _are_numbers(shape, ndim) or not (strides is None or _are_numbers(strides, ndim)):
        return None
    if strides is None:
        strides = geometry.contiguous_strides(shape, itemsize)
    return data[0], tuple(shape), tuple(strides)


def _tensor(wanted: Wanted, value: Any) -> Seen | None:
    _, expected, ndim, _, itemsize, *_ = wanted
    plain = value.dtype is expected and value.is_cuda is True and value.requires_grad is False
    if not plain or value.is_neg() is not False or value.is_conj() is not False:
        return None
    shape, strides, address = value.shape, value.stride(), value.data_ptr()
    if not _are_numbers(shape, ndim) or not _are_numbers(strides, ndim):
        return None
    return address, tuple(shape), tuple(step * itemsize for step in strides)


def _are_numbers(items: Any, count: int) -> bool:
    return (
        isinstance(items, tuple)
        and len(items) == count
        and all(type(item) is int and item in _INT64 for item in items)
    )


def _suits(wanted: Wanted, address: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether an array is of the layout and size that the code is for, in the device's memory."""
    _, _, _, layout, itemsize, _, limit, attribute, _ = wanted
    if type(address) is not int or not 0 <= address < 2**64 or any(n < 0 for n in shape):
        return False
    low = sum((n - 1) * step for n, step in zip(shape, strides) if n and step < 0)
    reach = itemsize + sum((n - 1) * abs(step) for n, step in zip(shape, strides) if n)
    if reach not in _INT64 or any(step not in _INT64 for step in strides):
        return False
    largest = max((reach, *shape, *map(abs, strides)))
    if (largest <= abs(limit)) is not (limit > 0):
        return False
    if geometry.layout_of(shape, strides, itemsize) != LAYOUTS[layout]:
        return False
    if 0 in shape:
        return True
    mapped = ctypes.c_uint64()
    code = _ATTRIBUTE(attribute)(ctypes.addressof(mapped), DEVICE_POINTER, address + low)
    return code == 0 and mapped.value == address + low
