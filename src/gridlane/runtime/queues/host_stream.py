"""Streams of devices whose work runs on host threads: the default stream runs on the caller, except
for kernels that may wait for the host; others have a thread each.

The default stream has CUDA's legacy meaning: its work waits for every other stream that is not
``apart``, and as it runs on the caller, other streams' later work is ordered after it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from threading import get_ident
from typing import Any, NoReturn, Protocol, cast

from gridlane.core.device_errors import NOT_PERMITTED, KernelStop, fail
from gridlane.core.endings import at_end
from gridlane.core.weak import live
from gridlane.runtime.protocol import BoundKernel
from gridlane.runtime.queues.default_stream_lock import TURNS
from gridlane.runtime.queues.host_queue import (
    BUSY,
    Follow,
    HostPiece,
    HostQueue,
    Mark,
    NativeWork,
    Owner,
    Work,
    busy_queues,
    ordered_queues,
    own_queue,
    turn,
    wait,
    wait_for_ordered,
    wait_for_streams,
)
from gridlane.runtime.queues.native_queues import ALWAYS, CAPTURED, SPINNING, SPINS, native
from gridlane.runtime.queues.stream import SoftwareStream

at_end(wait_for_streams)

_by_handle: weakref.WeakValueDictionary[int, OwnHostStream] = weakref.WeakValueDictionary()


def wait_for_all() -> None:
    """Wait for every stream, and for what another thread does on the default stream."""
    wait_for_streams()
    _wait_for_turn()


def _wait_for_turn() -> None:
    """Wait for what another thread does on the default stream. A stream's callback does not wait
    for that, which may wait for the stream."""
    if own_queue() is None:
        TURNS.wait()


@contextmanager
def together(inline: bool) -> Generator[None]:
    """Keep the work of other threads out between pieces of a default stream.

    Args:
        inline: whether its work runs on the caller; other streams have queues.
    """
    if not inline:
        yield
        return
    if BUSY:
        wait_for_ordered()
    with turn():
        before, TURNS.holder = TURNS.holder, get_ident()
        try:
            yield
        finally:
            TURNS.holder = before


def by_handle(handle: int) -> OwnHostStream | None:
    """The live stream of this number."""
    return _by_handle.get(handle)


def live_streams() -> list[OwnHostStream]:
    """Every referenced stream."""
    return live(_by_handle)


class StreamDevice(Protocol):
    """The device interface that these streams use.

    Attributes:
        shares_memory: whether the host has memory that kernels use while they run.
    """

    name: str
    shares_memory: bool

    def upload(self, target: int, source: memoryview) -> None:
        """Copy host bytes to the device."""
        ...

    def download(self, target: memoryview, source: int) -> None:
        """Copy device bytes to the host."""
        ...

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy within the device."""
        ...

    def fill(self, target: int, byte: int, size: int) -> None:
        """Set bytes."""
        ...

    def stop_thread(self, thread: int, wish: bool) -> None:
        """Ask the launch of a thread to end early, or withdraw the request."""
        ...


class HostStream(SoftwareStream[StreamDevice, HostPiece]):
    """A stream of a host device."""

    @property
    def queue(self) -> HostQueue | None:
        """The queue of its thread; None if the caller does the work."""
        return None

    @property
    def failure(self) -> BaseException | None:
        """The error of its thread's work; that of a caller's work is raised there."""
        return self.queue.error if self.queue is not None else None

    def launch(
        self,
        kernel: BoundKernel,
        params: bytes,
        gx: int,
        gy: int,
        gz: int,
        shared: int,
        keep: object = None,
    ) -> None:
        """Append a launch."""
        flags = SPINS if kernel.artifact.spins else 0
        self.append((_Launch(kernel, params, (gx, gy, gz), shared, keep), flags))

    def upload(self, target: int, source: memoryview, keep: object = None) -> None:
        """Append a copy to the device."""
        self.submit(partial(_held, keep, self.device.upload, target, source))

    def download(self, target: memoryview, source: int, keep: object = None) -> None:
        """Append a copy to the host."""
        self.submit(partial(_held, keep, self.device.download, target, source))

    def copy(self, target: int, source: int, size: int, keep: object = None) -> None:
        """Append a copy within the device."""
        self.submit(partial(_held, keep, self.device.copy, target, source, size))

    def fill(self, target: int, byte: int, size: int, keep: object = None) -> None:
        """Append a fill."""
        self.submit(partial(_held, keep, self.device.fill, target, byte, size))

    def write(self, target: int, source: memoryview) -> None:
        """Copy to the device, after the work so far."""
        self.drain()
        self.device.upload(target, source)

    def read(self, target: memoryview, source: int) -> None:
        """Copy to the host, after the work so far; raise the first error of that work, as the
        caller would take the array for its result."""
        self.drain()
        self.raise_error()
        self.device.download(target, source)

    def submit(self, work: Work, always: bool = False) -> None:
        """Append work; ``always`` runs it after an error as well (events, waits, callbacks)."""
        self.append((work, ALWAYS if always else 0))


