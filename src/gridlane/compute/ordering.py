"""Calls with torch's tensors in the order of torch's current stream.

Kernels of loop nests, and of ``gridlane.algorithms``, run on the default stream. torch's other
streams do not wait for it, so a call waits for the current one, which then waits for the call.
While torch captures its current stream, as in ``torch.cuda.graph``, they are launched on it.
Programs of the tile library run on torch's current stream themselves.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from gridlane.core.frozen import frozen
from gridlane.launch import current
from gridlane.launch.fusion.redirecting import redirected, redirecting
from gridlane.runtime.protocol import Device
from gridlane.tiles.streams import handles_of, torchs_handles


@frozen
class SideStream:
    """A part of a call's key.

    Attributes:
        handle: the number of torch's current stream, which is not the default one.
    """

    handle: int


def side_stream(device: Device, args: Iterable[Any]) -> SideStream | None:
    """torch's current stream, if a tensor of torch's on a GPU is among arguments and the stream is
    not the default one; None on a stream of the caller's."""
    if redirecting():
        return None
    handles = handles_of(args, device)
    handle = handles() if handles is not None else 0
    return SideStream(handle) if handle else None


def side_stream_of_tensors(device: Device) -> SideStream | None:
    """The same where a tensor of torch's on the GPU is known to be among them. Hot."""
    if redirecting():
        return None
    torch = sys.modules["torch"]
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    ordinal = device.ordinal
    handle = torchs_handles(torch, ordinal)() if raw is None else raw(ordinal)
    return SideStream(handle) if handle else None


def in_order(args: Iterable[Any], is_ordered: bool = True) -> AbstractContextManager[None]:
    """The order of torch's current stream, for work of the default stream with arguments.

    Args:
        is_ordered: False for work that is on torch's current stream itself.
    """
    device = current.device()
    side = side_stream(device, args)
    return nullcontext() if side is None else in_order_of(side, device, is_ordered)


def _events_of(device: Any) -> list[Any]:
    """Events of a device that nobody uses; those of a context that was lost are left out."""
    generation, events = vars(device).get("_events_of_order", (-1, []))
    if generation != device.context.generation:
        events = []
        vars(device)["_events_of_order"] = device.context.generation, events
    return events


@contextmanager
def in_order_of(stream: SideStream, device: Device, is_ordered: bool = True) -> Generator[None]:
    """Run the default stream's work of a with block after that of a stream so far, and the stream's
    later work after it.

    Args:
        is_ordered: False for work that is on the stream itself.
    """
    side, default = device.stream_at(stream.handle), device.default_stream
    if side.capturing:  # the graph has the launches
        with redirected(side, "a call with torch's tensors"):
            yield
        return
    if not is_ordered:
        yield
        return
    # A wait is for what was recorded before it, so an event serves again at once.
    events = _events_of(device)
    event: Any = events.pop() if events else device.new_event(False)
    event.order(side, default)
    try:
        yield
    finally:
        event.order(default, side)
    events.append(event)
