"""The software queue of a stream whose work runs on a host thread, and waits for it.

Three things end a wait early. An exception in the waiting thread, such as Ctrl-C's, drops the
awaited work. A circular wait of a stream's own work is refused. And the threads do not exist in the
child of a fork: its streams begin anew, and report what they lost.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import NoReturn, Protocol

from gridlane.core.device_errors import NOT_PERMITTED, described, fail
from gridlane.core.endings import at_its_end
from gridlane.core.errors import KernelError
from gridlane.core.weak import live
from gridlane.runtime.queues.default_stream_lock import TURNS, Lock
from gridlane.runtime.queues.native_queues import (
    BROKE,
    CIRCULAR,
    FAILED,
    HAS_STOPS,
    STOPS,
    native,
)
from gridlane.runtime.queues.software_queue import SoftwareQueue

Work = Callable[[], object]
HostPiece = tuple[Work, int]
"""Work, and its flags: ``native_queues.ALWAYS`` and ``SPINS``."""

_PATIENCE_S = 0.2
"""The longest delay of an exception by the work that it drops. A launch that is asked to stop, and
whose thread has had no processor by then, stops later."""
_SLICE_S = 0.005


class _Stoppable(Protocol):
    def stop_thread(self, thread: int, wish: bool) -> None:
        """Request that the launch of a thread ends early, or withdraw the request."""
        ...


class Owner(Protocol):
    """Whose work a queue has."""

    def note(self, error: BaseException) -> None:
        """Note an error of the work."""
        ...


class HostQueue(SoftwareQueue[Work]):
    """The shared state of a stream and its worker. The worker holds no reference to the stream, so
    that an unreferenced stream can end its worker. Work after an error is dropped until a caller
    takes the error.

    Attributes:
        owner: the object that is notified of an error of the work before a caller takes it.
        apart: whether its work and the default stream's are in no order.
    """

    apart = False

    def __init__(self, device: _Stoppable, address: int = 0) -> None:
        super().__init__(address)
        self.device = device
        self.owner: Owner | None = None
        _queues[self.address] = self

    @property
    def error(self) -> BaseException | None:
        """The first exception of a piece, while nobody has taken it."""
        return self._error

    @error.setter
    def error(self, error: BaseException | None) -> None:
        # In this order: a handler's exception between the lines drops no work for ever.
        if error is None:
            native.set(self.address, FAILED, False)
            self._error = None
        else:
            self._error = error
            native.set(self.address, FAILED, True)

    def put(self, piece: HostPiece) -> None:
        """Append work. Hot."""
        if sys.is_finalizing():
            raise at_its_end("the thread of this stream")
        work, flags = piece
        if isinstance(work, NativeWork):
            needs_worker = work.put(self.address, flags)
        else:
            needs_worker = native.append(self.address, work, flags)
        if needs_worker:
            self.start()

    def put_all(self, pieces: tuple[HostPiece, ...]) -> None:
        """Append work, uninterrupted by other threads."""
        if sys.is_finalizing():
            raise at_its_end("the thread of this stream")
        works, flags = zip(*pieces, strict=True) if pieces else ((), ())
        items = tuple([work.item() if isinstance(work, NativeWork) else work for work in works])
        if native.extend(self.address, items, flags):
            self.start()

    def pass_behind(self, mark: Mark) -> None:
        """Append the passing of a mark."""
        if native.append_mark(self.address, mark.address, False):
            self.start()

    @property
    def waits_for(self) -> HostQueue | None:
        """The queue that the worker waits for now, in a callback or for an event."""
        return _queues.get(native.waits_for(self.address))

    def was_awaited(self) -> None:
        """Called after each wait for the work."""

    def fail(self, error: BaseException) -> None:
        """Record the first error. The owner and C are notified before the piece counts as done."""
        if self.error is None and self.owner is not None:
            self.owner.note(error)
        super().fail(error)

    def _on_thread(self) -> None:
        _current.queue = self

    def _ended(self) -> None:
        _current.queue = None

    def _do(self, item: Work) -> object:
        return item()

    def _do_for(self, why: int) -> None:
        if why == BROKE:
            _raise_failure(native.failure(self.address))
        elif why == CIRCULAR:
            _refuse_circle()
        else:
            _ask_to_stop(self, False)


def _refuse_circle() -> None:
    fail(NOT_PERMITTED, "a wait for an event of a stream that waits for this one")


class Failure(ctypes.Structure):
    """``struct gl_failure`` of native/queue.h; the kernel's report is behind it."""

    _fields_ = (
        ("plan", ctypes.c_uint64),
        ("code", ctypes.c_int64),
        ("grid", ctypes.c_uint32 * 3),
        ("is_of_python", ctypes.c_uint32),
    )


