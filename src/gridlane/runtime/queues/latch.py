"""A point that is reached once."""

from __future__ import annotations

import threading

_SLICE_S = 0.05


class Latch:
    """Is reached once, and waited for by any thread.

    A signal handler may wait for the latch, and for the thread that reaches it, in the middle of
    ``wait``: unlike an Event or a Condition it holds no lock that others need for longer than one
    call of C.
    """

    __slots__ = ("__weakref__", "_lock", "_reached")

    def __init__(self) -> None:
        self._reached = False
        self._lock = threading.Lock()
        self._lock.acquire()

    def reach(self) -> None:
        """Let all go on that wait; once."""
        self._reached = True
        self._lock.release()

    def is_reached(self) -> bool:
        """Whether it is."""
        return self._reached

    def wait(self) -> None:
        """Wait until it is reached."""
        while not self._reached:
            # Who takes the lock gives it to the next one. An exception of a handler in between
            # makes the others wait for a slice of time each.
            if self._lock.acquire(timeout=_SLICE_S):
                self._lock.release()
