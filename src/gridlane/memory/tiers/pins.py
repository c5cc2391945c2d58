"""Blocks as users hold them: pinned by a with block, on the host or on a device."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from gridlane.memory.tiers.places import TierDevice
from gridlane.memory.tiers.rows import Row


class ArrayBlock:
    """A block of a tiered array.

    Attributes:
        index: its number.
        start, stop: which elements of the flat array it has.
        nbytes: its size.
    """

    __slots__ = ("_dtype", "_row", "index", "nbytes", "start", "stop")

    def __init__(self, row: Row, index: int, dtype: np.dtype[Any]) -> None:
        self._row, self.index, self._dtype = row, index, dtype
        self.nbytes = row.size_of(index)
        self.start = index * row.block_bytes // dtype.itemsize
        self.stop = self.start + self.nbytes // dtype.itemsize

    def on_host(self, write: bool = False) -> HostPin:
        """The block in host memory: ``with block.on_host() as elements``.

        Args:
            write: whether the elements, a NumPy array of one axis, will be written. Without, they
                are read only. After the with block all are.
        """
        return HostPin(self._row, self.index, self._dtype, write)

    def on(self, device: TierDevice, write: bool = True, stream: Any = None) -> DevicePin:
        """The block in a device's memory: ``with block.on(device) as address``.

        Args:
            write: False promises that no kernel writes to it: what is written then may be lost.
            stream: whose work the block waits for after the with block; by default that of the
                device's default stream.
        """
        return DevicePin(self._row, self.index, device, write, stream)

    def prefetch(self, device: TierDevice | None = None) -> None:
        """Bring the block to the host, or a device, in the background."""
        self._row.tiers.prefetch([self._row.block(self.index)], device)


class HostPin:
    """A pin of a block's copy in host memory."""

    __slots__ = ("_block", "_dtype", "_row", "_view", "_write")

    def __init__(self, row: Row, index: int, dtype: np.dtype[Any], write: bool) -> None:
        self._row, self._dtype, self._write = row, dtype, write
        self._block = row.block(index)
        self._view: np.ndarray | None = None

    def __enter__(self) -> np.ndarray:
        if self._view is not None:
            raise RuntimeError("the with block of this pin is entered already")
        view = self._row.tiers.acquire(self._block, self._write).view(self._dtype)
        view.flags.writeable = self._write
        self._view = view
        return view

    def __exit__(self, *args: object) -> None:
        view, self._view = self._view, None
        assert view is not None
        view.flags.writeable = False  # what is written later would be lost
        self._row.tiers.release(self._block, self._write)


class DevicePin:
    """A pin of a block's copy on a device."""

    __slots__ = ("_block", "_device", "_entered", "_row", "_stream", "_write")

    def __init__(self, row: Row, index: int, device: TierDevice, write: bool, stream: Any) -> None:
        self._row, self._device, self._write, self._stream = row, device, write, stream
        self._block = row.block(index)
        self._entered = False

    def __enter__(self) -> int:
        if self._entered:
            raise RuntimeError("the with block of this pin is entered already")
        address = self._row.tiers.acquire_on(self._block, self._device, self._write)
        self._entered = True
        return address

    def __exit__(self, *args: object) -> None:
        self._entered = False
        self._row.tiers.release_on(self._block, self._write, self._stream)


def all_blocks(row: Row, dtype: np.dtype[Any]) -> Iterable[ArrayBlock]:
    """The blocks of a row, in order."""
    return (ArrayBlock(row, index, dtype) for index in range(row.count))
