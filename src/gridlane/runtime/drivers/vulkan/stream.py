"""Streams: ordered queues of work, recorded side by side; see recorder.py."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from gridlane.runtime.backlog import Backlog, host_function
from gridlane.runtime.drivers.vulkan import transfers
from gridlane.runtime.errors import ILLEGAL_STATE, NOT_CAPTURED, fail
from gridlane.runtime.replay import ReplayedGraph

if TYPE_CHECKING:
    from gridlane.runtime.drivers.vulkan.device import VulkanDevice
    from gridlane.runtime.drivers.vulkan.kernel import VulkanBound

_handles = itertools.count(0x1000)


class VulkanStream:
    """A stream. The default one comes after the work of all others, and they after its work.

    Attributes:
        epoch, point: see recorder.Queue.
    """

    inline = False

    def __init__(self, device: VulkanDevice, default: bool = False) -> None:
        self.device = device
        self.is_default = default
        self.handle = 0 if default else next(_handles)
        self.context, self.recorder = device.context, device.recorder
        self.epoch = self.point = 0
        self.backlog = Backlog(self.context)
        self._recorded: list[tuple[str, tuple[Any, ...]]] | None = None
        weakref.finalize(self, self.backlog.end).atexit = False

    # --- work: each either recorded now, or put off, or kept for a graph ---

    def launch(
        self,
        kernel: VulkanBound,
        params: bytes,
        gx: int,
        gy: int,
        gz: int,
        shared: int,
        keep: Any = None,
    ) -> None:
        """Append a launch. One that can raise is waited for on the default stream, as it is on
        every other device. Hot."""
        if self._recorded is not None or self.context.busy:
            self._do("_launch", kernel, params, gx, gy, gz, shared, keep)
        else:
            self._launch(kernel, params, gx, gy, gz, shared)
        if self.is_default and kernel.raises:
            self.synchronize()

    def _launch(
        self,
        kernel: VulkanBound,
        params: bytes,
        gx: int,
        gy: int,
        gz: int,
        shared: int,
        keep: Any = None,
    ) -> None:
        kernel.record(self, params, gx, gy, gz, shared)

    def upload(self, target: int, source: memoryview, keep: Any = None) -> None:
        """Append a copy to the device."""
        self._do("_upload", target, source, keep)

    def _upload(self, target: int, source: memoryview, keep: Any) -> None:
        transfers.upload(self, target, source, keep)

    def download(self, target: memoryview, source: int, keep: Any = None) -> None:
        """Append a copy to the host."""
        if self._recorded is None and not transfers.is_ours(self.device, target):
            self.context.enter()
            # The host has to do the last step.
            self._put_off(partial(transfers.read, self, target, source, keep))
            return
        self._do("_download", target, source, keep)

    def _download(self, target: memoryview, source: int, keep: Any) -> None:
        transfers.download(self, target, source, keep)

    def copy(self, target: int, source: int, size: int, keep: Any = None) -> None:
        """Append a copy within the device."""
        self._do("_copy", target, source, size, keep)

    def _copy(self, target: int, source: int, size: int, keep: Any) -> None:
        transfers.copy(self, target, source, size)

    def fill(self, target: int, byte: int, size: int, keep: Any = None) -> None:
        """Append setting bytes."""
        self._do("_fill", target, byte, size, keep)

    def _fill(self, target: int, byte: int, size: int, keep: Any) -> None:
        transfers.fill(self, target, byte, size)

    def submit(self, work: Callable[[], object], always: bool = False) -> None:
        """Append a host function. It runs on a thread of this stream, which must not use the
        device; what it raises surfaces at ``synchronize``."""
        self.context.enter()
        if self._recorded is not None:
            self._recorded.append(("submit", (work, always)))
        else:
            self._put_off(partial(self._call, work))

    def _call(self, work: Callable[[], object]) -> None:
        self.recorder.wait(self.recorder.mark(self)[0])
        with host_function():
            work()

    def write(self, target: int, source: memoryview) -> None:
        """Copy to the device, behind the work so far; the source may change on return."""
        self._check_waiting("a copy from memory that is not pinned")
        self._catch_up()
        transfers.write(self, target, source)

    def read(self, target: memoryview, source: int) -> None:
        """Copy to the host; finished on return. Raises where the device did not finish a kernel."""
        self._check_waiting("a copy that the host waits for")
        self._catch_up()
        transfers.read(self, target, source)
        self.device.flush()
        self.device.check(late=True)

    # --- waiting ---

    def synchronize(self) -> None:
        """Wait; raise what a kernel or host function of the work raised."""
        self.drain()
        self.device.check()
        self.raise_error()

    def raise_error(self) -> None:
        """Raise what a host function raised."""
        if self.backlog.error is not None:
            error, self.backlog.error = self.backlog.error, None
            raise error

    def drain(self) -> None:
        """Wait; what kernels raised stays for ``synchronize``, a fault of the device does not."""
        self._check_waiting("waiting for the stream")
        self._catch_up()
        self.recorder.wait(self.recorder.last if self.is_default else self.point)
        self.device.flush()

    def query(self) -> bool:
        """Whether all work is done."""
        self._check_waiting("asking whether the work is done")
        self.context.enter()
        if self.context.busy if self.is_default else self.backlog.pending:
            return False
        return self.recorder.passed(self.recorder.last if self.is_default else self.point)

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
        """Record work now where that is possible, else later."""
        self.context.enter()
        if self._recorded is not None:
            self._recorded.append((name, args))
        elif self.context.busy and self._is_behind():
            self._put_off(partial(getattr(self, name), *args))
        else:
            getattr(self, name)(*args)

    def _is_behind(self) -> bool:
        """Whether something that comes first cannot be recorded yet."""
        if self.is_default:
            return bool(self.context.busy)
        return bool(self.backlog.pending or self.device.default_stream.backlog.pending)

    def _put_off(self, work: Callable[[], object]) -> None:
        """Do something when all is recorded that comes before it."""
        default = self.device.default_stream.backlog
        first = tuple(self.context.busy) if self.is_default else (default,)
        for other in first:
            if other is not self.backlog and other.pending:
                self.backlog.put(other.fence())
        self.backlog.put(work)

    def put_behind(self, ready: Callable[[], object], work: Callable[[], object]) -> None:
        """Do something when ``ready`` returns; for events."""
        self._put_off(ready)
        self.backlog.put(work)

    def do(self, work: Callable[[], object]) -> None:
        """Do something in order, now where that is possible."""
        self.context.enter()
        if self.context.busy and self._is_behind():
            self._put_off(work)
        else:
            work()

    def _catch_up(self) -> None:
        """Wait until all is recorded that comes before what follows."""
        self.context.enter()
        if self.context.busy:
            every = tuple(self.context.busy) if self.is_default else (self.backlog,)
            for backlog in (*every, self.device.default_stream.backlog):
                backlog.wait()

    def _check_waiting(self, what: str) -> None:
        """Refuse what needs the work done, while it is recorded only."""
        if self._recorded is not None:
            fail(NOT_CAPTURED, what)
