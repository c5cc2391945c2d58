"""The lock of the default stream of host devices, whose work runs on its callers.

Threads that use one stream take turns: its work is done piece after piece, as on a GPU, whichever
thread appends it.
"""

from __future__ import annotations

import os
import threading
from types import TracebackType
from typing import Protocol


class Lock(Protocol):
    """A lock that the thread that holds it may take again, as ``threading.RLock``."""

    def acquire(self, blocking: bool = True) -> bool:
        """Take it; false if another thread holds it, and the caller does not wait."""
        ...

    def release(self) -> None:
        """Release the lock."""
        ...

    def __enter__(self) -> object: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> object: ...


class Turns:
    """The turns of threads on the default stream: the thread with the turn holds ``lock``, which it
    may take again.

    Attributes:
        lock: of this process; the child of a fork has a new one, as it lacks its parent's threads.
            C has a lock of its own within it where C does such work without Python.
        holder: the thread that keeps the turn for several pieces; 0 if none does.
    """

    def __init__(self) -> None:
        self.lock: Lock = threading.RLock()
        self.holder = 0
        os.register_at_fork(after_in_child=self.begin)

    def begin(self) -> None:
        """Create a lock that no thread holds."""
        self.lock = threading.RLock()
        self.holder = 0

    def wait(self) -> None:
        """Wait for the piece that another thread does."""
        with self.lock:
            pass

    def is_mine(self) -> bool:
        """Whether this thread has the turn."""
        # As threading.Condition asks.
        return self.lock._is_owned()  # type: ignore[attr-defined]

    def is_taken(self) -> bool:
        """Whether another thread does a piece."""
        if not self.lock.acquire(blocking=False):
            return True
        self.lock.release()
        return False


TURNS = Turns()
