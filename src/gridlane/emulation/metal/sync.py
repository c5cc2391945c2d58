"""Fences, events and residency sets."""

from __future__ import annotations

import threading

from gridlane.emulation.metal.bridge import Object, require


class MTLFence(Object):
    """Orders encoders of a device; see gpu.py."""


class MTLSharedEvent(Object):
    """A number that the device sets, and that the host waits for."""

    def __init__(self) -> None:
        super().__init__()
        self._value, self._changed = 0, threading.Condition()

    def signaledValue(self) -> int:
        return self._value

    def waitUntilSignaledValue_timeoutMS_(self, value: int, timeout: int) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self._value >= value, timeout / 1000)

    def _signal(self, value: int) -> None:
        with self._changed:
            self._value = value
            self._changed.notify_all()


class MTLResidencySet(Object):
    """Memory that is resident for all work of the queues that have the set. The set owns its
    members; changes take effect at ``commit``."""

    def __init__(self) -> None:
        super().__init__()
        self._next: set[Object] = set()
        self._now: frozenset[Object] = frozenset()

    def addAllocation_(self, buffer: Object) -> None:
        self._next.add(buffer)

    def removeAllocation_(self, buffer: Object) -> None:
        require(buffer in self._next, "the allocation is not in the set")
        self._next.discard(buffer)

    def commit(self) -> None:
        self._now = frozenset(self._next)

    def requestResidency(self) -> None:
        """Make the memory resident ahead of time; here it always is."""
