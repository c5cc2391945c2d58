"""Ordered queues of work. The default stream runs on the caller; others have a thread each.

The default stream has CUDA's legacy meaning: its work waits for every other stream, and as it runs
on the caller, other streams' later work comes after it.
"""

from __future__ import annotations

import atexit
import itertools
import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue

from gridlane.runtime.errors import NOT_PERMITTED, fail

Work = Callable[[], object]


class _Queue:
    """What a stream and its worker share. The worker must not hold the stream itself, so that a
    stream that nobody holds can end its worker."""

    __slots__ = ("__weakref__", "error", "idle", "items", "pending", "thread")

    def __init__(self) -> None:
        self.items: SimpleQueue[tuple[Work, bool] | None] = SimpleQueue()
        self.idle = threading.Condition()
        self.pending = 0
        self.error: BaseException | None = None
        self.thread: threading.Thread | None = None


BUSY: set[_Queue] = set()
"""Queues with unfinished work. The launch path looks at its truth value only."""


def _work(queue: _Queue) -> None:
    """Body of a worker thread."""
    while (item := queue.items.get()) is not None:
        work, always = item
        if always or queue.error is None:
            try:
                work()
            except BaseException as error:  # surfaces at the next synchronize
                queue.error = queue.error or error
        del item, work  # arguments of kernels are held no longer than the kernel runs
        with queue.idle:
            queue.pending -= 1
            if not queue.pending:
                BUSY.discard(queue)
                queue.idle.notify_all()


def _wait(queue: _Queue) -> None:
    """Wait until a queue is empty; a worker does not wait for itself."""
    if queue.thread is threading.current_thread():
        return
    with queue.idle:
        while queue.pending:
            queue.idle.wait()


def wait_for_streams() -> None:
    """Wait for every stream. Errors stay with their streams."""
    for queue in tuple(BUSY):
        _wait(queue)


atexit.register(wait_for_streams)

_handles = itertools.count(0x1000)
_by_handle: weakref.WeakValueDictionary[int, Stream] = weakref.WeakValueDictionary()


def by_handle(handle: int) -> Stream | None:
    """The live stream of this number."""
    return _by_handle.get(handle)


class Stream:
    """A queue of work with a daemon thread, started at the first use.

    An error of the work drops what follows it in the stream, up to the next ``synchronize``, which
    raises it.
    """

    inline = False

    def __init__(self) -> None:
        self._queue = _Queue()
        self.handle = next(_handles)
        _by_handle[self.handle] = self
        self._closer = weakref.finalize(self, self._queue.items.put, None)
        self._closer.atexit = False

    def submit(self, work: Work, always: bool = False) -> None:
        """Append work; ``always`` runs it after an error as well (events, waits, callbacks)."""
        queue = self._queue
        with queue.idle:
            queue.pending += 1
            BUSY.add(queue)
            if queue.thread is None:
                queue.thread = threading.Thread(
                    target=_work, args=(queue,), name=f"gridlane-stream-{self.handle}", daemon=True
                )
                queue.thread.start()
            queue.items.put((work, always))

    def synchronize(self) -> None:
        """Wait for the work so far; raise the first error of it."""
        queue = self._queue
        if queue.thread is threading.current_thread():
            fail(NOT_PERMITTED, "a stream's callback cannot wait for its own stream")
        _wait(queue)
        error, queue.error = queue.error, None
        if error is not None:
            raise error

    def drain(self) -> None:
        """Wait for the work so far, and leave an error for ``synchronize``."""
        _wait(self._queue)

    def query(self) -> bool:
        """Whether all work is done."""
        return not self._queue.pending


class DefaultStream:
    """The stream whose work runs at once, on the caller."""

    inline = True
    handle = 0

    def submit(self, work: Work, always: bool = False) -> None:
        """Run the work, after that of all other streams."""
        if BUSY:
            wait_for_streams()
        work()

    def synchronize(self) -> None:
        """Wait for all streams, as the legacy default stream does."""
        wait_for_streams()

    drain = synchronize

    def query(self) -> bool:
        """Whether all work is done."""
        return not BUSY


DEFAULT = DefaultStream()
AnyStream = Stream | DefaultStream


def live_streams() -> list[Stream]:
    """Every stream that somebody holds."""
    return list(_by_handle.values())
