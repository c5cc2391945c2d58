"""Streams of host-driven devices: the order of work on the device's one queue.

Work is submitted to the device now, or deferred until its predecessors are submitted (the thread of
a DeferredQueue does that), or recorded for a graph.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from gridlane.runtime.protocol import Limits
from gridlane.runtime.queues.callbacks import callback
from gridlane.runtime.queues.deferred_queue import DeferredQueue, Work
from gridlane.runtime.queues.graph import here
from gridlane.runtime.queues.host_driven_context import HostDrivenContext, Ordered
from gridlane.runtime.queues.host_driven_recorder import AnyRecorder
from gridlane.runtime.queues.host_driven_transfers import Transfers
from gridlane.runtime.queues.stream import SoftwareStream
from gridlane.runtime.reporting import Owner, Owners

Launch = tuple[bytes, int, int, int, int]
"""A launch of a bound kernel: the parameter block, blocks along each axis, and bytes of dynamic
shared memory. Launches that are not submitted at once are kept in this form."""


class Piece(NamedTuple):
    """A piece of work.

    Attributes:
        operation: does the work, or submits it to the device; it gets the stream and ``args``,
            which own the objects of the work.
        by_host: whether the host takes part in it after all work so far, so that it is deferred.
        in_parts: whether it is several submissions, between which no other work is submitted.
    """

    operation: Callable[..., object]
    args: tuple[Any, ...]
    by_host: bool = False
    in_parts: bool = False


class StreamDevice(Protocol):
    """The device interface that these streams use.

    Attributes:
        runs_parts: whether a kernel was loaded whose launch is several submissions.
        context, recorder, transfers: the state, the order and the copies of all its streams.
    """

    name: str
    limits: Limits
    runs_parts: bool

    @property
    def context(self) -> HostDrivenContext: ...
    @property
    def recorder(self) -> AnyRecorder: ...
    @property
    def transfers(self) -> Transfers[Any, Any]: ...
    @property
    def default_stream(self) -> HostDrivenStream[Any]:
        """The stream that is ordered with all others."""
        ...

    def flush(self) -> None:
        """Write the lines that kernels printed; called when work is done."""
        ...

    @property
    def owners(self) -> Owners:
        """Whose launches the default stream's are."""
        ...

    def check(
        self, handle: int | None = None, late: bool = False, owner: Owner | None = None
    ) -> None:
        """Raise the first error that a kernel reported; see HostDrivenDevice."""
        ...


class Recordable(Protocol):
    """A bound kernel of a host-driven device."""

    raises: bool
    """Whether it can stop itself."""
    in_parts: bool
    """Whether a launch is several submissions."""

    def record(self, stream: Any, params: bytes, gx: int, gy: int, gz: int, shared: int) -> None:
        """Submit a launch to the device. Hot."""
        ...


D = TypeVar("D", bound=StreamDevice)


