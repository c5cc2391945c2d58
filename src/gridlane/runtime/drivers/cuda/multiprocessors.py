"""The budget of a GPU's multiprocessors, which resident kernels and lattices occupy for long.

The blocks of a lattice take one multiprocessor each, with most of its shared memory. The driver
places kernels that do not end on any multiprocessor with room. So beside a lattice each of these
counts as one multiprocessor: the wait for a block without room would not end.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Collection, Iterable
from typing import Any

from gridlane.core.device_errors import COOPERATIVE_TOO_LARGE, fail
from gridlane.core.forks import fork_waits
from gridlane.core.weak import live

_ADVICE = "end actors or lattices that are not needed, or launch the lattice with mode='launches'"


class Multiprocessors:
    """The budget of one GPU.

    Args:
        kernels: those that run and do not end.
        lock: of ``kernels``.
    """

    def __init__(self, kernels: Collection[Any], lock: threading.RLock) -> None:
        self._kernels, self._lock = kernels, lock
        self._blocks: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def taken(self) -> int:
        """Multiprocessors that blocks of lattices occupy."""
        return sum(self._blocks.get(each, 0) for each in live(self._blocks))

    def _beside(self) -> int:
        """The number of blocks of kernels that do not end."""
        return sum(each.size for each in self._kernels)

    def left(self, count: int) -> int:
        """Multiprocessors for the blocks of one more lattice, of the ``count`` that the device
        has."""
        return max(count - self.taken() - self._beside(), 0)

    def take(self, owner: object, blocks: int, count: int) -> None:
        """Reserve multiprocessors for a lattice, until ``give_back`` or its owner's end.

        Raises:
            DeviceError: COOPERATIVE_TOO_LARGE, there are too few.
        """
        with fork_waits(), self._lock:
            if blocks > self.left(count):
                fail(
                    COOPERATIVE_TOO_LARGE,
                    f"a lattice of {blocks} blocks: of {count} multiprocessors, blocks of other "
                    f"lattices take {self.taken()}, and {self._beside()} actors one each",
                    _ADVICE,
                )
            self._blocks[owner] = blocks

    def give_back(self, owner: object) -> None:
        """Release the multiprocessors of a lattice that has ended."""
        self._blocks.pop(owner, None)

    def check(
        self, name: str, count: int, others: Iterable[int], blocks: int, size: int = 1
    ) -> None:
        """Refuse one more kernel that does not end, where the device does not hold it.

        Args:
            others: of each that there is, how many like it the device holds.
            blocks: how many like the new one the device holds.
            size: its blocks.

        Raises:
            DeviceError: COOPERATIVE_TOO_LARGE.
        """
        shares = [1 / each for each in others]
        if sum(shares) + 1 / blocks > 1 + 1e-9:
            fail(
                COOPERATIVE_TOO_LARGE,
                f"{name}: the device holds {blocks} such blocks at once, and {len(shares)} kernels "
                f"that do not end take {sum(shares):.0%} of it",
                "end actors that are not needed, or give handlers fewer threads",
            )
        if self.taken() and self.taken() + self._beside() + size > count:
            fail(
                COOPERATIVE_TOO_LARGE,
                f"{name}: of {count} multiprocessors, blocks of lattices take {self.taken()}, and "
                f"{self._beside()} actors one each",
                _ADVICE,
            )
