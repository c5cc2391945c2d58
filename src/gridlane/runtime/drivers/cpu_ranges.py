"""The table of allocations that checked kernels of the CPU device look addresses up in.

A launch asks for it once, and again for an address that is not in it: then what others allocated is
added. A table lives as long as a launch may use it: until another one has its context's memory.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np

from gridlane.core.artifact import KernelErrorSite
from gridlane.core.cpu_abi import ALLOCATIONS_OFFSET
from gridlane.core.device_errors import THROUGH
from gridlane.memory.device_memory import DeviceMemory

_Table = np.ndarray[Any, np.dtype[np.int64]]


class Allocations:
    """The tables of a device's memory, of several kinds."""

    def __init__(self, *memories: DeviceMemory[Any]) -> None:
        self._memories = memories
        self._lock = threading.Lock()
        self._used: dict[int, list[_Table]] = {}
        self._latest: tuple[tuple[int, ...], _Table] | None = None

    def answer(self, cells: int) -> None:
        """Write a table with an address into a launch's context.

        Args:
            cells: the address of three i64: that of the context, the address, and its bytes.
        """
        context, address, size = (ctypes.c_int64 * 3).from_address(cells)
        for memory in self._memories:
            memory.find(address & (1 << 64) - 1, size)
        place = ctypes.c_int64.from_address(context + ALLOCATIONS_OFFSET)
        with self._lock:
            table = self._table()
            if place.value:
                self._used[context].append(table)
            else:
                self._used[context] = [table]
            place.value = table.ctypes.data

    def describe(self, address: int, own: tuple[int, int] | None) -> str:
        """Where an address lies, in words: in front of an allocation, behind it, or at null.

        Args:
            own: the start and the size of the one that is meant, if that is known.
        """
        if address < 4096:
            return "which is null" if not address else "which is close to null"
        if own is None and (freed := self._freed(address)):
            return f"in {freed} bytes that were freed"
        ranges = [own] if own else joined(self._ranges())
        ends = [(address - start - size, start, size) for start, size in ranges]
        near = min(ends, key=lambda end: max(end[0], -end[0] - end[2]), default=None)
        if near is None:
            return "and there is no allocation"
        behind, _, size = near
        if behind >= 0:
            return f"{_distance(behind)} behind the end of an allocation of {size} bytes"
        front = -behind - size
        if front > 0:
            return f"{_distance(front)} in front of an allocation of {size} bytes"
        return f"{-behind} bytes before the end of an allocation of {size} bytes"

    def _freed(self, address: int) -> int:
        """The bytes of a buffer that ended and had an address; 0 if none is known."""
        freed = chain.from_iterable(memory.accounting.freed for memory in self._memories)
        return next((size for start, size in freed if 0 <= address - start < size), 0)

    def _ranges(self) -> list[tuple[int, int]]:
        accountings = (memory.accounting for memory in self._memories)
        return sorted(chain.from_iterable(each.ranges() for each in accountings))

    def _table(self) -> _Table:
        # First, so that a later change makes a table of its own.
        changes = tuple([memory.accounting.changes for memory in self._memories])
        if self._latest is None or self._latest[0] != changes:
            pairs = joined(self._ranges())
            table = np.array([len(pairs), *(n for pair in pairs for n in pair)], np.uint64)
            self._latest = changes, table.view(np.int64)
        return self._latest[1]


def access_text(site: KernelErrorSite, numbers: list[int], known: Allocations) -> str:
    """What a check says of an access, by the numbers of its detail, or an address, and the start
    and the size of the allocation that the access was likely in."""
    if not site.detail.endswith(" at {}"):
        return site.detail.format(*numbers)
    address, start, size = (number & (1 << 64) - 1 for number in numbers[:3])
    own = (start, size) if size and f" {THROUGH} " in site.detail else None
    return f"{site.detail.format(f'{address:#x}')}, {known.describe(address, own)}"


def _distance(count: int) -> str:
    return f"{count} byte{'s' if count > 1 else ''}" if count else "directly"


def joined(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges by start and size, where those that overlap are one.

    >>> joined(((0, 8), (4, 8), (12, 4)))
    [(0, 12), (12, 4)]
    """
    made: list[tuple[int, int]] = []
    for start, size in ranges:
        if made and start < sum(made[-1]):
            first = made[-1][0]
            made[-1] = first, max(sum(made[-1]), start + size) - first
        elif size:
            made.append((start, size))
    return made
