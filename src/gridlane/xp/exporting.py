"""The memory of arrays for other libraries, by gridlane.cuda's device arrays."""

from __future__ import annotations

from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.cuda.interop import dlpack
from gridlane.xp.nodes import Node


def over(leaf: Node) -> DeviceNDArray:
    """The device array over a leaf's elements."""
    storage, size = leaf.storage, leaf.dtype.itemsize
    assert storage is not None
    strides = tuple([step * size for step in leaf.strides])
    buffer = storage.buffer
    address = buffer.address + leaf.offset
    return DeviceNDArray(leaf.shape, strides, leaf.dtype, 0, buffer, address, storage.readonly)


def place_of(leaf: Node) -> tuple[int, int]:
    """DLPack's (kind, number) of a leaf's memory.

    Raises:
        BufferError: DLPack has none for it.
    """
    storage = leaf.storage
    assert storage is not None
    return dlpack.device_of(DeviceNDArray((), (), leaf.dtype, 0, storage.buffer))