def _raise_failure(address: int) -> None:
    """Raise the error of a launch: of Python's, whose piece is alive, or of C's."""
    failure = Failure.from_address(address)
    if not failure.is_of_python:
        raise_failure[0](address)
        return
    piece: NativeWork = ctypes.cast(failure.plan, ctypes.py_object).value
    gx, gy, _ = failure.grid
    piece.fail(failure.code, address + ctypes.sizeof(Failure), gx, gy)


def _no_failure(address: int) -> None:
    raise AssertionError(f"a launch that Python did not make failed, at {address:#x}")


raise_failure: list[Callable[[int], None]] = [_no_failure]
"""The function that raises the error of a launch that C appended, by the address of
``struct gl_failure``."""


class NativeWork:
    """A piece of work that a native queue does without Python, if it can."""

    __slots__ = ()

    def put(self, queue: int, flags: int) -> bool:
        """Append it to a native queue; whether a thread must start to serve that."""
        raise NotImplementedError

    def item(self) -> object:
        """It among others; see ``extend`` of ``native_queues``."""
        return self

    def __call__(self) -> None:
        """Do it on the caller."""
        raise NotImplementedError

    def fail(self, code: int, report: int, gx: int, gy: int) -> NoReturn:
        """Raise the error of a launch; see ``host_device.MachineCode``."""
        raise NotImplementedError


class Mark:
    """A point in a queue.

    Args:
        address: of a native mark, of which this object gets the caller's use.
    """

    __slots__ = ("address",)

    def __init__(self, address: int = 0) -> None:
        self.address = address or native.new_mark()

    def __del__(self, release: Callable[[int], object] = native.release_mark) -> None:
        release(self.address)

    def is_passed(self) -> bool:
        """Whether it is passed."""
        return native.is_passed(self.address)

    @property
    def queue(self) -> HostQueue | None:
        """The queue whose work passes it, until then."""
        return _queues.get(native.queue_of(self.address))

    def wait(self) -> None:
        """Wait until it is passed."""
        if self.is_passed():
            return
        queue = self.queue
        if queue is not None:
            queue.start_missing()
        try:
            is_over = native.wait(0, self.address, 0, _waiter())
        except BaseException:
            if queue is not None:
                drop((queue,))
            raise
        if not is_over:
            _refuse_circle()


class Follow(NativeWork):
    """A wait for a mark, for always."""

    __slots__ = ("mark",)

    def __init__(self, mark: Mark) -> None:
        self.mark = mark

    def put(self, queue: int, flags: int) -> bool:
        """Append it."""
        before = self.mark.queue
        if before is not None:  # else the wait may never end
            before.start_missing()
        return native.append_mark(queue, self.mark.address, True)

    def __call__(self) -> None:
        self.mark.wait()


BUSY = native.BUSY
"""Whose truth is whether a queue has unfinished work. Hot."""

_queues: weakref.WeakValueDictionary[int, HostQueue] = weakref.WeakValueDictionary()
"""By address."""
_current = threading.local()


def busy_queues() -> list[HostQueue]:
    """The queues with unfinished work."""
    found = map(_queues.get, native.busy())
    return [queue for queue in found if queue is not None]


def own_queue() -> HostQueue | None:
    """The queue whose work this thread runs."""
    return getattr(_current, "queue", None)


def _waiter() -> int:
    """The queue that waits if this thread does: its own, or the default stream's turn; 0 for
    none."""
    mine = own_queue()
    if mine is not None:
        return mine.address
    return native.turn() if TURNS.is_mine() else 0


