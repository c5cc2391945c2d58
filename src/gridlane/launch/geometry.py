"""Shapes, strides and extents of arrays in memory."""

from __future__ import annotations

import ctypes
import functools
import operator
import sys
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from gridlane.core.numpy_types import vector_of

Shape = tuple[int, ...]


def as_dtype(dtype: Any) -> np.dtype:
    """A numpy dtype from any form that numpy accepts, or from a type such as ``float32``."""
    return np.dtype(getattr(dtype, "numpy", dtype))


def scalar_dtype(value: Any) -> np.dtype[Any] | None:
    """The dtype of a numpy scalar; None for other objects."""
    return cast("np.generic[Any]", value).dtype if isinstance(value, np.generic) else None


def as_shape(shape: Any) -> Shape:
    """A tuple of ints from an int or a sequence of them; TypeError otherwise."""
    if isinstance(shape, (int, np.integer)):
        shape = (shape,)
    try:
        result = tuple(map(operator.index, shape))
    except TypeError:
        raise TypeError(f"a shape is an int or a tuple of ints, got {shape!r}") from None
    if min(result, default=0) < 0:
        raise ValueError(f"a shape has no negative extents, got {result}")
    return result


def contiguous_strides(shape: Shape, itemsize: int, order: str = "C") -> Shape:
    """Byte strides of a contiguous array.

    >>> contiguous_strides((2, 3), 4), contiguous_strides((2, 3), 4, "F")
    ((12, 4), (4, 8))
    """
    if order not in ("C", "F"):
        raise ValueError(f"order is 'C' or 'F', got {order!r}")
    strides: list[int] = []
    step = itemsize
    for extent in reversed(shape) if order == "C" else shape:
        strides.append(step)
        step *= extent
    return tuple(reversed(strides)) if order == "C" else tuple(strides)


def is_contiguous(shape: Shape, strides: Shape, itemsize: int, order: str) -> bool:
    """Whether elements follow each other; axes of one element do not count, as in numpy."""
    if 0 in shape:
        return True
    axes = zip(reversed(shape), reversed(strides)) if order == "C" else zip(shape, strides)
    step = itemsize
    for extent, stride in axes:
        if extent == 1:
            continue
        if stride != step:
            return False
        step *= extent
    return True


def layout_of(shape: Shape, strides: Shape, itemsize: int) -> str:
    """ "C", "F" or "A", the first that holds."""
    for order in ("C", "F"):
        if is_contiguous(shape, strides, itemsize, order):
            return order
    return "A"


def extent_of(shape: Shape, strides: Shape, itemsize: int) -> tuple[int, int]:
    """Offsets of the first byte and the end, from the first element.

    >>> extent_of((3,), (-8,), 8)
    (-16, 8)
    """
    if 0 in shape:
        return 0, 0
    low, high = 0, itemsize
    for extent, stride in zip(shape, strides):
        if stride < 0:
            low += (extent - 1) * stride
        else:
            high += (extent - 1) * stride
    return low, high


def has_gaps(array: np.ndarray) -> bool:
    """Whether bytes of others lie between the elements of an array. Elements that repeat along an
    axis are one.

    >>> a = np.zeros((4, 4))
    >>> has_gaps(a[:2, :2]), has_gaps(a[1:3]), has_gaps(a[::-1, ::-1].T)
    (True, False, False)
    """
    if not array.size:
        return False
    if array.dtype.names and _has_gaps(array.dtype):
        return True
    if array.flags.forc:
        return False
    reach = array.dtype.itemsize
    axes = sorted((abs(stride), n) for n, stride in zip(array.shape, array.strides) if n > 1)
    for stride, n in axes:
        if stride > reach:
            return True
        reach += stride * (n - 1)
    return False


@functools.cache
def _has_gaps(dtype: np.dtype) -> bool:
    """Whether some bytes of a record belong to no field, as in ``records[["a", "c"]]``."""
    covered = bytearray(dtype.itemsize)
    for field, offset in (place[:2] for place in (dtype.fields or {}).values()):
        if field.base.names and _has_gaps(field.base):
            return True
        covered[offset : offset + field.itemsize] = b"\1" * field.itemsize
    return not all(covered)


