"""Streams and events by their handles."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NoReturn, Protocol

from gridlane.abi.failure import INVALID_CONTEXT, fail, failure_of
from gridlane.abi.state import contexts
from gridlane.abi.state.contexts import Context
from gridlane.abi.state.handles import Handles
from gridlane.core import epochs
from gridlane.core.cuda_table import enums
from gridlane.core.errors import GridlaneError
from gridlane.core.forks import hold_at_forks
from gridlane.runtime import protocol
from gridlane.runtime.host_device import HostDevice
from gridlane.runtime.queues.host_event import HostEvent
from gridlane.runtime.queues.host_stream import OwnHostStream
from gridlane.runtime.queues.native_queues import ALWAYS, CAPTURED, native

NON_BLOCKING = enums()["CUstream_flags"].values["CU_STREAM_NON_BLOCKING"]
LEGACY, PER_THREAD = 1, 2
"""The handles of the two default streams; 0 is the legacy one as well, or that of a call."""


class Work(Protocol):
    """A piece of work: it can be appended to a stream any number of times.

    Attributes:
        kind: the number of CUgraphNodeType of a node with this work.
    """

    kind: ClassVar[int]

    def run(self, stream: Stream) -> None:
        """Append it to the device's queue of a stream."""
        ...


class Captured(Protocol):
    """The place of a stream in a capture."""

    def append(self, work: Work) -> None:
        """Make a node of work."""
        ...

    def refuse(self) -> NoReturn:
        """Invalidate the capture, and raise STREAM_CAPTURE_UNSUPPORTED."""
        ...

    def abandon(self) -> None:
        """Leave the capture, as the stream ends."""
        ...


class Mark(Protocol):
    """The place in a capture where an event was recorded."""

    def refuse(self) -> NoReturn:
        """Invalidate the capture, and raise CAPTURED_EVENT."""
        ...


@dataclass(slots=True, eq=False)
class Stream:
    """A stream of a context.

    Attributes:
        queue: of the device, for work that executes.
        waiting: the CUsynchronizationPolicy that the program set.
        capture: its place in the capture that it takes part in.
    """

    queue: protocol.Stream
    context: Context
    flags: int = 0
    priority: int = 0
    handle: int = 0
    number: int = 0
    waiting: int = 1
    capture: Captured | None = None

    def __post_init__(self) -> None:
        if isinstance(self.queue, OwnHostStream):
            self.queue.queue.owner = self.context
            self.queue.queue.apart = bool(self.flags & NON_BLOCKING)

    @property
    def native(self) -> protocol.Stream:
        """The device's queue, for what cannot be captured.

        Raises:
            Failure: STREAM_CAPTURE_UNSUPPORTED, the stream is captured.
        """
        if self.capture is not None:
            self.capture.refuse()
        return self.queue

    def submit(self, work: Work) -> None:
        """Append work: it is a node of the capture's graph if the stream is captured, and executes
        if not."""
        if self.capture is not None:
            self.capture.append(work)
        else:
            work.run(self)


adopting = threading.RLock()
"""Held to adopt what the C libraries made, and to drop what they ended."""


@dataclass(slots=True, eq=False)
class Event:
    """An event of a context. One of a host device is also C's (``library/hot_events.c``).

    Attributes:
        point: the device's event.
        mark: where it was recorded last, if that was in a capture.
    """

    point: protocol.Event
    context: Context
    flags: int = 0
    handle: int = 0
    mark: Mark | None = None

    @property
    def recorded(self) -> bool:
        """Whether it was recorded in work that executes."""
        return self.point.recorded

    def capture(self, mark: Mark) -> None:
        """Note that its last recording is in a capture."""
        self.mark = mark
        if isinstance(self.point, HostEvent):
            native.note_captured(self.point.address)

    @property
    def native(self) -> protocol.Event:
        """The device's event, for what needs work that executes.

        Raises:
            Failure: CAPTURED_EVENT, it was recorded in a capture.
        """
        if self.mark is not None:
            self.mark.refuse()
        return self.point

    def record(self, stream: Stream) -> None:
        """Record it after the work that executes in a stream."""
        self.point.record(stream.queue)
        self.mark = None


streams = Handles[Stream]("stream")
events = Handles[Event]("event")
_lock = hold_at_forks(threading.RLock())


def stream(handle: int) -> Stream:
    """A stream by its handle; the default ones are those of the current context.

    Raises:
        Failure: INVALID_HANDLE, there is none; the fault of its context.
    """
    if handle > PER_THREAD:
        stream_object = streams.get(handle)
        stream_object.context.check()
        return stream_object
    return default(contexts.current(), handle or _here.default)


def default(context: Context, handle: int = 0) -> Stream:
    """A default stream of a context."""
    if handle < 0:
        fail(INVALID_CONTEXT, f"no stream has the handle {handle}")
    if handle == PER_THREAD:
        own = _of_thread(context)
        if own.lease is None:
            own.lease = _Lease(_stream_of_thread(context))
        return own.lease.stream
    if context.captures:
        contexts.refuse_all(each.check_legacy for each in tuple(context.captures))
    stream_object = context.kept.get("legacy stream")
    if stream_object is None:
        native = context.device.stream_at(LEGACY)
        stream_object = context.kept["legacy stream"] = Stream(
            native, context, 0, 0, LEGACY, LEGACY
        )
    return stream_object


