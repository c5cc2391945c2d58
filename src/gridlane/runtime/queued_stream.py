"""Streams of host-driven devices: what comes before what, on one queue of the device's.

Work is submitted to the device now, or deferred until what comes before it is submitted (the thread
of a DeferredQueue does that), or recorded for a graph.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

from gridlane.core.device_errors import ILLEGAL_STATE, NOT_CAPTURED, fail
from gridlane.runtime.deferred_queue import DeferredQueue, host_function
from gridlane.runtime.replay import ReplayedGraph

_handles = itertools.count(0x1000)


class QueuedStream:
    """A stream. The default one comes after the work of all others, and they after its work.

    Attributes:
        context: what the streams of the device share, a QueuedContext.
    """

    inline = False

    def __init__(self, device: Any, context: Any, default: bool) -> None:
        self.device, self.context = device, context
        self.is_default = default
        self.handle = 0 if default else next(_handles)
        self.deferred = DeferredQueue(context)
        self._recorded: list[tuple[str, tuple[Any, ...]]] | None = None
        weakref.finalize(self, self.deferred.end).atexit = False

    # --- what a device does in its own way ---

    def _launch(
        self,
        kernel: Any,
        params: bytes,
        gx: int,
        gy: int,
        gz: int,
        shared: int,
        keep: Any = None,
    ) -> None:
        """Give a launch to the device."""
        raise NotImplementedError

    def _upload(self, target: int, source: memoryview, keep: Any) -> None:
        """Give a copy to the device."""
        raise NotImplementedError

    def _download(self, target: memoryview, source: int, keep: Any) -> None:
        """Give a copy from the device to the host."""
        raise NotImplementedError

    def _copy(self, target: int, source: int, size: int, keep: Any) -> None:
        """Give a copy within the device."""
        raise NotImplementedError

    def _fill(self, target: int, byte: int, size: int, keep: Any) -> None:
        """Give the setting of bytes."""
        raise NotImplementedError

    def _write(self, target: int, source: memoryview) -> None:
        """Copy to the device, behind the work so far; the source may change on return."""
        raise NotImplementedError

    def _read(self, target: memoryview, source: int) -> None:
        """Copy to the host; finished on return."""
        raise NotImplementedError

    def _finish(self) -> None:
        """Wait for the work that this stream has given to the device."""
        raise NotImplementedError

    def _wait(self) -> None:
        """Wait for what this stream comes behind as well."""
        raise NotImplementedError

    def _passed(self) -> bool:
        """Whether that is done."""
        raise NotImplementedError

    # --- work ---

    def launch(
        self,
        kernel: Any,
        params: bytes,
        gx: int,
        gy: int,
        gz: int,
        shared: int,
        keep: Any = None,
    ) -> None:
        """Append a launch. One that can raise is waited for on the default stream, as it is on
        every other device. Hot."""
        if self._recorded is not None or self.context.deferred_queues:
            self._do("_launch", kernel, params, gx, gy, gz, shared, keep)
        else:
            self._launch(kernel, params, gx, gy, gz, shared)
        if self.is_default and kernel.raises:
            self.synchronize()

    def upload(self, target: int, source: memoryview, keep: Any = None) -> None:
        """Append a copy to the device."""
        self._do("_upload", target, source, keep)

    def download(self, target: memoryview, source: int, keep: Any = None) -> None:
        """Append a copy to the host."""
        self._do("_download", target, source, keep)

    def copy(self, target: int, source: int, size: int, keep: Any = None) -> None:
        """Append a copy within the device."""
        self._do("_copy", target, source, size, keep)

    def fill(self, target: int, byte: int, size: int, keep: Any = None) -> None:
        """Append setting bytes."""
        self._do("_fill", target, byte, size, keep)

    def write(self, target: int, source: memoryview) -> None:
        """Copy to the device, behind the work so far; the source may change on return."""
        self._check_waiting("a copy from memory that is not pinned")
        self._catch_up()
        self._write(target, source)

    def read(self, target: memoryview, source: int) -> None:
        """Copy to the host; finished on return. Raises where the device did not finish a kernel."""
        self._check_waiting("a copy that the host waits for")
        self._catch_up()
        self._read(target, source)
        self.device.flush()
        self.device.check(late=True)

    def submit(self, work: Callable[[], object], always: bool = False) -> None:
        """Append a host function. It runs on a thread of this stream, which must not use the
        device; what it raises surfaces at ``synchronize``."""
        self.context.enter()
        if self._recorded is not None:
            self._recorded.append(("submit", (work, always)))
        else:
            self._defer(partial(self._call, work))

    def _call(self, work: Callable[[], object]) -> None:
        self._finish()
        with host_function():
            work()

    # --- waiting ---

    def synchronize(self) -> None:
        """Wait; raise what a kernel or host function of the work raised."""
        self.drain()
        self.device.check()
        self.raise_error()

    def raise_error(self) -> None:
        """Raise what a host function raised."""
        if self.deferred.error is not None:
            error, self.deferred.error = self.deferred.error, None
            raise error

    def drain(self) -> None:
        """Wait; what kernels raised stays for ``synchronize``, a fault of the device does not."""
        self._check_waiting("waiting for the stream")
        self._catch_up()
        self._wait()
        self.device.flush()

    def put_in(self) -> None:
        """Wait until the work that is deferred now is submitted; work that other threads defer
        meanwhile is not waited for."""
        for queue in self.context.busy():
            queue.fence()()

    def settle(self) -> None:
        """Wait for the submitted work, not for deferred work."""
        self._wait()
        self.device.flush()

    def query(self) -> bool:
        """Whether all work is done."""
        self._check_waiting("asking whether the work is done")
        self.context.enter()
        if self._is_behind() if self.is_default else self.deferred.pending:
            return False
        return self._passed()

    # --- graphs ---

    @property
    def capturing(self) -> bool:
        """Whether work is recorded, not run."""
        return self._recorded is not None

    def begin_capture(self) -> None:
        """Keep the work from now on for a graph; it does not run."""
        if self.is_default:
            fail(NOT_CAPTURED, "the default stream", "capture a stream of cuda.stream()")
        if self._recorded is not None:
            fail(ILLEGAL_STATE, "the stream is captured already", "end that capture first")
        self._recorded = []

    def end_capture(self) -> ReplayedGraph:
        """The work since then."""
        if self._recorded is None:
            fail(ILLEGAL_STATE, "no capture began on this stream")
        recorded, self._recorded = self._recorded, None
        return ReplayedGraph(self.device, tuple(recorded))

    def replay(self, name: str, args: tuple[Any, ...]) -> None:
        """Append a piece of recorded work."""
        if name == "submit":
            self.submit(*args)
        else:
            self._do(name, *args)

    # --- details ---

    def _do(self, name: str, *args: Any) -> None:
        """Give work to the device now where that is possible, else later."""
        self.context.enter()
        if self._recorded is not None:
            self._recorded.append((name, args))
        elif self.context.deferred_queues and self._is_behind():
            self._defer(partial(getattr(self, name), *args))
        else:
            getattr(self, name)(*args)

    def _is_behind(self) -> bool:
        """Whether something that comes first is not given to the device yet."""
        if self.is_default:
            return bool(self.context.busy())
        return bool(self.deferred.pending or self.device.default_stream.deferred.pending)

    def _defer(self, work: Callable[[], object]) -> None:
        """Do something when all is given to the device that comes before it."""
        default = self.device.default_stream.deferred
        first = self.context.busy() if self.is_default else (default,)
        for other in first:
            if other is not self.deferred and other.pending:
                self.deferred.put(other.fence())
        self.deferred.put(work)

    def put_behind(self, ready: Callable[[], object], work: Callable[[], object]) -> None:
        """Do something when ``ready`` returns; for events."""
        self._defer(ready)
        self.deferred.put(work)

    def do(self, work: Callable[[], object]) -> None:
        """Do something in order, now where that is possible."""
        self.context.enter()
        if self.context.deferred_queues and self._is_behind():
            self._defer(work)
        else:
            work()

    def _catch_up(self) -> None:
        """Wait until all is given to the device that comes before what follows."""
        self.context.enter()
        if self.context.deferred_queues:
            every = self.context.busy() if self.is_default else (self.deferred,)
            for queue in (*every, self.device.default_stream.deferred):
                queue.wait()

    def _check_waiting(self, what: str) -> None:
        """Refuse what needs the work done, while it is recorded only."""
        if self._recorded is not None:
            fail(NOT_CAPTURED, what)
