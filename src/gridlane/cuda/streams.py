"""Streams and events as numba.cuda shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gridlane.runtime import event as runtime_event
from gridlane.runtime import stream as runtime_stream
from gridlane.runtime.errors import INVALID_HANDLE, fail

if TYPE_CHECKING:
    import asyncio


class _Methods:
    """What numba's streams have beside submit, synchronize and query."""

    external = False
    handle: int
    submit: Callable[..., None]
    synchronize: Callable[[], None]

    def __int__(self) -> int:
        return self.handle

    __index__ = __int__

    @contextmanager
    def auto_synchronize(self) -> Iterator[Any]:
        """Wait for the stream's work at the end of a with block."""
        yield self
        self.synchronize()

    def add_callback(self, callback: Callable[..., object], arg: Any = None) -> None:
        """Call ``callback(stream, status, arg)`` when the work so far is done; status is 0."""
        self.submit(lambda: callback(self, 0, arg), always=True)

    def async_done(self) -> asyncio.Future[Any]:
        """An awaitable that is done, with this stream as result, when the work so far is."""
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


class Stream(_Methods, runtime_stream.Stream):
    """An ordered queue of work beside the default stream; made by ``cuda.stream()``."""

    def __repr__(self) -> str:
        return f"<CUDA stream {self.handle} on {_device_name()}>"


class ExternalStream(Stream):
    """A stream by its number: work goes to the stream that has it. One that nobody has can be
    named, not used."""

    external = True

    def __init__(self, handle: int) -> None:
        target = runtime_stream.by_handle(handle)
        self.handle = handle
        if target is not None:
            self._queue = target._queue
            self._target = target

    def __getattr__(self, name: str) -> Any:
        if name == "_queue":
            fail(INVALID_HANDLE, f"{self.handle:#x} is no stream of this device")
        raise AttributeError(name)


class DefaultStream(_Methods, runtime_stream.DefaultStream):
    """The default stream, under one of CUDA's three numbers for it."""

    def __init__(self, handle: int, title: str) -> None:
        self.handle = handle
        self.title = title

    def __repr__(self) -> str:
        return f"<{self.title} CUDA stream on {_device_name()}>"


class Event(runtime_event.Event):
    """A point in a stream; made by ``cuda.event()``."""

    def record(self, stream: Any = 0) -> None:
        """Record the event after the work that is in ``stream`` now."""
        super().record(as_stream(stream))

    def wait(self, stream: Any = 0) -> None:
        """Make the later work of ``stream`` wait for this event."""
        super().wait(as_stream(stream))

    def elapsed_time(self, event_end: Event) -> float:
        """Milliseconds from this event to ``event_end``."""
        return self.elapsed_ms(event_end)


def _device_name() -> str:
    from gridlane.cuda.active import device  # the device opens when a stream is shown, not before

    return device().name


_default = DefaultStream(0, "Default")
_legacy = DefaultStream(1, "Legacy default")
_per_thread = DefaultStream(2, "Per-thread default")
_BY_NUMBER = {0: _default, 1: _legacy, 2: _per_thread}


def as_stream(stream: Any) -> Any:
    """A stream from what numba takes for one: a stream, 0 or None, or a stream's number."""
    if isinstance(stream, (runtime_stream.Stream, runtime_stream.DefaultStream)):
        return stream
    if not stream:
        return _default
    if hasattr(stream, "__cuda_stream__"):
        _, handle = stream.__cuda_stream__()
        return external_stream(handle)
    if hasattr(stream, "__int__"):
        return external_stream(int(stream))
    raise TypeError(f"a stream is one of cuda.stream(), or 0; got {stream!r}")


def stream() -> Stream:
    """A new stream. Its work runs in order, and beside that of other streams."""
    return Stream()


def default_stream() -> DefaultStream:
    """The default stream: its work waits for all others, and runs on the caller."""
    return _default


def legacy_default_stream() -> DefaultStream:
    """The default stream, by CUDA's number 1."""
    return _legacy


def per_thread_default_stream() -> DefaultStream:
    """CUDA's number 2. Work of a thread runs on the thread, so this is the default stream."""
    return _per_thread


def external_stream(ptr: int) -> Any:
    """The stream whose ``handle`` is ``ptr``; where none is, using it is an INVALID_HANDLE."""
    number = int(ptr)
    return _BY_NUMBER.get(number) or ExternalStream(number)


def event(timing: bool = True) -> Event:
    """A new event; ``timing=False`` for one that only orders work."""
    return Event(timing)


def event_elapsed_time(evtstart: Event, evtend: Event) -> float:
    """Milliseconds from one recorded event to another."""
    return evtstart.elapsed_ms(evtend)


def synchronize() -> None:
    """Wait for the work of all streams; raise the first error among it."""
    runtime_stream.wait_for_streams()
    for each in runtime_stream.live_streams():
        each.synchronize()
