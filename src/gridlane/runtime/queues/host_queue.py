"""The software queue of a stream whose work runs on a host thread, and waits for it.

Three things end a wait early. An exception in the waiting thread, such as Ctrl-C's, drops the
awaited work. A circular wait of a stream's own work is refused. And the threads do not exist in the
child of a fork: its streams begin anew, and report what they lost.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Protocol

from gridlane.core import epochs
from gridlane.core.device_errors import NOT_PERMITTED, device_error, fail
from gridlane.core.endings import at_its_end
from gridlane.core.errors import KernelError
from gridlane.runtime.queues.latch import Latch
from gridlane.runtime.queues.software_queue import SoftwareQueue

Work = Callable[[], object]
HostPiece = tuple[Work, bool]
"""Work, and whether it runs after an error as well."""

_PATIENCE_S = 0.2
"""The longest delay of an exception by the work that it drops. A launch that is asked to stop, and
whose thread has had no processor by then, stops later."""
_SLICE_S = 0.005


class _Stoppable(Protocol):
    def stop_thread(self, thread: int, wish: bool) -> None:
        """Request that the launch of a thread ends early, or withdraw the request."""
        ...


class Lane(Protocol):
    """A list to which C appends work, behind a piece of the queue that does that work. For a queue
    without work, C also answers queries, and may do new work itself."""

    def close(self) -> None:
        """Refuse appends and queries until it is opened again, and wait for the work that C does
        itself."""
        ...

    def withdraw(self) -> None:
        """Remove it from C's table, so that no thread finds it any more."""
        ...

    def settle(self) -> bool:
        """Whether its work is done, behind all other of the queue: its piece ends then."""
        ...

    def is_open(self) -> bool:
        """Whether others may append to it."""
        ...


class Owner(Protocol):
    """Whose work a queue has."""

    def note(self, error: BaseException) -> None:
        """Note an error of the work."""
        ...


class HostQueue(SoftwareQueue[HostPiece]):
    """The shared state of a stream and its worker. The worker holds no reference to the stream, so
    that an unreferenced stream can end its worker. Work after an error is dropped until a caller
    takes the error.

    Attributes:
        waits_for: the queue that the worker waits for, in a callback or for an event, and the latch
            that ends that wait.
        owner: the object that is notified of an error of the work before a caller takes it.
        stopping: whether its thread may be asked to stop a launch, which the next piece is not.
        apart: whether its work and the default stream's are in no order.
    """

    apart = False

    def __init__(self, device: _Stoppable) -> None:
        super().__init__()
        self.device = device
        self.owner: Owner | None = None
        _queues.add(self)

    def begin(self) -> None:
        """Start without work or a thread."""
        super().begin()
        self.lane: Lane | None = None
        """What C may append launches to. While it is open, its piece is the queue's last one."""
        self._opened = 0
        """How often a lane was opened: a signal handler may open one between two lines of put."""
        self.lock = threading.RLock()
        """Held to add the queue to BUSY, and to remove it. The worker never takes it, so a signal
        handler that interrupts a holder and waits for the worker makes progress."""
        self.waits_for: tuple[HostQueue, Latch] | None = None
        self.stopping = False
        self.marks: weakref.WeakSet[Mark] = weakref.WeakSet()

    def put(self, piece: HostPiece) -> None:
        """Append work. Hot."""
        if sys.is_finalizing():
            raise at_its_end("the thread of this stream")
        with self.lock:
            if len(BUSY) > _MOST_BUSY:
                _forget_empty()
            BUSY.add(self)  # an exception may come after each line
            opened = self._opened
            self.close_lane()
            self.append(piece)
            if self._opened != opened:  # by a handler, before the piece
                self.close_lane()
            BUSY.add(self)  # a handler may have waited until the queue was empty
            epochs.work.changed()

    def put_all(self, pieces: tuple[HostPiece, ...]) -> None:
        """Append work, uninterrupted by other threads."""
        if sys.is_finalizing():
            raise at_its_end("the thread of this stream")
        with self.lock:
            BUSY.add(self)  # as in put
            opened = self._opened
            self.close_lane()
            self.extend(pieces)
            if self._opened != opened:
                self.close_lane()
            BUSY.add(self)
            epochs.work.changed()

    def put_open(self, open_: Callable[[], HostPiece]) -> None:
        """Open a lane, which returns the piece that does its work, and append the piece."""
        if sys.is_finalizing():
            raise at_its_end("the thread of this stream")
        with self.lock:
            BUSY.add(self)  # as in put
            self._opened += 1
            self.close_lane()
            piece = open_()
            try:
                self.append(piece)
            except BaseException:
                self.append(piece)
                raise
            finally:
                BUSY.add(self)
                if self.is_awaited():  # until there is a moment without an open lane
                    self.close_lane()
                epochs.work.changed()

    def close_lane(self) -> None:
        """Order later work behind the work of the lane."""
        if self.lane is not None:
            self.lane.close()

    def if_idle(self, call: Callable[[], object]) -> None:
        """Call a function if there is neither work nor an error; no thread appends work
        meanwhile."""
        with self.lock:
            if not self.pending and self.error is None:
                call()
                if self.pending or self.error is not None:  # of a handler, between the two lines
                    self.close_lane()

    def has_only_lane(self) -> bool:
        """Whether there is no unfinished work, or all of it is ordered before the end of an open
        lane: a thread that appends to the lane knows when the work is done."""
        return not self.pending or (self.lane is not None and self.lane.is_open())

    def has_work(self) -> bool:
        """Whether there is unfinished work, beside the end of a piece whose work is done."""
        while self.pending:
            if self.lane is None or not self.lane.settle():
                return bool(self.pending)
            time.sleep(0)
        return False

    def nothing_pending(self) -> Latch | None:
        """As for every queue; what others append later is not waited for."""
        nothing = super().nothing_pending()
        self.close_lane()  # behind the latch: who opens it then sees that somebody waits
        return nothing

    def end(self) -> None:
        """As for every queue, after what its lane has."""
        self.close_lane()
        super().end()

    def forget_if_empty(self) -> None:
        """Remove the queue from BUSY if nothing is pending."""
        with self.lock:
            if not self.pending and self in BUSY:
                BUSY.discard(self)
                epochs.work.changed()

    def fail(self, error: BaseException) -> None:
        """Record the first error. The owner and the threads that noted "no error" are notified
        before the piece counts as done."""
        if self.error is None and self.owner is not None:
            self.owner.note(error)
        super().fail(error)
        epochs.work.changed()

    def raise_error(self) -> None:
        """Raise the error, once."""
        if self.error is not None:
            epochs.work.changed()
        super().raise_error()

    def _on_thread(self) -> None:
        _current.queue = self

    def _ended(self) -> None:
        _current.queue = None

    def _do(self, item: HostPiece) -> object:
        work, always = item
        if self.stopping:
            self.stopping = False
            _ask_to_stop(self, False)
        return work() if always or self.error is None else None


