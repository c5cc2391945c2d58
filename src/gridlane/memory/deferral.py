"""Frees that wait: while memory is deferred, none of the process is freed, on any device."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

_Free = tuple[Callable[[int, int], object], int, int]


class Deferral:
    """The frees that wait for the end of a section.

    Memory is freed in two ways: by a resource, whose call is queued; or with the buffer's owner,
    which is held. The caller of all but ``queue`` holds the accountings' lock.

    Attributes:
        depth: the sections that have not ended.
    """

    def __init__(self) -> None:
        self.depth = 0
        self._queue: deque[_Free] = deque()
        self._held: list[tuple[weakref.ref[Any], Any, int, object]] = []

    def hold(self, reference: weakref.ref[Any], owner: Any, size: int, accounting: object) -> None:
        """Keep the owner of a buffer's memory until the end."""
        self._held.append((reference, owner, size, accounting))

    def queue(self, deallocate: Callable[[int, int], object], start: int, size: int) -> None:
        """Free memory at the end. It is called at any moment, on any thread."""
        self._queue.append((deallocate, start, size))
        if not self.depth:  # the section ended meanwhile
            self.flush()

    def release(self) -> list[Any]:
        """What was held: memory is freed when the caller drops the result, without the lock."""
        held, self._held = self._held, []
        return held

    def flush(self) -> None:
        """Make the queued calls; the caller need not hold the lock."""
        while True:
            try:
                deallocate, start, size = self._queue.popleft()
            except IndexError:
                return
            deallocate(start, size)

    def waiting(self, accounting: object = None) -> tuple[int, int]:
        """The number and bytes of the frees that wait: all, or those of memory that is freed with
        its owner in one accounting."""
        dead = [
            size
            for reference, _, size, whose in tuple(self._held)
            if reference() is None and accounting in (None, whose)
        ]
        queued = [] if accounting is not None else [free[2] for free in tuple(self._queue)]
        return len(dead) + len(queued), sum(dead) + sum(queued)


DEFERRAL = Deferral()
