"""Work of a stream that cannot be recorded yet, as a host function comes before it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any, Protocol

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
        busy: their backlogs that have work.
    """

    busy: set[Any]


class Backlog:
    """An ordered queue of work with a thread, which runs from the first work on.

    It must not hold the stream, so that a stream that nobody holds can end the thread.

    Attributes:
        pending: pieces of work that are not done.
        error: the first that one raised; it is taken out by the stream.
    """

    def __init__(self, owner: Owner) -> None:
        self.pending = 0
        self.error: BaseException | None = None
        self._owner = owner
        self._items: SimpleQueue[Work | None] = SimpleQueue()
        self._idle = threading.Condition()
        self._thread: threading.Thread | None = None

    def put(self, work: Work) -> None:
        """Append work."""
        with self._idle:
            self.pending += 1
            self._owner.busy.add(self)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="gridlane-stream", daemon=True
                )
                self._thread.start()
            self._items.put(work)

    def _run(self) -> None:
        while (work := self._items.get()) is not None:
            try:
                work()
            except BaseException as error:  # surfaces at the next synchronisation
                self.error = self.error or error
            del work
            with self._idle:
                self.pending -= 1
                if not self.pending:
                    self._owner.busy.discard(self)
                    self._idle.notify_all()

    def fence(self) -> Work:
        """What waits for the work so far."""
        reached = threading.Event()
        self.put(reached.set)
        return reached.wait

    def wait(self) -> None:
        """Wait until nothing is pending; the thread does not wait for itself."""
        if self._thread is threading.current_thread():
            return
        with self._idle:
            while self.pending:
                self._idle.wait()

    def end(self) -> None:
        """End the thread behind the work so far."""
        self._items.put(None)
