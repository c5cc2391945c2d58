"""Copies between host and device: whole arrays with their gaps, pinned memory, checks."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from gridlane.launch import current, geometry


class PinnedMemory:
    """Host memory for asynchronous copies on streams; the base of pinned arrays."""

    def __init__(self, size: int) -> None:
        self._buffer = current.device().allocate_host(size, "pinned")
        self.__array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (self._buffer.address, False),
            "version": 3,
        }


_registered: dict[int, int] = {}
"""Address and size of the arrays that ``registered`` pins now."""


@contextmanager
def registered(arrays: Sequence[np.ndarray]) -> Generator[None]:
    """Pin host arrays in a with block."""
    device, held, addresses = current.device(), [], []
    for array in arrays:
        octets = np.frombuffer(extent_bytes(array), np.uint8)
        held.append(device.register_host(octets.ctypes.data, octets.size))
        addresses.append(octets.ctypes.data)
        _registered[octets.ctypes.data] = octets.size
    try:
        yield
    finally:
        for address in addresses:
            _registered.pop(address, None)
        held.clear()


def is_pinned(array: Any) -> bool:
    """Whether an array is a view of pinned memory."""
    if _registered and isinstance(array, np.ndarray) and array.size:
        octets = np.frombuffer(extent_bytes(array), np.uint8)
        first, last = octets.ctypes.data, octets.ctypes.data + octets.size
        for address, size in tuple(_registered.items()):
            if address <= first and last <= address + size:
                return True
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, PinnedMemory)


def extent_bytes(array: np.ndarray) -> memoryview:
    """The bytes from an array's first to its last element, gaps included, not copied."""
    low, high = geometry.extent_of(array.shape, array.strides, array.dtype.itemsize)
    first = np.lib.stride_tricks.as_strided(array, (1,) * array.ndim).view(np.ndarray)
    address = geometry.address_of(first)
    return geometry.view_of(address + low, (high - low,), (1,), np.dtype("u1"), array).data


def upload(target: int, source: memoryview) -> None:
    """Copy from host to device."""
    device = current.device()
    current.check_copy(device)
    device.upload(target, source)


def check_compatible(first: Any, second: Any) -> None:
    """Raise if a copy between the arrays would not keep elements in their places."""
    if first.dtype != second.dtype:
        raise TypeError(f"incompatible dtype: {first.dtype} vs. {second.dtype}")
    # A matrix keeps its axes of one element.
    one, two = (
        (x.view(np.ndarray) if isinstance(x, np.ndarray) else x).squeeze() for x in (first, second)
    )
    if one.shape != two.shape:
        raise ValueError(f"incompatible shape: {first.shape} vs. {second.shape}")
    if first.size and one.strides != two.strides:
        raise ValueError(f"incompatible strides: {first.strides} vs. {second.strides}")
