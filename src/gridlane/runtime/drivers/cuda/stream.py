"""Streams and events of the CUDA driver."""

from __future__ import annotations

import itertools
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from gridlane.core.device_errors import (
    INVALID_HANDLE,
    NOT_READY,
    described,
    fail,
)
from gridlane.runtime.drivers.cuda.api import (
    HOST_FUNCTION,
    answer,
    bindings,
    host_launcher,
    ordering,
    relaxed,
    waiting,
)
from gridlane.runtime.drivers.cuda.context import Context
from gridlane.runtime.drivers.cuda.graph import (
    Capture,
    CudaGraph,
    begin_capture,
    check_pinned,
    end_capture,
)
from gridlane.runtime.drivers.cuda.kernel import CudaBound, CudaKernel
from gridlane.runtime.drivers.cuda.memory import Pool, host_address
from gridlane.runtime.queues.callbacks import callback
from gridlane.runtime.queues.event import check_timed
from gridlane.runtime.queues.graph import check_waiting, refuse_default

NON_BLOCKING = 1

_callbacks: dict[int, tuple[Callable[[], object], bool]] = {}
"""Host functions by the number that the driver passes, and whether they are called only once. Those
that are have ended when they are not here."""
_numbers = itertools.count(1)


@HOST_FUNCTION
def _host_function(number: int) -> None:
    """Call a host function, on a thread of the driver."""
    with callback():
        work, once = _callbacks[number]
        work()
        if once:
            del _callbacks[number]
        del work  # it may own device memory, which must not be freed after this block


class Device(Protocol):
    """The device interface that a stream uses."""

    name: str
    context: Context
    pool: Pool

    @property
    def default_stream(self) -> CudaStream:
        """The stream of allocations."""
        ...

    def flush(self) -> None:
        """Write the lines that kernels printed; called when work is done."""
        ...

    def check(self, kernel: CudaKernel | None = None) -> None:
        """Raise the first error that any kernel, or the given kernel, reported; called when work is
        done."""
        ...


