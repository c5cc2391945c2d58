"""Memory with checked accesses: each lies in one live allocation and is aligned."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gridlane.interp.values import ADDRESS, Array

FIRST = 1 << 60
"""The start of synthetic addresses: above any address that processors of today can map."""

GAP = 1 << 36
"""Unused bytes after an allocation, so that indices out of bounds hit nothing."""

POISON = 0xFF
"""The byte of memory with undefined contents: NaN in every float, -1 in every integer."""


class Fault(Exception):
    """A bad access: the position among the addresses, and the reason."""

    def __init__(self, position: int, reason: str) -> None:
        self.position, self.reason = position, reason
        super().__init__(reason)


@dataclass(slots=True, eq=False)
class Allocation:
    """``data`` at ``base``. With a ``pitch``, only the first ``used`` bytes of each ``pitch`` bytes
    may be accessed: gaps separate the arrays of the threads."""

    base: int
    data: Array
    label: str = ""
    writable: bool = True
    pitch: int = 0
    used: int = 0
    views: dict[np.dtype[Any], Array] = field(default_factory=dict[np.dtype[Any], Array])
    beside: Allocation | None = None

    @property
    def end(self) -> int:
        """The address of the byte after the last."""
        return self.base + len(self.data)

    def view(self, dtype: np.dtype[Any]) -> Array | None:
        """The allocation as elements of a type; None if the base is not aligned to their size."""
        elements = self.views.get(dtype)
        size = dtype.itemsize
        if elements is None and self.base % size == 0:
            elements = self.views[dtype] = self.data[: len(self.data) // size * size].view(dtype)
        return elements

    def shadow(self) -> Allocation:
        """An allocation at the same address that notes something of each byte; at first zeros."""
        if self.beside is None:
            data = np.zeros_like(self.data)
            self.beside = Allocation(self.base, data, self.label, True, self.pitch, self.used)
        return self.beside

    def __str__(self) -> str:
        return f"{self.label or 'memory'} of {len(self.data)} bytes at {self.base:#x}"


class Memory:
    """An address space. Addresses are synthetic, or real ones of the process (``map`` with a base).

    >>> memory = Memory()
    >>> address = memory.map(np.arange(4, dtype=np.float32))
    >>> memory.gather(np.array([address + 8], np.uint64), np.dtype(np.float32)).tolist()
    [2.0]
    """

    def __init__(self) -> None:
        self._items: list[Allocation] = []
        self._bases: list[int] = []
        self._next = FIRST

    def __iter__(self) -> Iterator[Allocation]:
        return iter(self._items)

    def allocate(self, size: int, label: str = "", byte: int = 0) -> int:
        """Allocate memory, aligned to 256, filled with a byte; return its address."""
        return self.map(np.full(size, byte, np.uint8), label)

    def map(self, array: Array, label: str = "", base: int | None = None) -> int:
        """Make an array's memory accessible; return its address. Writes go to the array.

        Args:
            array: any contiguous array; a read-only one is read-only here.
            label: what messages call it.
            base: its address, when a given one is required.
        """
        data = np.ravel(array, "K").view(np.uint8)
        if array.size and not np.shares_memory(data, array):
            raise ValueError("only contiguous arrays can be mapped")
        return self.add(Allocation(base or 0, data, label, array.flags.writeable), base is None)

    def add(self, item: Allocation, place: bool = True) -> int:
        """Make an allocation accessible, at an address of its own when ``place``."""
        if place:
            item.base = self._next
            self._next += -(-(len(item.data) + GAP) // GAP) * GAP
        index = bisect_right(self._bases, item.base)
        self._bases.insert(index, item.base)
        self._items.insert(index, item)
        return item.base

    def free(self, address: int) -> None:
        """End the allocation that starts at an address."""
        index = bisect_right(self._bases, address) - 1
        if index < 0 or self._bases[index] != address:
            raise ValueError(f"no allocation starts at {address:#x}")
        del self._bases[index], self._items[index]

    def bytes_at(self, address: int, size: int) -> Array:
        """``size`` bytes of one allocation, as an array that shares its memory."""
        ((item, _),) = self.groups(np.array([address], ADDRESS), size, 1)
        return item.data[address - item.base : address - item.base + size]

    def gather(self, addresses: Array, dtype: np.dtype[Any], align: int = 0) -> Array:
        """The elements at addresses that are multiples of ``align`` (0: of the element's size).

        Raises:
            Fault: an address is misaligned or out of bounds.
        """
        result = np.empty(len(addresses), dtype)
        for item, lanes in self.groups(addresses, dtype.itemsize, align):
            offsets = (addresses[lanes] - ADDRESS.type(item.base)).astype(np.int64)
            result[lanes] = _read(item, offsets, dtype)
        return result

    def scatter(self, addresses: Array, values: Array, align: int = 0) -> None:
        """Write elements at addresses; of several at one address the last wins.

        Raises:
            Fault: an address is misaligned, out of bounds or read-only.
        """
        for item, lanes in self.groups(addresses, values.dtype.itemsize, align):
            if not item.writable:
                first = int(np.arange(len(addresses))[lanes][0])
                raise Fault(first, f"a write to read-only {item}")
            offsets = (addresses[lanes] - ADDRESS.type(item.base)).astype(np.int64)
            _write(item, offsets, values[lanes])

    def check(self, addresses: Array, size: int, align: int) -> None:
        """Require that each access is aligned and lies in one allocation.

        Raises:
            Fault: an address is misaligned or out of bounds.
        """
        for _ in self.groups(addresses, size, align):
            pass

    def groups(
        self, addresses: Array, size: int, align: int
    ) -> Iterator[tuple[Allocation, Array | slice]]:
        """The accessed allocations, each with its lanes.

        Raises:
            Fault: an address is misaligned or out of bounds.
        """
        misaligned = addresses % ADDRESS.type(align or size) != 0
        if misaligned.any():
            first = int(misaligned.argmax())
            address = int(addresses[first])
            raise Fault(first, f"address {address:#x} is not a multiple of {align or size}")
        if not len(addresses):
            return
        # Most often all accesses are to one array.
        index = bisect_right(self._bases, int(addresses.min())) - 1
        item = self._items[index] if index >= 0 else None
        if item and not item.pitch and int(addresses.max()) + size <= item.end:
            yield item, slice(None)
            return
        indices = self._checked(addresses, size)
        for index in map(int, np.unique(indices)):
            yield self._items[index], indices == index

    def holds(self, addresses: Array, size: int) -> Array:
        """Which accesses lie in one allocation each."""
        return self._places(addresses, size)[1]

    def _checked(self, addresses: Array, size: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The index of the allocation that each access lies in."""
        indices, inside = self._places(addresses, size)
        if not inside.all():
            first = int((~inside).argmax())
            raise Fault(first, self._describe(int(addresses[first]), size))
        return indices

    def _places(
        self, addresses: Array, size: int
    ) -> tuple[np.ndarray[Any, np.dtype[np.int64]], Array]:
        """The index of the last allocation that starts at each access or before, and whether the
        access lies in it."""
        indices = np.searchsorted(np.array(self._bases, ADDRESS), addresses, "right")
        indices = indices.astype(np.int64) - 1
        inside = np.zeros(len(addresses), np.bool_)
        for index in map(int, np.unique(indices)):
            if index < 0:
                continue
            lanes = indices == index
            inside[lanes] = _inside(self._items[index], addresses[lanes], size)
        return indices, inside

    def _describe(self, address: int, size: int) -> str:
        """The reason why an address is out of bounds."""
        text = f"{size} bytes at {address:#x} are out of bounds"
        if not self._items:
            return f"{text}; there is no memory"
        item = min(self._items, key=lambda item: _distance(item, address))
        if item.pitch and item.base <= address < item.end:
            offset = (address - item.base) % item.pitch
            return f"{text}: byte {offset} of the {item.used} bytes of {item.label} of a thread"
        return f"{text}: byte {address - item.base} of {item}"


def _inside(item: Allocation, addresses: Array, size: int) -> Array:
    """Which accesses, none below the allocation, lie in it."""
    offsets = addresses - ADDRESS.type(item.base)
    room = len(item.data) - size
    if room < 0:
        return np.zeros(len(offsets), np.bool_)
    good = offsets <= ADDRESS.type(room)
    if not item.pitch:
        return good
    if item.used < size:
        return np.zeros(len(offsets), np.bool_)
    return good & (offsets % ADDRESS.type(item.pitch) <= ADDRESS.type(item.used - size))


def _distance(item: Allocation, address: int) -> int:
    return max(item.base - address, address - item.end, 0)


def _read(item: Allocation, offsets: Array, dtype: np.dtype[Any]) -> Array:
    if dtype.kind == "b":
        return item.data[offsets] != 0
    view = item.view(dtype)
    if view is not None and not (offsets % dtype.itemsize).any():
        return view[offsets // dtype.itemsize]
    octets = item.data[offsets[:, None] + np.arange(dtype.itemsize)]
    return octets.view(dtype).reshape(-1)


def _write(item: Allocation, offsets: Array, values: Array) -> None:
    dtype = values.dtype
    view = item.view(dtype)
    if view is not None and not (offsets % dtype.itemsize).any():
        view[offsets // dtype.itemsize] = values
        return
    octets = np.ascontiguousarray(values).view(np.uint8).reshape(len(values), -1)
    item.data[offsets[:, None] + np.arange(dtype.itemsize)] = octets
