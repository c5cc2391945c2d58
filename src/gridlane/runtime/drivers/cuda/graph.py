"""CUDA graphs: work of streams that is recorded once and launched any number of times."""

from __future__ import annotations

import weakref
from threading import get_ident
from typing import Any, Protocol

from gridlane.core.device_errors import (
    INVALID_HANDLE,
    INVALID_VALUE,
    NOT_CAPTURED,
    fail,
    handled,
)
from gridlane.core.errors import DeviceError
from gridlane.runtime.drivers.cuda.api import bindings, enum
from gridlane.runtime.drivers.cuda.context import Context
from gridlane.runtime.drivers.cuda.kernel import CudaBound
from gridlane.runtime.queues.graph import check_begin, check_end, note_capture

_PAGE_LOCKED = 1
"""CU_MEMORYTYPE_HOST; the driver has no other type for host memory."""


class Stream(Protocol):
    """The stream interface that captures and graphs use.

    Attributes:
        native: the CUstream.
        capture: the capture in progress that records the work, if any.
    """

    context: Context
    handle: int
    native: Any
    capture: Capture | None
    device: Any
    apart: bool

    @property
    def capturing(self) -> bool:
        """Whether work is recorded, not executed."""
        ...

    def catch_up(self) -> None:
        """Order later work after the allocations that it depends on."""
        ...

    def hold(self, keep: object) -> None:
        """Keep an object alive until the work so far is done."""
        ...


class Capture:
    """A recording in progress.

    Attributes:
        keep: objects that the recorded work uses.
        kernels: the kernels that it launches.
        streams: the streams whose work is recorded, the one that began first.
        is_own: whether gridlane began it.
    """

    is_own = True

    def __init__(self, stream: Stream) -> None:
        self.keep: list[Any] = []
        self.kernels: list[CudaBound] = []
        self.streams = [stream]
        self._thread = get_ident()
        stream.context.own_captures.append(self)
        note_capture(stream)

    @property
    def stops_default(self) -> bool:
        """Whether this thread may not use the default stream: it began the capture, or the default
        stream waits for one that is captured."""
        return self._thread == get_ident() or not all(each.apart for each in self.streams)

    @property
    def goes_on(self) -> bool:
        """Whether it has not ended."""
        return self.streams[0].capture is self

    def end(self) -> None:
        """Stop recording every stream."""
        for stream in self.streams:
            stream.capture = None
        self.streams[0].context.own_captures.remove(self)

    def join(self, stream: Stream) -> None:
        """Record another stream's work as well."""
        stream.capture = self
        self.streams.append(stream)

    def add_kernel(self, kernel: CudaBound) -> None:
        """Note a launch.

        Raises:
            DeviceError: NOT_CAPTURED, the kernel can raise, so its launches must be waited for.
        """
        kernel.kernel.ready()
        if kernel.raises():
            fail(
                NOT_CAPTURED,
                f"the kernel {kernel.kernel.name} can raise, so its launches are waited for",
                "raise nothing in it, and compile it without debug=True",
            )
        self.kernels.append(kernel)

    def add_callback(self, table: dict[int, Any], number: int) -> None:
        """Keep a host function in its table for the lifetime of the recorded work."""
        holder = _Holder()
        weakref.finalize(holder, table.pop, number, None).atexit = False
        self.keep.append(holder)


class _Holder:
    """A token whose lifetime is that of the recorded work."""

    __slots__ = ("__weakref__",)


def begin_capture(stream: Stream) -> Capture:
    """Record a stream's work with the driver.

    Raises:
        DeviceError: NOT_CAPTURED for a default stream; ILLEGAL_STATE if it is recorded already.
    """
    context = stream.context
    check_begin(stream.handle in (0, 1, 2), stream.capture is not None)
    # Relaxed: kernels may be loaded. Context and Stream refuse calls that would end the capture.
    mode = enum("CUstreamCaptureMode", "CU_STREAM_CAPTURE_MODE_RELAXED")
    context.call("cuStreamBeginCapture", stream.native, mode)
    context.expire()  # prepared launches keep nothing alive
    return Capture(stream)


def end_capture(stream: Stream) -> CudaGraph:
    """End a stream's recording, with that of the streams that joined, and return it as a graph.

    Raises:
        DeviceError: ILLEGAL_STATE, nothing is recorded; STREAM_CAPTURE_INVALIDATED and its like,
            the recording failed and is lost.
    """
    context, capture = stream.context, stream.capture
    check_end(capture is not None and capture.is_own and capture.streams[0] is stream)
    assert capture is not None  # checked above
    try:
        native = context.call("cuStreamEndCapture", stream.native)
    finally:
        capture.end()  # after the driver's end: deferred frees would break the capture
    return CudaGraph(context, native, capture)


class CudaGraph:
    """Recorded work."""

    def __init__(self, context: Context, native: Any, capture: Capture) -> None:
        self.context = context
        self.generation = context.generation
        self._native, self._capture = native, capture
        destroy = "cuGraphDestroy", native
        weakref.finalize(self, context.give_back, context.generation, destroy).atexit = False

    @property
    def size(self) -> int:
        """The number of launches, copies, fills and host functions in it."""
        return int(self.context.call("cuGraphGetNodes", self._native)[1])

    def instantiate(self) -> CudaExecutable:
        """Instantiate the work for launches; the result outlives the graph."""
        _check_generation(self)
        native = self.context.call("cuGraphInstantiate", self._native, 0)
        return CudaExecutable(self.context, native, self._capture)


class CudaExecutable:
    """Recorded work that can be launched."""

    def __init__(self, context: Context, native: Any, capture: Capture) -> None:
        self.context = context
        self.generation = context.generation
        self._native, self._capture = native, capture
        # A launch of it may still be in flight.
        destroy = ("cuCtxSynchronize",), ("cuGraphExecDestroy", native)
        weakref.finalize(self, context.give_back, context.generation, *destroy).atexit = False

    def launch(self, stream: Stream) -> None:
        """Append the work to a stream."""
        if not isinstance(getattr(stream, "context", None), Context):
            fail(INVALID_HANDLE, "the stream is another device's than the graph")
        _check_generation(self)
        stream.catch_up()
        for bound in self._capture.kernels:
            bound.kernel.flag[0] = 1
        self.context.call("cuGraphLaunch", self._native, stream.native)
        stream.hold(self)


def _check_generation(owner: CudaGraph | CudaExecutable) -> None:
    if owner.generation != owner.context.generation:
        fail(INVALID_HANDLE, "the graph went with the context that was lost", "capture it again")


def check_pinned(context: Context, address: int) -> None:
    """Refuse pageable host memory, which the driver would copy before the graph is launched."""
    kind = enum("CUpointer_attribute", "CU_POINTER_ATTRIBUTE_MEMORY_TYPE")
    try:
        flags = int(context.call("cuPointerGetAttribute", kind, bindings().CUdeviceptr(address)))
    except DeviceError as error:
        if error.number != INVALID_VALUE:
            raise
        handled(error)
        flags = 0
    if flags != _PAGE_LOCKED:
        fail(NOT_CAPTURED, "a copy of memory that is not pinned", "use cuda.pinned_array")