class _TurnOfWorker:
    """The turn of the default stream, for the thread of a stream."""

    __slots__ = ("_is_first", "_lock", "_own", "_turn")

    def __init__(self, own: int) -> None:
        self._own, self._turn = own, native.turn()

    def __enter__(self) -> None:
        self._is_first, self._lock = not TURNS.is_mine(), TURNS.lock
        if not self._lock.acquire(blocking=False):
            self._wait()
        if self._is_first:
            native.begin_wait(self._turn, self._own)

    def _wait(self) -> None:
        if not native.begin_wait(self._own, self._turn):
            fail(
                NOT_PERMITTED,
                "a stream's callback cannot use the default stream, whose callback waits for the "
                "stream",
            )
        try:
            self._lock.acquire()
        finally:
            native.end_wait(self._own)

    def __exit__(self, *error: object) -> None:
        if self._is_first:
            native.end_wait(self._turn)
        self._lock.release()


def turn() -> Lock | _TurnOfWorker:
    """A context manager of the default stream's turn. Where no queue has work, ``TURNS.lock`` is
    the same."""
    mine = own_queue()
    return TURNS.lock if mine is None else _TurnOfWorker(mine.address)


def wait(queue: HostQueue) -> bool:
    """Wait for the work so far; a worker does not wait for itself. False if the queue waits for
    this thread's own queue, so that the wait would not end."""
    return _wait_for(queue, (queue,))


def _wait_for(queue: HostQueue, unwanted: tuple[HostQueue, ...]) -> bool:
    if queue is own_queue():
        return True
    if sys.is_finalizing() and queue.pending:
        raise at_its_end("the thread of a stream")
    count = queue.awaited()
    if count:
        try:
            if not native.wait(queue.address, 0, count, _waiter()):
                return False
        except BaseException:
            drop(unwanted)
            raise
    queue.was_awaited()
    return True


def drop(queues: tuple[HostQueue, ...]) -> None:
    """Drop the work of queues and of those that they wait for: kernels in flight are stopped."""
    unwanted: set[HostQueue] = set()
    for queue in queues:
        following: HostQueue | None = queue
        while following is not None and following not in unwanted:
            unwanted.add(following)
            following = following.waits_for
    dropped = KernelError("the work was dropped, by an exception in a thread that waited for it")
    for each in unwanted:
        if each.pending:
            each.keeps_thread = True  # which may be asked to stop a launch that is over
            each.error = each.error or dropped
    for _ in range(round(_PATIENCE_S / _SLICE_S)):
        running = [each for each in unwanted if each.pending]
        if not running:
            break
        for each in running:
            _ask_to_stop(each, True)
            native.set(each.address, STOPS, True)
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
    busy = tuple(busy_queues())
    for queue in busy:
        _wait_for(queue, busy)


def ordered_queues() -> list[HostQueue]:
    """The queues with unfinished work that later work of the default stream is ordered behind."""
    return [queue for queue in busy_queues() if not queue.apart]


def wait_for_ordered() -> None:
    """``wait_for_streams`` without those in no order with the default stream, as
    ``cudaStreamNonBlocking`` makes them: their work may wait for a later action of this thread."""
    busy = tuple(ordered_queues())
    for queue in busy:
        _wait_for(queue, busy)


def _begin_in_child() -> None:
    """Reset the queues: the threads of streams do not survive a fork."""
    global _current
    _current = threading.local()
    for queue in live(_queues):
        if native.get(queue.address, HAS_STOPS):  # a thread of the child may have the same number
            _ask_to_stop(queue, False)
            native.set(queue.address, STOPS, False)
        queue.thread, queue.lacks_thread = None, True
        lost = native.lost(queue.address)
        if lost:
            queue.error = described(
                NOT_PERMITTED,
                f"the process forked while this stream had {lost} pieces of work to do, which "
                "are done in the parent alone",
                "wait for the stream before the fork, or start processes by spawn",
            )


os.register_at_fork(after_in_child=_begin_in_child)
