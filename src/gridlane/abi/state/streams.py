"""Streams and events by their handles."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from gridlane.abi.failure import INVALID_CONTEXT, fail, failure_of
from gridlane.abi.state import contexts
from gridlane.abi.state.contexts import Context
from gridlane.abi.state.handles import Handles
from gridlane.core.errors import GridlaneError
from gridlane.runtime import protocol

LEGACY, PER_THREAD = 1, 2
"""The handles of the two default streams; 0 is the legacy one as well."""


@dataclass(slots=True, eq=False)
class Stream:
    """A stream of a context. ``waiting`` is the CUsynchronizationPolicy that the program set."""

    native: protocol.Stream
    context: Context
    flags: int = 0
    priority: int = 0
    handle: int = 0
    number: int = 0
    waiting: int = 1


@dataclass(slots=True, eq=False)
class Event:
    """An event of a context, and whether it was recorded."""

    native: protocol.Event
    context: Context
    flags: int = 0
    recorded: bool = False
    handle: int = 0


streams: Handles[Stream] = Handles("stream")
events: Handles[Event] = Handles("event")
_lock = threading.Lock()


def stream(handle: int) -> Stream:
    """A stream by its handle; the default ones are those of the current context.

    Raises:
        Failure: INVALID_HANDLE, there is none; the fault of its context.
    """
    if handle > PER_THREAD:
        found = streams.get(handle)
        found.context.check()
        return found
    return default(contexts.current(), handle)


def default(context: Context, handle: int = 0) -> Stream:
    """A default stream of a context."""
    if handle < 0:
        fail(INVALID_CONTEXT, f"no stream has the handle {handle}")
    kept = context.kept.setdefault("default streams", {})
    number = PER_THREAD if handle == PER_THREAD else LEGACY
    found = kept.get(number) if number == LEGACY else None
    if found is None:
        # A default stream of a thread is its own, so that one is looked up at each call.
        native = context.device.stream_at(number)
        found = kept[number] = Stream(native, context, 0, 0, number, number)
    return found


def new_stream(context: Context, flags: int, priority: int) -> Stream:
    """Create a stream, which ends with its context."""
    made = Stream(context.device.new_stream(), context, flags, priority)
    made.handle = made.number = streams.add(made)
    _owned(context, "streams").add(made.handle)
    return made


def new_event(context: Context, flags: int, timing: bool) -> Event:
    """Create an event, which ends with its context."""
    made = Event(context.device.new_event(timing), context, flags)
    made.handle = events.add(made)
    _owned(context, "events").add(made.handle)
    return made


def event(handle: int) -> Event:
    """An event by its handle.

    Raises:
        Failure: INVALID_HANDLE, there is none; the fault of its context.
    """
    found = events.get(handle)
    found.context.check()
    return found


def forget(found: Stream | Event) -> None:
    """End a stream or event. Work that is in a stream is still done."""
    if isinstance(found, Stream):
        streams.remove(found.handle)
        _owned(found.context, "streams").discard(found.handle)
    else:
        events.remove(found.handle)
        _owned(found.context, "events").discard(found.handle)


def _owned(context: Context, kind: str) -> set[int]:
    """The handles of a kind that end with a context."""
    with _lock:
        if kind not in context.kept:
            context.kept[kind] = set[int]()
            owned: set[int] = context.kept[kind]
            table = streams if kind == "streams" else events
            context.ends.append(lambda: [table.discard(each) for each in tuple(owned)])
        return context.kept[kind]


def wait(found: Stream) -> None:
    """Wait for the work of a stream.

    Raises:
        Failure: of the first kernel that failed, now and at each later call in the context; or why
            one cannot wait, as in a capture.
    """
    try:
        found.native.synchronize()
    except GridlaneError as error:
        raise faulted(found.context, error) from None
    contexts.waited(found.context.device)


def faulted(context: Context, error: GridlaneError) -> Exception:
    """The error to raise for one of the device's: a kernel's stays with its context."""
    failure = failure_of(error)
    return context.fault(failure) if failure.number in _STICKY else failure


_STICKY = frozenset({*range(700, 703), 710, 714, 715, 716, 717, 718, 719})
"""The numbers of failed kernels; see CUDA's documentation of each."""