class HostDrivenStream(SoftwareStream[D, Piece], Ordered, Generic[D]):
    """A stream. The default stream's work is ordered after the earlier work of all others, and
    their later work after it.

    Attributes:
        context, recorder, transfers: of the device, which all streams share.
        deferred: the work that is not submitted yet.
    """

    def __init__(self, device: D, default: bool = False) -> None:
        super().__init__(device, default)
        self.context, self.recorder = device.context, device.recorder
        self.transfers = device.transfers
        self.deferred = DeferredQueue(self.context.deferred_queues)
        self._owner = Owner(self.handle)
        self._graphs = threading.RLock()
        self.deferred.end_with(self)

    @property
    def owner(self) -> Owner:
        """Whose launches are submitted now: the stream's, or on the default one a thread's."""
        return self.device.owners.here() if self.is_default else self._owner

    # --- work that is submitted; observers replace these methods ---

    def _upload(self, target: int, source: memoryview, keep: object) -> None:
        self.transfers.upload(self, target, source, keep)

    def _download(self, target: memoryview, source: int, keep: object) -> None:
        self.transfers.download(self, target, source, keep)

    def _copy(self, target: int, source: int, size: int, keep: object) -> None:
        self.transfers.copy(self, target, source, size)

    def _fill(self, target: int, byte: int, size: int, keep: object) -> None:
        self.transfers.fill(self, target, byte, size)

    def _write(self, target: int, source: memoryview) -> None:
        self.transfers.write(self, target, source)

    def _read(self, target: memoryview, source: int) -> None:
        self.transfers.read(self, target, source)

    # --- work ---

    def launch(
        self,
        kernel: Recordable,
        params: bytes,
        gx: int,
        gy: int,
        gz: int,
        shared: int,
        keep: object = None,
    ) -> None:
        """Append a launch. A launch that can raise is waited for on the default stream, as on every
        other device. Hot."""
        if here.captured:
            self.check_default()
        if self.is_default and kernel.raises:
            args = kernel, (params, gx, gy, gz, shared), keep
            with self._waited():
                self.append(Piece(_record, args, in_parts=kernel.in_parts))
        elif self._recorded is not None or self.context.deferred_queues or self.device.runs_parts:
            args = kernel, (params, gx, gy, gz, shared), keep
            self.append(Piece(_record, args, in_parts=kernel.in_parts))
        else:
            kernel.record(self, params, gx, gy, gz, shared)

    @contextmanager
    def _waited(self) -> Generator[None]:
        """Wait for the launches of a with block, and raise their error: no other thread does."""
        owner = self.owner
        owner.waits += 1
        try:
            yield
            self.drain()
            self.device.check(owner=owner)
            self.deferred.raise_error()
        finally:
            owner.waits -= 1

    def upload(self, target: int, source: memoryview, keep: object = None) -> None:
        """Append a copy to the device."""
        self.append(Piece(type(self)._upload, (target, source, keep)))

    def download(self, target: memoryview, source: int, keep: object = None) -> None:
        """Append a copy to the host."""
        by_host = self.transfers.needs_host(target)
        self.append(Piece(type(self)._download, (target, source, keep), by_host))

    def copy(self, target: int, source: int, size: int, keep: object = None) -> None:
        """Append a copy within the device."""
        self.append(Piece(type(self)._copy, (target, source, size, keep)))

    def fill(self, target: int, byte: int, size: int, keep: object = None) -> None:
        """Append a fill."""
        self.append(Piece(type(self)._fill, (target, byte, size, keep)))

    def write(self, target: int, source: memoryview) -> None:
        """Copy to the device, after the work so far; the source may change on return."""
        self._check_waiting("a copy from memory that is not pinned")
        self.check_default()
        self._catch_up()
        with self.context.submitting(self) if self.device.runs_parts else nullcontext():
            self._write(target, source)

    def read(self, target: memoryview, source: int) -> None:
        """Copy to the host; finished on return. Raises if the device did not finish a kernel."""
        self._check_waiting("a copy that the host waits for")
        self.check_default()
        self._catch_up()
        with self.context.submitting(self) if self.device.runs_parts else nullcontext():
            self._read(target, source)
        self.device.flush()
        self.device.check(None if self.is_default else self.handle, late=True)

    def submit(self, work: Work, always: bool = False) -> None:
        """Append a callback. It runs on a thread of this stream, which must not use the device;
        ``synchronize`` raises its exception."""
        self.append(Piece(_call, (work,), by_host=True))

    def append(self, piece: Piece) -> None:
        """Append work: record it in a capture, else submit or defer it."""
        self.context.enter()
        super().append(piece)

    def append_all(self, pieces: tuple[Piece, ...]) -> None:
        """Append a graph's work, not interleaved with graphs that other threads launch."""
        raises = self.is_default and any(_can_raise(piece) for piece in pieces)
        with self._graphs, self._waited() if raises else nullcontext():
            for piece in pieces:
                self.append(piece)

    def _submit(self, piece: Piece) -> None:
        if not self.device.runs_parts:
            self._submit_or_defer(piece)
            return
        hold = self.context.driving if piece.in_parts else self.context.submitting
        with hold(self):
            self._submit_or_defer(piece)

    def _submit_or_defer(self, piece: Piece) -> None:
        if piece.by_host or (self.context.deferred_queues and self._is_behind()):
            work = partial(_drive if piece.in_parts else piece.operation, self, *piece.args)
            self._defer(partial(_for_owner, self.owner, self, work) if self.is_default else work)
        else:
            piece.operation(self, *piece.args)

    # --- waiting ---

    def finish(self) -> None:
        """Wait for the submitted work of this stream and its predecessors."""
        self.recorder.wait(self.recorder.predecessor(self))

    @property
    def failure(self) -> BaseException | None:
        """The error of a callback; a kernel's is known when a caller waits for it."""
        return self.deferred.error

    def raise_error(self) -> None:
        """Raise the error of a kernel or callback of the work."""
        self.device.check(self.handle)
        self.deferred.raise_error()

    def _wait(self) -> None:
        # A kernel's error stays for ``synchronize``; a fault of the device is raised.
        self._catch_up()
        self.settle()

    def put_in(self) -> None:
        """Wait until the work that is deferred now is submitted; do not wait for work that other
        threads defer meanwhile."""
        for queue in self.context.busy():
            queue.fence()()

    def settle(self) -> None:
        """Wait for the submitted work, not for deferred work."""
        self.recorder.wait(self.recorder.newest(self))
        self.device.flush()

    def _is_done(self) -> bool:
        self.context.enter()
        if self._is_behind() if self.is_default else self.deferred.pending:
            return False
        return self.recorder.passed(self.recorder.newest(self))

    # --- details ---

    def _is_behind(self) -> bool:
        """Whether a predecessor is not submitted yet."""
        if self.is_default:
            return bool(self.context.busy())
        return bool(self.deferred.pending or self.device.default_stream.deferred.pending)

    def _defer(self, work: Work) -> None:
        """Defer an operation until all its predecessors are submitted."""
        default = self.device.default_stream.deferred
        first: Iterable[DeferredQueue] = self.context.busy() if self.is_default else (default,)
        for other in first:
            if other is not self.deferred and other.pending:
                self.deferred.put(other.fence())
        self.deferred.put(work)

    def append_behind(self, ready: Work, piece: Piece) -> None:
        """Append work that is submitted when ``ready`` returns; for events."""
        self.context.enter()
        self._defer(ready)
        self.deferred.put(partial(piece.operation, self, *piece.args))

    def _catch_up(self) -> None:
        """Wait until all predecessors of later work are submitted."""
        self.context.enter()
        if self.context.deferred_queues:
            every = self.context.busy() if self.is_default else (self.deferred,)
            for queue in (*every, self.device.default_stream.deferred):
                queue.wait()


def _can_raise(piece: Piece) -> bool:
    return piece.operation is _record and piece.args[0].raises


def _for_owner(owner: Owner, stream: HostDrivenStream[Any], work: Work) -> None:
    """Submit deferred work of the default stream for the thread that appended it."""
    with stream.device.owners.standing_for(owner):
        work()


def _record(
    stream: HostDrivenStream[Any], kernel: Recordable, launch: Launch, keep: object
) -> None:
    """Submit a launch. ``keep`` lives until then, as it is an argument."""
    kernel.record(stream, *launch)


def _drive(stream: HostDrivenStream[Any], kernel: Recordable, launch: Launch, keep: object) -> None:
    """Submit a deferred launch in parts. Other deferred work that is ordered with it follows it, so
    it need not block others' launches in parts."""
    with stream.context.driving(stream):
        kernel.record(stream, *launch)


def _call(stream: HostDrivenStream[Any], work: Work) -> None:
    """Call a callback after the submitted work."""
    stream.finish()
    with callback():
        work()
