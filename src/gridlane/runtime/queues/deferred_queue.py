"""Deferred work of a stream: it follows a callback, so it cannot be submitted yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from gridlane.runtime.queues.latch import Latch
from gridlane.runtime.queues.software_queue import SoftwareQueue

Work = Callable[[], object]


class Owner(Protocol):
    """The shared state of a device's streams.

    Attributes:
        deferred_queues: the queues of streams that have had deferred work.
    """

    deferred_queues: set[DeferredQueue]


class DeferredQueue(SoftwareQueue[Work]):
    """The deferred work of a stream, and its error, which the stream takes.

    It holds no reference to the stream, so that an unreferenced stream can end the thread.
    """

    def __init__(self, owner: Owner) -> None:
        super().__init__()
        self._owner = owner

    def put(self, work: Work) -> None:
        """Append work."""
        self._owner.deferred_queues.add(self)
        self.append(work)

    def _do(self, item: Work) -> object:
        return item()

    def _ended(self) -> None:
        self._owner.deferred_queues.discard(self)

    def fence(self) -> Work:
        """A fence after the work so far."""
        reached = Latch()
        self.put(reached.reach)
        return reached.wait