class Mark:
    """A point in a queue, or in work that was done at once if it has no queue."""

    __slots__ = ("__weakref__", "_time", "clock", "passed", "queue")

    def __init__(self, clock: Callable[[], int], queue: HostQueue | None) -> None:
        self._time = 0
        self.clock = clock
        self.passed = Latch()
        self.queue = queue
        if queue is not None:
            queue.marks.add(self)

    @property
    def time(self) -> int:
        """The time at which it was passed, by ``clock``; 0 before that."""
        return self._time

    def __call__(self) -> None:
        self.pass_at(self.clock())

    def pass_at(self, time: int) -> None:
        """Note that it was passed at a time."""
        self._time = time
        self.passed.reach()

    def wait(self) -> None:
        """Wait until it is passed."""
        if self.queue is None or self.passed.is_reached():
            return
        if not _wait_until(self.queue, self.passed, (self.queue,)):
            fail(NOT_PERMITTED, "a wait for an event of a stream that waits for this one")


BUSY: set[HostQueue] = set()
"""Queues with unfinished work, and some with finished work that nobody has waited for. The launch
path tests only its truth value."""

_MOST_BUSY = 32
"""How many there are at most whose work is done, such as those of streams that ended."""

_queues: weakref.WeakSet[HostQueue] = weakref.WeakSet()
_current = threading.local()
_waits = threading.Lock()


def _forget_empty() -> None:
    """Remove queues without work, for which no thread may wait any more. The caller changes the
    number of the work."""
    for each in tuple(BUSY):
        if not each.pending and each.lock.acquire(blocking=False):
            try:
                if not each.pending:
                    BUSY.discard(each)
            finally:
                each.lock.release()


def is_busy() -> bool:
    """Whether a queue has unfinished work."""
    return any(queue.has_work() for queue in tuple(BUSY))


def is_quiet() -> bool:
    """Whether the default stream would wait for nothing but open lanes, and no stream has an error
    that a wait for it would raise."""
    only_lanes = all(queue.has_only_lane() for queue in tuple(BUSY))
    return only_lanes and all(queue.error is None for queue in tuple(_queues))