def extent_view(array: np.ndarray) -> np.ndarray:
    """All memory from the first element of an array to its last, in one axis, of a dtype that is
    aligned as the elements are. No stride is negative."""
    low, high = extent_of(array.shape, array.strides, array.dtype.itemsize)
    assert not low
    dtype = array.dtype
    if high % dtype.itemsize:
        dtype = np.dtype(f"u{dtype.alignment if is_stepping_aligned(array) else 1}")
    whole = view_of(address_of(array), (high // dtype.itemsize,), (dtype.itemsize,), dtype, array)
    whole.flags.writeable = array.flags.writeable
    return whole


def view_of(address: int, shape: Shape, strides: Shape, dtype: np.dtype, owner: Any) -> np.ndarray:
    """A numpy array over host memory at ``address``; it keeps ``owner`` alive."""
    low, high = extent_of(shape, strides, dtype.itemsize)
    if low == high:
        return np.empty(shape, dtype)
    raw = np.asarray(_Memory(address + low, high - low, owner))
    return np.ndarray(shape, dtype, raw, -low, strides)


class _Memory:
    """Host bytes with numpy's array interface."""

    def __init__(self, address: int, size: int, owner: Any) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
        }


def bytes_of(array: np.ndarray) -> memoryview:
    """The bytes of a contiguous array, not copied."""
    return array.ravel(order="K").view(np.uint8).data


def _address_by_interface(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def _address_by_header(array: np.ndarray) -> int:
    """The first field after the object header of numpy's PyArrayObject_fields, which its C API
    fixes. This takes a quarter of the time of building the array interface."""
    return _word_at(id(array) + _HEADER).value or 0


_HEADER = object.__basicsize__
_word_at = ctypes.c_void_p.from_address


def _header_holds() -> bool:
    """Whether this interpreter and this numpy lay arrays out as their headers say."""
    if sys.implementation.name != "cpython":
        return False
    probe = np.arange(5)
    return all(_address_by_header(a) == _address_by_interface(a) for a in (probe, probe[2:]))


address_of = _address_by_header if _header_holds() else _address_by_interface
"""The address of an array's first element."""


def broadcast_core(array: Any) -> Any:
    """An array without its repeated axes (stride 0), which hold the data once."""
    if not array.strides or not array.size:
        return array
    return array[tuple(0 if stride == 0 else slice(None) for stride in array.strides)]


def alignment_of(dtype: np.dtype) -> int:
    """The alignment of elements in device memory: numpy's, or CUDA's of short vectors."""
    vector = vector_of(dtype) if dtype.names else None
    return dtype.alignment if vector is None else vector.alignment


def is_aligned(address: int, dtype: np.dtype) -> bool:
    """Whether an array of short vectors is aligned for one access per vector; true for other
    arrays."""
    return not dtype.names or vector_of(dtype) is None or not address % alignment_of(dtype)


def is_misaligned(
    address: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype
) -> bool:
    """Whether an element is not aligned to its type's alignment, or to 4 bytes if that is less:
    devices that read whole words cannot read such elements."""
    alignment = min(4, dtype.alignment)
    if alignment == 1:
        return False
    if address % alignment:
        return 0 not in shape
    for extent, stride in zip(shape, strides):
        if extent > 1 and stride % alignment:
            return 0 not in shape
    return False


def is_stepping_aligned(array: np.ndarray) -> bool:
    """Whether all elements have the alignment of the first one."""
    alignment = array.dtype.alignment
    return all(n == 1 or stride % alignment == 0 for n, stride in zip(array.shape, array.strides))


def overlaps_itself(array: np.ndarray) -> bool:
    """Whether two indices may address the same bytes."""
    reach = array.dtype.itemsize
    axes = sorted((abs(stride), n) for n, stride in zip(array.shape, array.strides) if n > 1)
    for stride, n in axes:
        if stride < reach:
            return True
        reach += stride * (n - 1)
    return False


def reshaped(shape: Shape, size: int, wanted: Sequence[int]) -> Shape:
    """``wanted`` with a -1 filled in; ValueError when the sizes do not fit."""
    known = 1
    for extent in wanted:
        if extent >= 0:
            known *= extent
    unknown = sum(extent < 0 for extent in wanted)
    fits = (unknown == 1 and known and size % known == 0) or (unknown == 0 and known == size)
    if not fits:
        raise ValueError(f"cannot reshape an array of shape {shape} into {tuple(wanted)}")
    return tuple(size // known if extent < 0 else extent for extent in wanted)


def is_masked(cls: type) -> bool:
    """Whether a class is numpy's of masked arrays. It does not load numpy.ma: numpy does so at the
    first use, which a fork in another thread may interrupt for ever.

    >>> is_masked(np.ndarray)
    False
    """
    masked = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
    return masked is not None and issubclass(cls, masked)