class CudaStream:
    """A stream by its number: the default one, the caller's own, or another library's.

    Attributes:
        native: the CUstream.
    """

    inline = False

    def __init__(self, device: Device, handle: int, foreign: bool = False) -> None:
        self.device = device
        self.handle = handle
        self.context: Context = device.context
        self.native = bindings().CUstream(handle)
        self._error: BaseException | None = None
        # Work of other libraries' streams may not wait for the default stream, on which memory is
        # allocated and freed.
        self.apart = foreign and self._is_apart()
        self._seen = -1
        self.capture: Capture | None = None
        """The capture in progress that records the work, if any."""
        self._held: deque[tuple[CudaEvent, object]] = deque()

    def _is_apart(self) -> bool:
        if int(self.context.call("cuStreamIsCapturing", self.native)):
            return True  # the driver does not tell its flags, and torch's captured streams are
        return bool(int(self.context.call("cuStreamGetFlags", self.native)) & NON_BLOCKING)

    # --- work ---

    def launch(
        self,
        kernel: CudaBound,
        params: bytes,
        gx: int,
        gy: int,
        gz: int,
        shared: int,
        keep: object = None,
    ) -> None:
        """Append a launch. A launch that can raise is waited for on the default stream, as on every
        other device."""
        if not kernel.raises() or self.handle not in (0, 1, 2):
            self._launch(kernel, params, gx, gy, gz, shared, keep)
            return
        with self.context.reading:  # a kernel has one report: no other thread reads this launch's
            self._launch(kernel, params, gx, gy, gz, shared, keep)
            self.drain()
            self.device.check(kernel.kernel)

    def _launch(
        self,
        kernel: CudaBound,
        params: bytes,
        gx: int,
        gy: int,
        gz: int,
        shared: int,
        keep: object,
    ) -> None:
        self.catch_up()
        if self.capture is not None:
            self.capture.add_kernel(kernel)
        kernel.launch_on(self.handle, params, gx, gy, gz, shared)
        self.hold((kernel, keep))

    def upload(self, target: int, source: memoryview, keep: object = None) -> None:
        """Append a copy to the device."""
        self.catch_up()
        address = host_address(source)
        if self.capture is not None:
            check_pinned(self.context, address)
        self._call("cuMemcpyHtoDAsync", _device(target), address, source.nbytes, self.native)
        self.hold((source, keep))

    def download(self, target: memoryview, source: int, keep: object = None) -> None:
        """Append a copy to the host."""
        self.catch_up()
        address = host_address(target)
        if self.capture is not None:
            check_pinned(self.context, address)
        self._call("cuMemcpyDtoHAsync", address, _device(source), target.nbytes, self.native)
        self.hold((target, keep))

    def copy(self, target: int, source: int, size: int, keep: object = None) -> None:
        """Append a copy within the device, or between devices."""
        self.catch_up()
        self._call("cuMemcpyAsync", _device(target), _device(source), size, self.native)
        self.hold(keep)

    def copy_from(
        self, peer: Device, target: int, source: int, size: int, keep: object = None
    ) -> None:
        """Append a copy from another GPU's memory to this one's, even if kernels cannot access
        it."""
        self.check_default()
        self.catch_up()
        ends = _device(target), self.context.handle, _device(source), peer.context.handle
        self._call("cuMemcpyPeerAsync", *ends, size, self.native)
        self.hold(keep)

    def fill(self, target: int, byte: int, size: int, keep: object = None) -> None:
        """Append setting bytes."""
        self.catch_up()
        self._call("cuMemsetD8Async", _device(target), byte, size, self.native)
        self.hold(keep)

    def write(self, target: int, source: memoryview) -> None:
        """Copy to the device; the source may change on return."""
        self._check_waiting("a copy from memory that is not pinned")
        if _callbacks:
            # The driver reads pageable memory at once, and a host function in front, of this stream
            # or of one that it waits for, may be writing it.
            self._wait()
        self.upload(target, source)
        self._wait()

    def read(self, target: memoryview, source: int) -> None:
        """Copy to the host; finished on return."""
        self._check_waiting("a copy that the host waits for")
        self.download(target, source)
        self._wait()
        self.device.flush()

    def submit(self, work: Callable[[], object], always: bool = False) -> None:
        """Append a host function. It runs on a thread of the driver and must not use the device;
        ``synchronize`` raises its exception."""
        self.check_default()
        number = next(_numbers)

        def run() -> None:
            try:
                work()
            except BaseException as error:
                self._error = self._error or error

        _callbacks[number] = run, self.capture is None
        if self.capture is not None:
            self.capture.add_callback(_callbacks, number)
        self.context.enter()
        code = host_launcher()(self.handle, _host_function, number)
        if code:
            _callbacks.pop(number, None)
            raise self.context.explained(described(code, "cuLaunchHostFunc"))

    # --- waiting ---

    @property
    def failure(self) -> BaseException | None:
        """The error of a host function; a kernel's is known when a caller waits for it."""
        return self._error

    def synchronize(self) -> None:
        """Wait; raise the error of a kernel or host function of the work."""
        self.drain()
        if not self.context.silent:
            self.device.check()
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def drain(self) -> None:
        """Wait; a kernel's error stays for ``synchronize``, a fault of the device is raised."""
        self._check_waiting("waiting for the stream")
        self._wait()
        self._held.clear()
        if not self.context.silent:
            self.device.flush()

    def query(self) -> bool:
        """Whether all work is done."""
        self._check_waiting("asking whether the work is done")
        return _is_done(self.context, "cuStreamQuery", self.native)

    # --- graphs ---

    @property
    def capturing(self) -> bool:
        """Whether work is recorded, not executed."""
        return self.capture is not None

    def begin_capture(self) -> None:
        """Record later work; it does not execute."""
        self.catch_up()
        self.capture = begin_capture(self)

    def end_capture(self) -> CudaGraph:
        """End the recording and return it as a graph."""
        return end_capture(self)

    # --- details ---

    def _wait(self) -> None:
        """Wait for the stream. Hot."""
        self.context.enter()
        code = waiting()[0](self.handle)
        if code:
            raise self.context.explained(described(code, "cuStreamSynchronize"))

    def _check_waiting(self, what: str) -> None:
        """Refuse a wait for the work while it is only recorded."""
        check_waiting(self.capturing, what)

    def check_default(self) -> None:
        """Refuse work of the default stream while a stream is captured that it waits for, as the
        driver does on every thread; and while this thread captures any: no graph would have it."""
        if self.handle in (0, 1) and any(each.stops_default for each in self.context.captures):
            refuse_default()

    def _call(self, name: str, *args: Any) -> Any:
        return self.context.call(name, *args)

    def catch_up(self) -> None:
        """Make a stream that does not wait for the default one wait for the allocations so far.
        Captured work does so when its graph is launched."""
        self.check_default()
        if self.capture is not None:
            return
        if self.apart and self._seen != self.device.pool.epoch:
            self._seen = self.device.pool.epoch
            event = CudaEvent(self.context, timing=False)
            event.record(self.device.default_stream)
            event.wait(self)

    def hold(self, keep: object) -> None:
        """Keep an object alive until the work so far is done. Streams that wait for the default one
        need not: their memory is freed after their work."""
        if self.capture is not None:
            self.capture.keep.append(keep)
            return
        while self._held and self._held[0][0].query():
            self._held.popleft()
        if keep is not None and self.apart:
            event = CudaEvent(self.context, timing=False)
            event.record(self)
            self._held.append((event, keep))


