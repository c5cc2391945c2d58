"""Bytes between host and device: whole arrays with their gaps, pinned memory, checks."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.cuda import active, geometry
from gridlane.cuda.description import ArrayDescription


class PinnedMemory:
    """Host memory that copies on streams use without waiting; the base of pinned arrays."""

    def __init__(self, size: int) -> None:
        self._bytes = np.empty(size + 64, np.uint8)
        start = -geometry.address_of(self._bytes) % 64
        self.__array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (geometry.address_of(self._bytes) + start, False),
            "version": 3,
        }


def is_pinned(array: Any) -> bool:
    """Whether an array is a view of pinned memory."""
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, PinnedMemory)


def extent_bytes(array: np.ndarray) -> memoryview:
    """The bytes from an array's first to its last element, gaps included, not copied."""
    low, high = geometry.extent_of(array.shape, array.strides, array.dtype.itemsize)
    first = np.lib.stride_tricks.as_strided(array, (1,) * array.ndim).view(np.ndarray)
    address = geometry.address_of(first)
    return geometry.view_of(address + low, (high - low,), (1,), np.dtype("u1"), array).data


def download(target: memoryview, source: int, owner: Any = None) -> None:
    """Device to host; ``owner`` lives until the copy is done."""
    active.device().download(target, source)


def copy(target: ArrayDescription, source: ArrayDescription, size: int) -> None:
    """Device to device; both arrays live until the copy is done."""
    active.device().copy(target.address, source.address, size)


def upload(target: int, source: memoryview) -> None:
    """Host to device."""
    active.device().upload(target, source)


def check_compatible(first: Any, second: Any) -> None:
    """Raise when a copy between the arrays would not keep elements in their places."""
    if first.dtype != second.dtype:
        raise TypeError(f"incompatible dtype: {first.dtype} vs. {second.dtype}")
    one, two = first.squeeze(), second.squeeze()
    if one.shape != two.shape:
        raise ValueError(f"incompatible shape: {first.shape} vs. {second.shape}")
    if first.size and one.strides != two.strides:
        raise ValueError(f"incompatible strides: {first.strides} vs. {second.strides}")
