"""The queue of a stream whose work runs on a thread of the host, and waiting for it.

Three things end a wait early. An exception in the waiting thread, as Ctrl-C's, drops the work that
it waited for. A wait of a stream's own work that would go in a circle is refused. And in the child
of a fork the threads are gone: its streams begin anew, and say what they lost.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from typing import Protocol

from gridlane.core.endings import at_its_end
from gridlane.core.errors import KernelError
from gridlane.runtime.errors import NOT_PERMITTED, device_error, fail

Work = Callable[[], object]

_PATIENCE_S = 0.2
"""How long an exception is kept waiting for the work that it drops, at most."""
_SLICE_S = 0.005


class _Stoppable(Protocol):
    def stop_thread(self, thread: int, wish: bool) -> None:
        """Ask the launch of a thread to end early, or take that back."""
        ...


class Queue:
    """What a stream and its worker share. The worker must not hold the stream itself, so that a
    stream that nobody holds can end its worker.

    Attributes:
        pending: pieces of work that are not done.
        error: the first that one raised; work behind it is dropped until somebody takes it.
        waits_for: the queue that the worker waits for, in a callback or for an event.
    """

    def __init__(self, device: _Stoppable) -> None:
        self.device = device
        self.error: BaseException | None = None
        self.begin()
        _queues.add(self)

    def begin(self) -> None:
        """No work and no thread yet."""
        self.items: SimpleQueue[tuple[Work, bool] | None] = SimpleQueue()
        self.idle = threading.Condition()
        self.pending = 0
        self.thread: threading.Thread | None = None
        self.waits_for: Queue | None = None
        self.marks: weakref.WeakSet[Mark] = weakref.WeakSet()

    def put(self, work: Work, always: bool) -> None:
        """Append work; see Stream.submit."""
        if sys.is_finalizing():
            raise at_its_end("the thread of this stream")
        with self.idle:
            self.pending += 1
            BUSY.add(self)
            if self.thread is None:
                self.thread = threading.Thread(
                    target=_work, args=(self,), name="gridlane-stream", daemon=True
                )
                self.thread.start()
            self.items.put((work, always))

    def end(self) -> None:
        """End the thread behind the work so far."""
        self.items.put(None)


class Mark:
    """A point in a queue; without one, in work that was done at once. ``time`` is when it was
    passed, by ``clock``."""

    __slots__ = ("__weakref__", "clock", "passed", "queue", "time")

    def __init__(self, clock: Callable[[], int], queue: Queue | None) -> None:
        self.time = 0
        self.clock = clock
        self.passed = threading.Event()
        self.queue = queue
        if queue is not None:
            queue.marks.add(self)

    def __call__(self) -> None:
        self.time = self.clock()
        self.passed.set()

    def wait(self) -> None:
        """Wait until it is passed."""
        if self.queue is None or self.passed.is_set():
            return
        if not _wait_until(self.queue, self.passed.wait, (self.queue,)):
            fail(NOT_PERMITTED, "a wait for an event of a stream that waits for this one")


BUSY: set[Queue] = set()
"""Queues with unfinished work. The launch path looks at its truth value only."""

_queues: weakref.WeakSet[Queue] = weakref.WeakSet()
_current = threading.local()
_waits = threading.Lock()


def _work(queue: Queue) -> None:
    """Body of a worker thread."""
    _current.queue = queue
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


def own_queue() -> Queue | None:
    """The queue whose work this thread runs."""
    return getattr(_current, "queue", None)


def wait(queue: Queue) -> bool:
    """Wait until a queue is empty; a worker does not wait for itself. False where the queue waits
    for this thread's own, so that the wait would not end."""
    return _wait_for(queue, (queue,))


def _wait_for(queue: Queue, unwanted: tuple[Queue, ...]) -> bool:
    if queue is own_queue():
        return True
    if sys.is_finalizing() and queue.pending:
        raise at_its_end("the thread of a stream")
    return _wait_until(queue, lambda: _empty(queue), unwanted)


def _empty(queue: Queue) -> None:
    with queue.idle:
        while queue.pending:
            queue.idle.wait()


def _wait_until(queue: Queue, ready: Callable[[], object], unwanted: tuple[Queue, ...]) -> bool:
    """Wait for something in a queue; an exception drops the work of the unwanted ones."""
    mine = own_queue()
    if mine is not None:
        with _waits:
            if _leads_to(queue, mine):
                return False
            mine.waits_for = queue
    try:
        ready()
    except BaseException:
        drop(unwanted)
        raise
    finally:
        if mine is not None:
            mine.waits_for = None
    return True


def _leads_to(queue: Queue | None, target: Queue) -> bool:
    """Whether a queue waits for another, by others maybe."""
    while queue is not None and queue is not target:
        queue = queue.waits_for
    return queue is target


def drop(queues: tuple[Queue, ...]) -> None:
    """Drop the work of queues, and of those that they wait for: running kernels are stopped."""
    unwanted: set[Queue] = set()
    for queue in queues:
        following: Queue | None = queue
        while following is not None and following not in unwanted:
            unwanted.add(following)
            following = following.waits_for
    dropped = KernelError("the work was dropped, by an exception in a thread that waited for it")
    for each in unwanted:
        if each.pending:
            each.error = each.error or dropped
    for _ in range(round(_PATIENCE_S / _SLICE_S)):
        running = [each for each in unwanted if each.pending]
        if not running:
            break
        for each in running:
            _ask_to_stop(each, True)
        with running[0].idle:
            running[0].idle.wait(_SLICE_S)
    for each in unwanted:
        _ask_to_stop(each, False)
        if not each.pending and each.error is dropped:
            each.error = None


def _ask_to_stop(queue: Queue, wish: bool) -> None:
    if queue.thread is not None and queue.thread.ident is not None:
        queue.device.stop_thread(queue.thread.ident, wish)


def wait_for_streams() -> None:
    """Wait for every stream, but for those that wait for this thread. Errors stay with their
    streams."""
    busy = tuple(BUSY)
    for queue in busy:
        _wait_for(queue, busy)


def _begin_in_child() -> None:
    """The threads of streams do not survive a fork."""
    global _current, _waits
    _current, _waits = threading.local(), threading.Lock()
    BUSY.clear()
    for queue in list(_queues):
        lost, marks = queue.pending, list(queue.marks)
        queue.begin()
        for mark in marks:
            if not mark.passed.is_set():
                mark.passed = threading.Event()
                mark.passed.set()
        if lost:
            queue.error = device_error(
                NOT_PERMITTED,
                f"the process forked while this stream had {lost} pieces of work to do, which "
                "are done in the parent alone",
                "wait for the stream before the fork, or start processes by spawn",
            )


os.register_at_fork(after_in_child=_begin_in_child)
