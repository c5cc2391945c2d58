"""Streams and events with numba.cuda's interface: the device's own, with numba's methods."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from gridlane.core.process_bound import ProcessBound
from gridlane.cuda.host.graphs import Graph
from gridlane.cuda.host.native_streams import NativeStream, native_stream, number_of
from gridlane.launch import current
from gridlane.runtime import protocol

if TYPE_CHECKING:
    import asyncio


class AnyStream(NativeStream):
    """A stream of the device with the methods of numba's streams. ``native`` is the device's
    own."""

    external = False

    @property
    def handle(self) -> int:
        """CUDA's number of the stream."""
        return self.native.handle

    @property
    def inline(self) -> bool:
        """Whether work runs on the caller and is done on return."""
        return self.native.inline

    def submit(self, work: Callable[[], object], always: bool = False) -> None:
        """Call a host function after the work so far."""
        self.native.submit(work, always)

    def synchronize(self) -> None:
        """Wait for the work so far; raise the first error of it."""
        self.native.synchronize()

    def query(self) -> bool:
        """Whether all work is done."""
        return self.native.query()

    def begin_capture(self) -> None:
        """Record later work in a graph; it does not execute. See ``cuda.capture``."""
        native = self.native
        native.begin_capture()
        current.note_capture()

    def end_capture(self) -> Graph:
        """End the recording and return it as a graph."""
        try:
            return Graph(self.native.end_capture())
        finally:
            current.note_capture()

    def __int__(self) -> int:
        return self.handle

    __index__ = __int__

    def __cuda_stream__(self) -> tuple[int, int]:
        """CUDA's stream protocol: (version, handle)."""
        return 0, self.handle

    @contextmanager
    def auto_synchronize(self) -> Generator[Any]:
        """Wait for the stream's work at the end of a with block."""
        yield self
        self.synchronize()

    def add_callback(self, callback: Callable[..., object], arg: Any = None) -> None:
        """Call ``callback(stream, status, arg)`` when the work so far is done; status is 0."""
        self.submit(lambda: callback(self, 0, arg), always=True)

    def async_done(self) -> asyncio.Future[Any]:
        """An awaitable for the end of the work so far; its result is this stream."""
        import asyncio  # here, since few programs await and it is slow to load

        loop = asyncio.get_running_loop()
        future = loop.create_future()

        def resolve() -> None:
            if not future.done():
                future.set_result(self)

        def notify() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(resolve)

        self.submit(notify, always=True)
        return future


class Stream(AnyStream, weakref.ref[Any]):
    """An ordered queue of work besides the default stream; created by ``cuda.stream()``.

    Two of them are equal if they are the same stream of the device. Equality and hash are
    weakref.ref's, of the device's stream: each launch looks its stream up in a table, and a method
    in Python would cost more than the rest of the lookup.
    """

    def __new__(cls, native: protocol.Stream | None = None) -> Self:
        """Create a stream, or another object for an existing one."""
        if native is None:
            native = current.device().new_stream()
        result = super().__new__(cls, native)
        result.native = native
        return result

    def __init__(self, native: protocol.Stream | None = None) -> None:
        """Do nothing: ``__new__`` does all work, and weakref.ref would want its argument here."""

    def __repr__(self) -> str:
        return f"<CUDA stream {self.handle} on {self.native.device.name}>"


class ExternalStream(AnyStream):
    """A stream by its number, of any owner. A number without a stream can be named, not used."""

    external = True

    def __init__(self, handle: int) -> None:
        self._handle = handle

    @property
    def handle(self) -> int:
        """CUDA's number of the stream."""
        return self._handle

    @property
    def native(self) -> protocol.Stream:  # type: ignore[override]  # looked up when used
        """The device's stream; DeviceError INVALID_HANDLE when there is none."""
        return current.device().stream_at(self._handle)

    def __repr__(self) -> str:
        return f"<External CUDA stream {self.handle} on {current.device().name}>"


