"""Deferred work of a stream: a callback comes before it, so it cannot be submitted yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from gridlane.runtime.queues.latch import Latch
from gridlane.runtime.queues.software_queue import SoftwareQueue

Work = Callable[[], object]


class Owner(Protocol):
    """What the streams of a device share.

    Attributes:
        deferred_queues: those of its streams that have had work.
    """

    deferred_queues: set[DeferredQueue]


class DeferredQueue(SoftwareQueue[Work]):
    """The deferred work of a stream; the stream takes the error out of it.

    It must not hold the stream, so that a stream that nobody holds can end the thread.
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
        """What waits for the work so far."""
        reached = Latch()
        self.put(reached.reach)
        return reached.wait
