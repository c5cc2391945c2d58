"""Arrays of other libraries as arguments of native launches; see launcher.py."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, TypeGuard, cast

from gridlane.launch import compact, geometry
from gridlane.launch.parameters import array_layout

BY_INTERFACE, BY_TENSOR = range(2)
LAYOUTS = "CFA"
MOST_AXES = 8
DEVICE_POINTER = 3
"""CU_POINTER_ATTRIBUTE_DEVICE_POINTER."""


class Wanted(NamedTuple):
    """A matcher's conditions on an array.

    Attributes:
        way: 0 for an object with ``__cuda_array_interface__``, 1 for a tensor like PyTorch's.
        expected: the interface's typestr, or the tensor's dtype object.
        layout: its index in ``LAYOUTS``.
        readonly: 0 or 1.
        limit: the largest length, stride and reach in bytes; negative to match arrays beyond it.
        attribute: address of a function with cuPointerGetAttribute's signature, which decides
            whether kernels can use the memory.
        stream: the stream of the launch.
        places: the offsets of the address, the lengths and the strides in the bytes; see
            ``parameters.ArrayLayout``.
    """

    way: int
    expected: Any
    ndim: int
    layout: int
    itemsize: int
    readonly: int
    limit: int
    attribute: int
    stream: int
    places: tuple[int, int, int]


Seen = tuple[int, tuple[int, ...], tuple[int, ...]]

_ATTRIBUTE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_ulonglong)
_INT64 = range(-(2**63), 2**63)


def octets(wanted: Wanted, value: Any) -> bytes | None:
    """The bytes of a matching array, else None: the slow path explains an array that cannot be
    read."""
    try:
        seen = _tensor(wanted, value) if wanted.way == BY_TENSOR else _interface(wanted, value)
    except Exception:
        return None
    if seen is None or not _suits(wanted, *seen):
        return None
    address, shape, strides = seen
    return array_layout(len(shape)).pack(address, *shape, *strides)


def _interface(wanted: Wanted, value: Any) -> Seen | None:
    shown: Any = value.__cuda_array_interface__
    if type(shown) is not dict:
        return None
    get = cast("dict[str, Any]", shown).get
    if get("typestr") != wanted.expected or get("mask") is not None:
        return None
    data, shape, strides, stream = map(get, ("data", "shape", "strides", "stream"))
    if not _is_pair(data) or data[1] is not bool(wanted.readonly):
        return None
    if stream is not None and (type(stream) is not int or stream not in (1, wanted.stream)):
        return None
    if not _are_numbers(shape, wanted.ndim):
        return None
    if strides is None:
        strides = geometry.contiguous_strides(shape, wanted.itemsize)
    return (data[0], shape, strides) if _are_numbers(strides, wanted.ndim) else None


def _tensor(wanted: Wanted, value: Any) -> Seen | None:
    expected, itemsize = wanted.expected, wanted.itemsize
    plain = value.dtype is expected and value.is_cuda is True and value.requires_grad is False
    if not plain or value.is_neg() is not False or value.is_conj() is not False:
        return None
    shape, strides, address = value.shape, value.stride(), value.data_ptr()
    if not _are_numbers(shape, wanted.ndim) or not _are_numbers(strides, wanted.ndim):
        return None
    return address, shape, tuple([step * itemsize for step in strides])


def _is_pair(item: Any) -> TypeGuard[tuple[Any, Any]]:
    return type(item) is tuple and len(cast("tuple[Any, ...]", item)) == 2


def _are_numbers(items: Any, count: int) -> TypeGuard[tuple[int, ...]]:
    if not isinstance(items, tuple):
        return False
    each = cast("tuple[Any, ...]", items)
    return len(each) == count and all(type(item) is int and item in _INT64 for item in each)


def _suits(wanted: Wanted, address: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether an array has the layout and size of the code, and is in the device's memory."""
    if type(address) is not int or not 0 <= address < 2**64 or any(n < 0 for n in shape):
        return False
    reach = compact.reach(shape, strides)
    if any(number not in _INT64 for number in (reach, *strides)):
        return False
    largest = max((reach, *shape, *map(abs, strides)))
    if (largest <= abs(wanted.limit)) is not (wanted.limit > 0):
        return False
    if geometry.layout_of(shape, strides, wanted.itemsize) != LAYOUTS[wanted.layout]:
        return False
    if 0 in shape:
        return True
    low = geometry.extent_of(shape, strides, wanted.itemsize)[0]
    mapped = ctypes.c_uint64()
    attribute = _ATTRIBUTE(wanted.attribute)
    code = attribute(ctypes.addressof(mapped), DEVICE_POINTER, address + low)
    return code == 0 and mapped.value == address + low