class DefaultStream(AnyStream):
    """The default stream, under one of CUDA's three numbers for it."""

    def __init__(self, handle: int, title: str) -> None:
        self._handle = handle
        self.title = title

    @property
    def handle(self) -> int:
        """0, 1 or 2."""
        return self._handle

    @property
    def native(self) -> protocol.Stream:  # type: ignore[override]  # of this thread's device
        """The device's stream."""
        return current.device().stream_at(self._handle)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return as_stream, (self._handle,)  # it is the same in every process

    def __repr__(self) -> str:
        return f"<{self.title} CUDA stream on {current.device().name}>"


class Event(ProcessBound):
    """A point in a stream; created by ``cuda.event()``. Times are of the device's clock if it has
    one."""

    _instead = "make one with cuda.event() where it is used"

    def __init__(self, timing: bool = True) -> None:
        device = current.device()
        self.native, self._on = device.new_event(timing), device.name

    @property
    def handle(self) -> int:
        """CUDA's number of the event."""
        return self.native.handle

    def __repr__(self) -> str:
        times = "" if self.native.timing else ", without times"
        return f"<CUDA event {self.handle} on {self._on}{times}>"

    def record(self, stream: Any = 0) -> None:
        """Record the event after the work that is in ``stream`` now."""
        self.native.record(native_stream(stream))

    def query(self) -> bool:
        """Whether the recorded work is done; True for an event that was never recorded."""
        return self.native.query()

    def synchronize(self) -> None:
        """Wait until the stream has passed the event."""
        self.native.synchronize()

    def wait(self, stream: Any = 0) -> None:
        """Make the later work of ``stream`` wait for this event."""
        self.native.wait(native_stream(stream))

    def elapsed_ms(self, event_end: Event) -> float:
        """Milliseconds from this event to ``event_end``."""
        return self._timed().elapsed_ms(event_end._timed())

    elapsed_time = elapsed_ms

    def _timed(self) -> protocol.Event:
        """The device's event, for its time."""
        return self.native


_default = DefaultStream(0, "Default")
_legacy = DefaultStream(1, "Legacy default")
_per_thread = DefaultStream(2, "Per-thread default")
_BY_NUMBER = {0: _default, 1: _legacy, 2: _per_thread}


def as_stream(stream: Any) -> Any:
    """Convert any stream that numba accepts: a stream, 0 or None, or a stream's number."""
    if isinstance(stream, AnyStream):
        return stream
    return external_stream(number_of(stream))


def stream() -> Stream:
    """Create a stream. Its work runs in order, concurrently with that of other streams."""
    return Stream()


def default_stream() -> DefaultStream:
    """The default stream: its work waits for all others, and runs on the caller."""
    return _default


def legacy_default_stream() -> DefaultStream:
    """The default stream, by CUDA's number 1."""
    return _legacy


def per_thread_default_stream() -> DefaultStream:
    """CUDA's number 2: the default stream of the calling thread, if the device has one."""
    return _per_thread


def external_stream(ptr: int) -> AnyStream:
    """The stream whose ``handle`` is ``ptr``; without one, its use is an INVALID_HANDLE."""
    number = int(ptr)
    return _BY_NUMBER.get(number) or ExternalStream(number)


def comes_after(later: Any, earlier: Any) -> bool:
    """Whether work submitted to ``later`` now is ordered after that of ``earlier`` so far, without
    a wait: they are one stream, or ``earlier`` is the default one, by either of its two numbers."""
    first, second = earlier.handle, later.handle
    if first in (0, 1):
        return second in (0, 1) or not getattr(later.native, "apart", False)
    return first == second


def event(timing: bool = True) -> Event:
    """Create an event; ``timing=False`` for one that only orders work."""
    return Event(timing)


def event_elapsed_time(evtstart: Event, evtend: Event) -> float:
    """Milliseconds from one recorded event to another."""
    return evtstart.elapsed_ms(evtend)


def synchronize() -> None:
    """Wait for the work of all streams; raise the first error among it."""
    current.device().synchronize()
