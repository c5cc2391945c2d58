"""Streams, events and functions of the host: those of the driver."""

from __future__ import annotations

from gridlane.abi.calls import events, streams
from gridlane.abi.calls.registry import implements

for _name, _call in (
    ("cudaDeviceGetStreamPriorityRange", streams.priority_range),
    ("cudaStreamCreateWithFlags", streams.create),
    ("cudaStreamCreateWithPriority", streams.create_with_priority),
    ("cudaStreamGetPriority", streams.get_priority),
    ("cudaStreamGetFlags", streams.get_flags),
    ("cudaStreamGetId", streams.get_id),
    ("cudaStreamGetDevice", streams.get_device),
    ("cudaStreamDestroy", streams.destroy),
    ("cudaStreamWaitEvent", streams.wait_event),
    ("cudaStreamAddCallback", streams.add_callback),
    ("cudaStreamSynchronize", streams.synchronize),
    ("cudaStreamQuery", streams.query),
    ("cudaStreamAttachMemAsync", streams.attach),
    ("cudaLaunchHostFunc", streams.host_function),
    ("cudaEventCreateWithFlags", events.create),
    ("cudaEventRecord", events.record),
    ("cudaEventRecordWithFlags", events.record_with_flags),
    ("cudaEventQuery", events.query),
    ("cudaEventSynchronize", events.synchronize),
    ("cudaEventDestroy", events.destroy),
    ("cudaEventElapsedTime", events.elapsed),
    ("cudaEventElapsedTime_v2", events.elapsed),
):
    implements(_name)(_call)


@implements("cudaStreamCreate")
def create_stream() -> int:
    """Create a stream."""
    return streams.create(0)


@implements("cudaEventCreate")
def create_event() -> int:
    """Create an event."""
    return events.create(0)
