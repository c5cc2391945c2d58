"""Events."""

from __future__ import annotations

from gridlane.abi.calls.processes import can_share
from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import INVALID_HANDLE, INVALID_VALUE, NOT_READY, NOT_SUPPORTED, fail
from gridlane.abi.state import captures, contexts, memory, streams
from gridlane.abi.state.work import Record
from gridlane.core.errors import GridlaneError
from gridlane.runtime.host_device import HostDevice
from gridlane.runtime.queues.shared_event import SIZE, SharedEvent

_BLOCKING, _NO_TIMING, _INTERPROCESS = 1, 2, 4


@implements("cuEventCreate")
def create(flags: int) -> int:
    """Create an event."""
    if flags & ~(_BLOCKING | _NO_TIMING | _INTERPROCESS):
        fail(INVALID_VALUE, f"an event with the flags {flags:#x}")
    context = contexts.current()
    if flags & _INTERPROCESS:
        if not flags & _NO_TIMING:
            fail(INVALID_VALUE, "an event of several processes tells no time")
        if not isinstance(context.device, HostDevice) or not can_share(context.device):
            fail(NOT_SUPPORTED, f"events of {context.device.name} are of one process")
        buffer = context.device.allocate(SIZE)
        memory.hidden.add(buffer)
        return streams.existing_event(context, flags, SharedEvent(buffer, True)).handle
    return streams.new_event(context, flags, not flags & _NO_TIMING).handle


@implements("cuEventRecordWithFlags")
def record_with_flags(handle: int, stream: int, flags: int) -> None:
    """Record an event after the work that is in a stream."""
    if flags & ~1:
        fail(INVALID_VALUE, f"recording with the flags {flags}")
    event, target = streams.event(handle), streams.stream(stream)
    if event.context is not target.context:
        fail(INVALID_HANDLE, "the event and the stream are of two contexts")
    if flags and target.capture is not None:
        target.submit(Record(event))
    else:
        captures.record(target, event)


@implements("cuEventQuery")
def query(handle: int) -> None:
    """Fail with NOT_READY until the recorded work is done."""
    event = streams.event(handle)
    if not event.native.query():
        fail(NOT_READY, "the event has not happened")
    event.context.check()


@implements("cuEventSynchronize")
def synchronize(handle: int) -> None:
    """Wait until the recorded work is done."""
    event = streams.event(handle)
    try:
        event.native.synchronize()
    except GridlaneError as error:
        raise streams.faulted(event.context, error) from None
    contexts.waited(event.context.check().device)


@implements("cuEventElapsedTime_v2", "cuEventElapsedTime")
def elapsed(start: int, end: int) -> float:
    """Milliseconds from one event to another."""
    first, last = streams.event(start), streams.event(end)
    begin, until = first.native, last.native
    if (first.flags | last.flags) & _NO_TIMING or not (first.recorded and last.recorded):
        fail(INVALID_HANDLE, "both events have to be recorded, and be made to tell the time")
    return begin.elapsed_ms(until)