class _Here(threading.local):
    default = 0
    """The stream of calls that name none."""


_here = _Here()


def call_of_thread(call: Callable[..., int], *given: int) -> int:
    """Call a function for which the default stream is the thread's."""
    before, _here.default = _here.default, PER_THREAD
    try:
        return call(*given)
    finally:
        _here.default = before


class _Lease:
    """The default stream of a thread in a context, until either ends."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream

    def __del__(self) -> None:
        if streams.known(self.stream.handle) is self.stream:
            forget(self.stream)


class _OfThread(threading.local):
    lease: _Lease | None = None


def _of_thread(context: Context) -> _OfThread:
    own: _OfThread = context.kept.setdefault("stream of a thread", _OfThread())
    return own


def handle_of_thread(context: Context) -> int:
    """The handle of the default stream of this thread in a context; 0 if it has none."""
    lease = _of_thread(context).lease
    return 0 if lease is None else lease.stream.handle


def _stream_of_thread(context: Context) -> Stream:
    """The default stream of this thread: the device's, also for Python, in its primary context."""
    device = context.device
    if not context.is_primary and isinstance(device, HostDevice):
        native = device.new_stream()
    else:
        native = device.stream_at(PER_THREAD)
    if isinstance(native, OwnHostStream) and native.queue.owner is not None:
        with suppress(GridlaneError):  # the error of a context that has ended
            native.raise_error()
    result = _added(Stream(native, context, number=PER_THREAD))
    epochs.state.changed()  # C has it from now on
    return result


def new_stream(context: Context, flags: int, priority: int) -> Stream:
    """Create a stream, which ends with its context."""
    result = _added(Stream(context.device.new_stream(), context, flags, priority))
    result.number = result.handle
    return result


def _added(new: Stream) -> Stream:
    new.handle = streams.add(new)
    own(new)
    streams.show(new)
    return new


def new_event(context: Context, flags: int, timing: bool) -> Event:
    """Create an event, which ends with its context."""
    return existing_event(context, flags, context.device.new_event(timing))


def existing_event(context: Context, flags: int, point: protocol.Event) -> Event:
    """An event of a point that exists already."""
    result = Event(point, context, flags)
    result.handle = events.add(result)
    own(result)
    events.show(result)
    return result


def own(owned: Stream | Event) -> None:
    """Register a stream or event to end with its context."""
    _owned(owned.context, "streams" if isinstance(owned, Stream) else "events").add(owned.handle)


def event(handle: int) -> Event:
    """An event by its handle.

    Raises:
        Failure: INVALID_HANDLE, there is none; the fault of its context.
    """
    event_object = events.get(handle)
    event_object.context.check()
    return event_object


def forget(ending: Stream | Event) -> None:
    """End a stream or event. Work that is in a stream is still done, and its error is reported."""
    if isinstance(ending, Stream):
        if ending.capture is not None:
            ending.capture.abandon()
        streams.withdraw(ending.handle)
        if isinstance(ending.queue, OwnHostStream):
            _leave(ending.queue, ending.context)
        streams.remove(ending.handle)
        _owned(ending.context, "streams").discard(ending.handle)
    else:
        events.withdraw(ending.handle)
        events.remove(ending.handle)
        _owned(ending.context, "events").discard(ending.handle)


def _leave(own: OwnHostStream, context: Context) -> None:
    """Keep the queue of a stream that ends alive until its work is done."""
    queue = own.queue
    if sys.is_finalizing():  # no work is done any more
        return
    if queue.pending or queue.error is not None:
        queue.put((partial(_left, own, context), ALWAYS))


def _left(own: OwnHostStream, context: Context) -> None:
    """Do nothing, or keep a stream whose work failed, until the context ends: a wait for all work
    raises the error."""
    if own.failure is not None:
        context.kept.setdefault("streams that failed", []).append(own)


def note_captured(stream_object: Stream, is_captured: bool) -> None:
    """Stop appends by the C library to a stream, or allow them: a capture begins, or ends."""
    if isinstance(stream_object.queue, OwnHostStream):
        native.set(stream_object.queue.queue.address, CAPTURED, is_captured)


def _owned(context: Context, kind: str) -> set[int]:
    """The handles of a kind that end with a context."""
    with _lock:
        if kind not in context.kept:
            context.kept[kind] = set[int]()
            owned: set[int] = context.kept[kind]
            end = streams.discard if kind == "streams" else events.discard
            context.ends.append(lambda: [end(each) for each in tuple(owned)])
        return context.kept[kind]


def wait(stream_object: Stream) -> None:
    """Wait for the work of a stream.

    Raises:
        Failure: of the first kernel that failed, now and at each later call in the context; or why
            one cannot wait, as in a capture.
    """
    try:
        stream_object.native.synchronize()
    except GridlaneError as error:
        raise faulted(stream_object.context, error) from None
    contexts.waited(stream_object.context.device)


def status(stream_object: Stream) -> int:
    """The number of the error that the work of a stream, or its context, is known to have met."""
    if stream_object.context.failed is not None:
        return stream_object.context.failed.number
    error = stream_object.queue.failure
    return failure_of(error).number if isinstance(error, GridlaneError) else 0


def faulted(context: Context, error: GridlaneError) -> Exception:
    """The error to raise for one of the device's: a kernel's stays with its context."""
    return context.failed_by(error)
