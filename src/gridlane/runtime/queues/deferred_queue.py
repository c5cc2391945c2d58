"""Deferred work of a stream: a host function comes before it, so it cannot be submitted yet."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from gridlane.runtime.queues.latch import Latch
from gridlane.runtime.queues.software_queue import SoftwareQueue

Work = Callable[[], object]


class _Thread(threading.local):
    hosting = False


_thread = _Thread()


@contextmanager
def host_function() -> Iterator[None]:
    """In the with block this thread runs a host function of a stream: it may not use the device,
    as it would wait for itself."""
    _thread.hosting = True
    try:
        yield
    finally:
        _thread.hosting = False


def in_host_function() -> bool:
    """Whether this thread runs one."""
    return _thread.hosting


class Owner(Protocol):
    """What the streams of a device share.

    Attributes:
        deferred_queues: those of its streams that have had work.
    """

    deferred_queues: set[Any]


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
