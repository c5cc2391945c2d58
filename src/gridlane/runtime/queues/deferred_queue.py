"""Deferred work of a stream: it follows a callback, so it cannot be submitted yet."""

from __future__ import annotations

from collections.abc import Callable

from gridlane.runtime.queues.latch import Latch
from gridlane.runtime.queues.software_queue import SoftwareQueue

Work = Callable[[], object]


class DeferredQueue(SoftwareQueue[Work]):
    """The deferred work of a stream, and its error, which the stream takes.

    Args:
        used: the queues of the device's streams that have had deferred work.

    It holds no reference to the stream, so that an unreferenced stream can end the thread.
    """

    def __init__(self, used: set[DeferredQueue]) -> None:
        super().__init__()
        self._used = used

    def put(self, work: Work) -> None:
        """Append work."""
        self._used.add(self)
        self.append(work)

    def _do(self, item: Work) -> object:
        return item()

    def _ended(self) -> None:
        self._used.discard(self)

    def fence(self) -> Work:
        """A fence after the work so far."""
        reached = Latch()
        self.put(reached.reach)
        return reached.wait
