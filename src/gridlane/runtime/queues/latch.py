"""A one-shot latch that any thread can wait for."""

from __future__ import annotations

import threading

_SLICE_S = 0.05


class Latch:
    """A latch that is reached once, and that any thread can wait for.

    A signal handler may interrupt ``wait`` and wait for the latch, and for the thread that reaches
    it: unlike an Event or a Condition, it holds no lock that other threads need for longer than one
    call of C.
    """

    __slots__ = ("__weakref__", "_lock", "_reached")

    def __init__(self) -> None:
        self._reached = False
        self._lock = threading.Lock()
        self._lock.acquire()

    def reach(self) -> None:
        """Reach the latch, and wake all waiting threads; once."""
        self._reached = True
        self._lock.release()

    def is_reached(self) -> bool:
        """Whether the latch is reached."""
        return self._reached

    def wait(self) -> None:
        """Wait until it is reached."""
        while not self._reached:
            # A thread that gets the lock passes it to the next one. An exception of a handler in
            # between makes the others wait for a slice of time each.
            if self._lock.acquire(timeout=_SLICE_S):
                self._lock.release()
