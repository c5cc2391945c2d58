"""Streams of devices that run on the host's threads: the default stream runs on the caller; others
have a thread each.

The default stream has CUDA's legacy meaning: its work waits for every other stream, and as it runs
on the caller, other streams' later work comes after it.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

from gridlane.core.device_errors import ILLEGAL_STATE, NOT_CAPTURED, NOT_PERMITTED, KernelStop, fail
from gridlane.core.endings import at_end
from gridlane.runtime.graph import RecordedGraph
from gridlane.runtime.protocol import BoundKernel, Device
from gridlane.runtime.stream_queue import (
    BUSY,
    Queue,
    Work,
    is_busy,
    own_queue,
    wait,
    wait_for_streams,
)

at_end(wait_for_streams)

_handles = itertools.count(0x1000)
_by_handle: weakref.WeakValueDictionary[int, Stream] = weakref.WeakValueDictionary()


def by_handle(handle: int) -> Stream | None:
    """The live stream of this number."""
    return _by_handle.get(handle)


def run_kernel(
    kernel: BoundKernel, params: bytes, gx: int, gy: int, gz: int, shared: int, keep: Any = None
) -> None:
    """Launch and, where the kernel stopped itself, raise what the user is to see."""
    try:
        kernel.launch(params, gx, gy, gz, shared)
    except KernelStop as error:
        raise (kernel.explain(error) if kernel.explain else error) from None


class _Copies:
    """Launches and copies as work of a stream, by the methods of its device."""

    device: Device
    capturing = False

    def begin_capture(self) -> None:
        """Record the work from now on; see protocol.Stream."""
        fail(NOT_CAPTURED, "the default stream", "capture a stream of cuda.stream()")

    def end_capture(self) -> RecordedGraph:
        """The recorded work."""
        fail(ILLEGAL_STATE, "no capture began on this stream")

    def submit(self, work: Work, always: bool = False) -> None:
        """Append work."""
        raise NotImplementedError

    def drain(self) -> None:
        """Wait for the work so far."""
        raise NotImplementedError

    def launch(
        self,
        kernel: BoundKernel,
        params: bytes,
        gx: int,
        gy: int,
        gz: int,
        shared: int,
        keep: Any = None,
    ) -> None:
        """Append a launch."""
        self.submit(partial(run_kernel, kernel, params, gx, gy, gz, shared, keep))

    def upload(self, target: int, source: memoryview, keep: Any = None) -> None:
        """Append a copy to the device."""
        self.submit(partial(_held, keep, self.device.upload, target, source))

    def download(self, target: memoryview, source: int, keep: Any = None) -> None:
        """Append a copy to the host."""
        self.submit(partial(_held, keep, self.device.download, target, source))

    def copy(self, target: int, source: int, size: int, keep: Any = None) -> None:
        """Append a copy within the device."""
        self.submit(partial(_held, keep, self.device.copy, target, source, size))

    def fill(self, target: int, byte: int, size: int, keep: Any = None) -> None:
        """Append setting bytes."""
        self.submit(partial(_held, keep, self.device.fill, target, byte, size))

    def write(self, target: int, source: memoryview) -> None:
        """Copy to the device, after the work so far."""
        self.drain()
        self.device.upload(target, source)

    def read(self, target: memoryview, source: int) -> None:
        """Copy to the host, after the work so far."""
        self.drain()
        self.device.download(target, source)


def _held(keep: Any, function: Callable[..., None], *args: Any) -> None:
    """Call a function; ``keep`` lives until then, as it is an argument."""
    function(*args)


class Stream(_Copies):
    """A queue of work with a daemon thread, started at the first use.

    An error of the work drops what follows it in the stream, up to the next ``synchronize``, which
    raises it.
    """

    inline = False

    def __init__(self, device: Device) -> None:
        self.device = device
        self.queue = Queue(device)  # pyright: ignore[reportArgumentType]  # it is a HostDevice
        self.handle = next(_handles)
        _by_handle[self.handle] = self
        self._recorded: list[tuple[Work, bool]] | None = None
        weakref.finalize(self, Queue.end, self.queue).atexit = False

    @property
    def capturing(self) -> bool:  # type: ignore[override]  # the default stream never is
        """Whether work is recorded, not run."""
        return self._recorded is not None

    def begin_capture(self) -> None:
        """Record the work from now on; it does not run."""
        if self._recorded is not None:
            fail(ILLEGAL_STATE, "the stream is captured already", "end that capture first")
        self._recorded = []

    def end_capture(self) -> RecordedGraph:
        """The recorded work."""
        if self._recorded is None:
            fail(ILLEGAL_STATE, "no capture began on this stream")
        recorded, self._recorded = self._recorded, None
        return RecordedGraph(self.device, tuple(recorded))

    def _check_waiting(self, what: str) -> None:
        """Refuse what needs the work done, while it is recorded only."""
        if self._recorded is not None:
            fail(NOT_CAPTURED, what)

    def submit(self, work: Work, always: bool = False) -> None:
        """Append work; ``always`` runs it after an error as well (events, waits, callbacks)."""
        if self._recorded is not None:
            self._recorded.append((work, always))
            return
        self.queue.put(work, always)

    def synchronize(self) -> None:
        """Wait for the work so far; raise the first error of it."""
        self._check_waiting("waiting for the stream")
        queue = self.queue
        if queue is own_queue():
            fail(NOT_PERMITTED, "a stream's callback cannot wait for its own stream")
        if not wait(queue):
            fail(NOT_PERMITTED, "a stream's callback cannot wait for a stream that waits for it")
        error, queue.error = queue.error, None
        if error is not None:
            raise error

    def drain(self) -> None:
        """Wait for the work so far, and leave an error for ``synchronize``."""
        self._check_waiting("waiting for the stream")
        if not wait(self.queue):
            fail(NOT_PERMITTED, "a stream's callback cannot wait for a stream that waits for it")

    def query(self) -> bool:
        """Whether all work is done."""
        self._check_waiting("asking whether the work is done")
        return not self.queue.pending


class DefaultStream(_Copies):
    """The stream whose work runs at once, on the caller."""

    inline = True
    handle = 0
    queue = None

    def __init__(self, device: Device) -> None:
        self.device = device

    def submit(self, work: Work, always: bool = False) -> None:
        """Run the work, after that of all other streams."""
        if BUSY:
            wait_for_streams()
        work()

    def synchronize(self) -> None:
        """Wait for all streams, as the legacy default stream does."""
        wait_for_streams()

    def drain(self) -> None:
        """As ``synchronize``: other streams keep their errors."""
        wait_for_streams()

    def query(self) -> bool:
        """Whether all work is done."""
        return not is_busy()


AnyStream = Stream | DefaultStream


def live_streams() -> list[Stream]:
    """Every stream that somebody holds."""
    return list(_by_handle.values())