class _Launch(NativeWork):
    """A launch. ``keep`` lives until it is over."""

    __slots__ = ("grid", "keep", "kernel", "params", "shared")

    def __init__(
        self,
        kernel: BoundKernel,
        params: bytes,
        grid: tuple[int, int, int],
        shared: int,
        keep: object,
    ) -> None:
        self.kernel, self.params, self.grid, self.shared = kernel, params, grid, shared
        self.keep = keep

    def put(self, queue: int, flags: int) -> bool:
        """Append it; as a piece of Python if C cannot launch the kernel, or if launches are
        observed."""
        quick: tuple[int, int] | None = getattr(self.kernel, "quick", None)  # a HostKernel's
        params = self.params
        if quick is None or params.__class__ is not bytes:
            return native.append(queue, self, flags)
        (launch, plan), (x, y, z) = quick, self.grid
        return native.append_launch(queue, self, flags, launch, plan, params, x, y, z, self.shared)

    def item(self) -> object:
        """It among others, as ``put`` appends it."""
        quick: tuple[int, int] | None = getattr(self.kernel, "quick", None)
        if quick is None or self.params.__class__ is not bytes:
            return self
        return self, *quick, self.params, *self.grid, self.shared

    def __call__(self) -> None:
        try:
            self.kernel.launch(self.params, *self.grid, self.shared)
        except KernelStop as error:
            self._explain(error)

    def fail(self, code: int, report: int, gx: int, gy: int) -> NoReturn:
        """Raise the error of the launch by C."""
        kernel = cast("Any", self.kernel)  # one with "quick"
        try:
            kernel.machine_code.fail(code, report, gx, gy)
        except KernelStop as error:
            self._explain(error)
        raise AssertionError(f"no error has the number {code}")

    def _explain(self, error: KernelStop) -> NoReturn:
        """Raise the user's exception of a kernel that stopped itself."""
        kernel = self.kernel
        raise (kernel.explain(error) if kernel.explain else error) from None


def _held(keep: object, function: Callable[..., None], *args: object) -> None:
    """Call a function; ``keep`` lives until then, as it is an argument."""
    function(*args)


class OwnHostStream(HostStream):
    """A stream with a daemon thread, started at the first use.

    An error drops the later work of the stream, up to the next ``synchronize``, which raises it.

    Args:
        address: of a native queue that C made, of which the stream gets a use.
    """

    def __init__(self, device: StreamDevice, address: int = 0) -> None:
        super().__init__(device, default=False)
        self._queue = HostQueue(device, address)
        _by_handle[self.handle] = self
        self._queue.end_with(self)

    @property
    def queue(self) -> HostQueue:
        """The queue of its thread."""
        return self._queue

    def _submit(self, piece: HostPiece) -> None:
        if LEFT:
            self._follow()
        self._queue.put(piece)

    def _submit_all(self, pieces: tuple[HostPiece, ...]) -> None:
        if LEFT:
            self._follow()
        if pieces:
            self._queue.put_all(pieces)

    def _follow(self) -> None:
        """Order later work behind that of default streams which the caller has left."""
        for queue in () if self._queue.apart else tuple(LEFT):
            if queue.pending and queue is not own_queue():
                _put_after(self._queue, queue)

    def _set_captured(self, is_captured: bool) -> None:
        native.set(self._queue.address, CAPTURED, is_captured)

    def synchronize(self) -> None:
        """Wait for the work so far; raise the first error of it."""
        self._check_waiting("waiting for the stream")
        if self._queue is own_queue():
            fail(NOT_PERMITTED, "a stream's callback cannot wait for its own stream")
        super().synchronize()

    def _wait(self) -> None:
        if not wait(self._queue):
            fail(NOT_PERMITTED, "a stream's callback cannot wait for a stream that waits for it")

    def _is_done(self) -> bool:
        return self._queue.is_idle()

    def raise_error(self) -> None:
        """Raise the first error of the work, once."""
        self._queue.raise_error()