def own_queue() -> HostQueue | None:
    """The queue whose work this thread runs."""
    return getattr(_current, "queue", None)


def wait(queue: HostQueue) -> bool:
    """Wait until a queue is empty; a worker does not wait for itself. False if the queue waits for
    this thread's own queue, so that the wait would not end."""
    return _wait_for(queue, (queue,))


def _wait_for(queue: HostQueue, unwanted: tuple[HostQueue, ...]) -> bool:
    if queue is own_queue():
        return True
    if sys.is_finalizing() and queue.pending:
        raise at_its_end("the thread of a stream")
    nothing = queue.nothing_pending()
    if nothing is not None and not _wait_until(queue, nothing, unwanted):
        return False
    queue.forget_if_empty()
    return True


def _wait_until(queue: HostQueue, ready: Latch, unwanted: tuple[HostQueue, ...]) -> bool:
    """Wait for a latch of a queue; an exception drops the work of the unwanted ones. False if the
    wait would not end."""
    mine = own_queue()
    if mine is not None:
        with _waits:
            # In this order: after a latch is reached, the queue waits for no other.
            if _leads_to(queue, mine) and not ready.is_reached():
                return False
            mine.waits_for = queue, ready
    try:
        ready.wait()
    except BaseException:
        drop(unwanted)
        raise
    finally:
        if mine is not None:
            mine.waits_for = None
    return True


def _leads_to(queue: HostQueue | None, target: HostQueue) -> bool:
    """Whether a queue waits for another, possibly through others. A queue whose worker may go on,
    and has not recorded it yet, does not wait."""
    while queue is not None and queue is not target:
        waits_for = queue.waits_for
        queue = None if waits_for is None or waits_for[1].is_reached() else waits_for[0]
    return queue is target


def drop(queues: tuple[HostQueue, ...]) -> None:
    """Drop the work of queues and of those that they wait for: kernels in flight are stopped."""
    unwanted: set[HostQueue] = set()
    for queue in queues:
        following: HostQueue | None = queue
        while following is not None and following not in unwanted:
            unwanted.add(following)
            waits_for = following.waits_for
            following = None if waits_for is None else waits_for[0]
    dropped = KernelError("the work was dropped, by an exception in a thread that waited for it")
    for each in unwanted:
        if each.pending:
            each.keeps_thread = True  # which may be asked to stop a launch that is over
            each.error = each.error or dropped
            each.close_lane()
    epochs.work.changed()
    for _ in range(round(_PATIENCE_S / _SLICE_S)):
        running = [each for each in unwanted if each.pending]
        if not running:
            break
        for each in running:
            _ask_to_stop(each, True)
            each.stopping = True
        time.sleep(_SLICE_S)
    for each in unwanted:
        if each.pending:
            continue  # a busy machine: the request stays until the next piece of work
        _ask_to_stop(each, False)
        if each.error is dropped:
            each.error = None


def _ask_to_stop(queue: HostQueue, wish: bool) -> None:
    if queue.thread is not None and queue.thread.ident is not None:
        queue.device.stop_thread(queue.thread.ident, wish)


def wait_for_streams() -> None:
    """Wait for every stream, except those that wait for this thread. Errors stay with their
    streams."""
    busy = tuple(BUSY)
    for queue in busy:
        _wait_for(queue, busy)


def _begin_in_child() -> None:
    """Reset the queues: the threads of streams do not survive a fork."""
    global _current, _waits
    _current, _waits = threading.local(), threading.Lock()
    BUSY.clear()
    for queue in list(_queues):
        lost, marks = len(queue.pending), list(queue.marks)
        if queue.stopping:  # a thread of the child may have the same number
            _ask_to_stop(queue, False)
        queue.begin()
        for mark in marks:
            if not mark.passed.is_reached():
                mark.passed = Latch()
                mark.passed.reach()
        if lost:
            queue.error = device_error(
                NOT_PERMITTED,
                f"the process forked while this stream had {lost} pieces of work to do, which "
                "are done in the parent alone",
                "wait for the stream before the fork, or start processes by spawn",
            )


def _end_lanes() -> None:
    """End the pieces of lanes whose work is done: a child of a fork has not lost them."""
    if not sys.is_finalizing():
        for queue in tuple(BUSY):
            queue.has_work()


os.register_at_fork(before=_end_lanes, after_in_child=_begin_in_child)
