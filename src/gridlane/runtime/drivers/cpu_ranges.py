"""The table of allocations that checked kernels of the CPU device look addresses up in.

A launch requests it once, and again for an address that it lacks: the new table has the allocations
of other threads. A table lives as long as a launch may use it: until another one has its context's
memory.
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
from gridlane.core.forks import hold_at_forks
from gridlane.memory.device_memory import DeviceMemory

_lock = hold_at_forks(threading.RLock())
"""Reentrant: a signal's handler may launch a kernel while Python answers another."""

_CLOSE = 64
"""An address so many bytes beside an allocation is meant for it, whatever was there before."""

_Table = np.ndarray[Any, np.dtype[np.int64]]


class Allocations:
    """The tables of a device's memory, of several kinds."""

    def __init__(self, *memories: DeviceMemory[Any]) -> None:
        self._memories = memories
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
        table = self._table()  # takes the lock of the accounting, which forks take first
        with _lock:
            if place.value:
                self._used[context].append(table)
            else:
                self._used[context] = [table]
            place.value = table.ctypes.data

    def describe(self, address: int, own: tuple[int, int] | None) -> str:
        """Describe where an address lies: in front of an allocation, behind it, or at null.

        Args:
            own: the start and the size of the one that is meant, if that is known.
        """
        if address < 4096:
            return "which is null" if not address else "which is close to null"
        ranges = [own] if own else joined(self._ranges())
        near = min(((_away(address, *each), each[1]) for each in ranges), default=(0, 0))
        freed = 0 if own or 0 < near[0] <= _CLOSE else self._freed(address)
        if freed:
            return f"in {freed} bytes that were freed"
        for start, size in ranges:
            if (_away(address, start, size), size) == near:
                return _beside(address - start, size)
        return "and there is no allocation"

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
        latest = self._latest
        if latest is None or latest[0] != changes:
            pairs = joined(self._ranges())
            table = np.array([len(pairs), *(n for pair in pairs for n in pair)], np.uint64)
            latest = self._latest = changes, table.view(np.int64)
        return latest[1]


def access_text(site: KernelErrorSite, numbers: list[int], known: Allocations) -> str:
    """The message of a failed check, from the numbers of its detail or an address, and the start
    and the size of the allocation that the access was likely in."""
    if not site.detail.endswith(" at {}"):
        return site.detail.format(*numbers)
    address, start, size = (number & (1 << 64) - 1 for number in numbers[:3])
    own = (start, size) if size and f" {THROUGH} " in site.detail else None
    return f"{site.detail.format(f'{address:#x}')}, {known.describe(address, own)}"


def _away(address: int, start: int, size: int) -> int:
    """How far an address is from the bytes of an allocation."""
    return max(start - address, address - start - size + 1, 0)


def _beside(offset: int, size: int) -> str:
    """Where an offset lies, of an access that is not whole within an allocation."""
    where = f"an allocation of {size} bytes"
    if offset < 0:
        return f"{_distance(-offset)} in front of {where}"
    if offset >= size:
        return f"{_distance(offset - size)} behind the end of {where}"
    return f"{_distance(size - offset)} before the end of {where}"


def _distance(count: int) -> str:
    return f"{count} byte{'s' if count > 1 else ''}" if count else "directly"


def joined(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges by start and size, where those that overlap are one.

    >>> joined(((0, 8), (4, 8), (12, 4)))
    [(0, 12), (12, 4)]
    """
    results: list[tuple[int, int]] = []
    for start, size in ranges:
        if results and start < sum(results[-1]):
            first = results[-1][0]
            results[-1] = first, max(sum(results[-1]), start + size) - first
        elif size:
            results.append((start, size))
    return results