def own_stream(device: Device, non_blocking: bool = False, priority: int = 0) -> CudaStream:
    """A new stream, destroyed with its object."""
    context = device.context
    flags = NON_BLOCKING if non_blocking else 0
    with relaxed():  # another library may capture
        native = context.call("cuStreamCreateWithPriority", flags, priority)
    stream = CudaStream(device, int(native), foreign=non_blocking)
    destroy = "cuStreamDestroy", native
    weakref.finalize(stream, context.give_back, context.generation, destroy).atexit = False
    return stream


class CudaEvent:
    """A point in a stream; timed by the device."""

    def __init__(self, context: Context, timing: bool = True) -> None:
        self.context = context
        self.timing = timing
        self.recorded = False
        self.capture: Capture | None = None
        """The capture that recorded it last."""
        self.native = context.call("cuEventCreate", 0 if timing else 2)
        destroy = "cuEventDestroy", self.native
        weakref.finalize(self, context.give_back, context.generation, destroy).atexit = False

    @property
    def handle(self) -> int:
        """The CUevent."""
        return int(self.native)

    def record(self, stream: CudaStream) -> None:
        """Record the event after the work that is in the stream now."""
        _check_kind(stream)
        stream.check_default()
        self.context.call("cuEventRecord", self.native, stream.native)
        self.recorded = True
        self.capture = stream.capture

    def query(self) -> bool:
        """Whether the stream has passed it."""
        return _is_done(self.context, "cuEventQuery", self.native)

    def synchronize(self) -> None:
        """Wait until the stream has passed it."""
        self.context.call("cuEventSynchronize", self.native)

    def wait(self, stream: CudaStream) -> None:
        """Order the later work of a stream behind it."""
        _check_kind(stream)
        stream.check_default()
        if self.capture is not None and not self.capture.is_own and stream.capture is None:
            self.capture.join(stream)
        stream.context.call("cuStreamWaitEvent", stream.native, self.native, 0)
        if self.capture is not None and stream.capture is None:
            self.capture.join(stream)  # as the driver does

    def order(self, before: CudaStream, after: CudaStream) -> None:
        """Order the later work of a stream behind the work of another one so far. Hot."""
        context, quick = self.context, ordering()
        if quick is None or context.captures or context.residents:
            self.record(before)
            self.wait(after)
            return
        record, wait = quick
        context.enter()
        event = self.handle
        code, name = record(event, before.handle), "cuEventRecord"
        if not code:
            self.recorded, self.capture = True, None
            code, name = wait(after.handle, event, 0), "cuStreamWaitEvent"
        if code:
            raise context.explained(described(code, name))

    def elapsed_ms(self, end: CudaEvent) -> float:
        """Milliseconds of the device's clock from this event to ``end``.

        Raises:
            DeviceError: INVALID_HANDLE if one was not recorded or has no timing, NOT_READY if one
                has not been passed.
        """
        if not isinstance(end, CudaEvent):  # pyright: ignore[reportUnnecessaryIsInstance]
            fail(INVALID_HANDLE, "the second event is another device's")
        check_timed(self, end)
        return float(self.context.call("cuEventElapsedTime", self.native, end.native))


def _check_kind(stream: CudaStream) -> None:
    """Refuse a stream of another kind of device; the driver distinguishes GPUs."""
    if not isinstance(stream, CudaStream):  # pyright: ignore[reportUnnecessaryIsInstance]
        fail(INVALID_HANDLE, "the stream is another device's than the event")


def _device(address: int) -> Any:
    return bindings().CUdeviceptr(address)


def _is_done(context: Context, query: str, native: Any) -> bool:
    """Interpret the result of cuStreamQuery or cuEventQuery."""
    context.enter()
    code = answer(query, native)[0]
    if code not in (0, NOT_READY):
        raise context.explained(described(code, query))
    return not code
