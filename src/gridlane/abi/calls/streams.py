"""Streams."""

from __future__ import annotations

import ctypes

from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import INVALID_HANDLE, INVALID_VALUE, NOT_READY, fail
from gridlane.abi.state import captures, contexts, streams
from gridlane.abi.state.streams import PER_THREAD
from gridlane.abi.state.work import Wait
from gridlane.core.errors import GridlaneError

_NON_BLOCKING = _EXTERNAL = 1
LEAST, GREATEST = 0, -5
"""The priorities of streams, as NVIDIA's devices have them. Devices here do not use them."""


@implements("cuStreamCreateWithPriority")
def create_with_priority(flags: int, priority: int) -> int:
    """Create a stream with a priority, which is kept within the known ones."""
    if flags & ~_NON_BLOCKING:
        fail(INVALID_VALUE, f"a stream with the flags {flags:#x}")
    within = max(GREATEST, min(LEAST, priority))
    return streams.new_stream(contexts.current(), flags, within).handle


@implements("cuStreamDestroy_v2")
def destroy(handle: int) -> None:
    """End a stream. The work that is in it is still done."""
    if handle <= PER_THREAD:
        fail(INVALID_HANDLE, "a default stream cannot be destroyed")
    streams.forget(streams.stream(handle))


@implements("cuStreamQuery")
def query(handle: int) -> None:
    """Fail with NOT_READY while a stream has work."""
    stream = streams.stream(handle)
    try:
        done = stream.native.query()
    except GridlaneError as error:
        raise streams.faulted(stream.context, error) from None
    if not done:
        fail(NOT_READY, "the stream has work")
    streams.wait(stream)


@implements("cuStreamWaitEvent")
def wait_event(handle: int, event: int, flags: int) -> None:
    """Order later work of a stream behind an event."""
    if flags & ~_EXTERNAL:
        fail(INVALID_VALUE, f"waiting with the flags {flags}")
    event_object, stream = streams.event(event), streams.stream(handle)
    if flags:
        stream.submit(Wait(event_object))
    else:
        captures.wait(stream, event_object)


_stream_callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)


@implements("cuStreamAddCallback")
def add_callback(handle: int, function: int, data: int, flags: int) -> None:
    """Call a function of the host after the work so far, with the stream and the number of the
    error that this work met."""
    if not function or flags:
        fail(INVALID_VALUE, f"a callback at {function:#x} with the flags {flags}")
    stream, call = streams.stream(handle), _stream_callback(function)
    stream.native.submit(lambda: call(handle, streams.status(stream), data), always=True)


@implements("cuStreamAttachMemAsync")
def attach(handle: int, address: int, size: int, flags: int) -> None:
    """Note which stream uses managed memory: all may, here."""
    if flags not in (1, 2, 4):
        fail(INVALID_VALUE, f"attaching with the flags {flags}")
    _ = streams.stream(handle).native  # which refuses for a captured stream