class _LeftQueue(HostQueue):
    """The queue of what a default stream does behind the caller."""

    def put(self, piece: HostPiece) -> None:
        """Append work. The libraries in C append nothing from now on."""
        super().put(piece)
        if self not in LEFT:
            LEFT.add(self)
            native.count_refusals(1)
            if not self.pending:  # somebody may have found that before
                self.was_awaited()

    def was_awaited(self) -> None:
        """Leave LEFT if there is no work."""
        if not self.pending and self in LEFT:
            LEFT.discard(self)
            native.count_refusals(-1)


LEFT: set[HostQueue] = set()
"""The queues of default streams whose work the caller has left to a thread, and that nobody has
found empty since."""


def _put_after(queue: HostQueue, other: HostQueue) -> None:
    """Order the later work of a queue behind the present work of another."""
    mark = Mark()
    other.pass_behind(mark)
    queue.put((Follow(mark), ALWAYS))


def is_behind_waiting(left: HostQueue | None = None) -> bool:
    """Whether a default stream's work is ordered behind that of streams which may wait for the
    host.

    Args:
        left: the default stream's own queue.
    """
    busy = [each for each in busy_queues() if each is not left]
    return any(not each.apart for each in busy) and any(
        native.get(each.address, SPINNING) for each in busy
    )


class DefaultHostStream(HostStream):
    """The stream whose work runs at once, on the caller. Other streams keep their own errors.

    A kernel that may wait for the host runs on a thread, if the host shares memory with kernels. So
    does the work behind it, or behind such a kernel of another stream, until the stream is idle.

    Attributes:
        owner: the object that is notified of an error of work on a thread.
    """

    def __init__(self, device: StreamDevice) -> None:
        super().__init__(device, default=True)
        self.owner: Owner | None = None
        self._left: _LeftQueue | None = None

    @property
    def inline(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]  # read only
        """Whether the caller does the work."""
        return not LEFT or self.queue is None

    @property
    def queue(self) -> HostQueue | None:
        """The queue of the work that is left to a thread, while there is any."""
        left = self._left
        return left if left is not None and left.pending else None

    @property
    def failure(self) -> BaseException | None:
        """The error of work that was left to a thread."""
        return None if self._left is None else self._left.error

    def _submit(self, piece: HostPiece) -> None:
        if (LEFT or self.device.shares_memory) and self._is_left(piece):
            return
        lock = TURNS.lock
        if BUSY and TURNS.holder != get_ident():
            wait_for_ordered()
            lock = turn()
        with lock:
            piece[0]()

    def _may_wait(self, piece: HostPiece) -> bool:
        """Whether a piece may wait for a later action of the host: it is a kernel that may wait, or
        is ordered behind a stream with such a kernel."""
        if not self.device.shares_memory:
            return False
        if piece[1] & SPINS:
            return True
        return is_behind_waiting(self._left)

    def _is_left(self, piece: HostPiece) -> bool:
        """Leave a piece to the thread, behind the work of all streams, if it has to be. What a
        callback does is done at once."""
        left = self._left
        if left is not None and left in LEFT:
            left.was_awaited()
        if own_queue() is not None:
            return False
        if not (self.queue is not None or self._may_wait(piece)):
            return False
        if left is None:
            left = _LeftQueue(self.device)
            left.end_with(self)
            self._left = left
        left.owner = self.owner
        for other in busy_queues():
            if other is not left and not other.apart:
                _put_after(left, other)
        with TURNS.lock:  # behind what other threads do on the default stream
            left.put(piece)
        return True

    def write(self, target: int, source: memoryview) -> None:
        """Copy to the device, after the work so far."""
        self.check_default()
        self.drain()
        with turn() if BUSY else TURNS.lock:
            self.device.upload(target, source)

    def read(self, target: memoryview, source: int) -> None:
        """Copy to the host, after the work so far."""
        self.check_default()
        self.drain()
        self.raise_error()
        with turn() if BUSY else TURNS.lock:
            self.device.download(target, source)

    def _wait(self) -> None:
        wait_for_ordered()
        _wait_for_turn()

    def _is_done(self) -> bool:
        is_idle = not BUSY or all([queue.is_idle() for queue in ordered_queues()])
        return is_idle and not TURNS.is_taken()

    def raise_error(self) -> None:
        """Raise the error of work that was left to a thread; other work raises on the caller."""
        if self._left is not None:
            self._left.raise_error()
