"""The seams of host-driven devices for observers: the submission of launches and copies.

Work that is recorded for a graph, or deferred, is reported when it is submitted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridlane.runtime import observing
from gridlane.runtime.host_driven_kernel import HostDrivenBound
from gridlane.runtime.observing import COPIES, Timer, copy_on_caller, seam
from gridlane.runtime.queues.host_driven_stream import HostDrivenStream


def _put(stream: HostDrivenStream[Any]) -> Any:
    """Submit a new event to a stream's device."""
    event = stream.device.new_event()
    event.record_now(stream)
    return event


_TIMER = Timer(_put)


def _record(own: Callable[..., None]) -> Callable[..., None]:
    def record(
        self: Any, stream: Any, params: bytes, gx: int, gy: int, gz: int, shared: int
    ) -> None:
        if not observing.observers:
            own(self, stream, params, gx, gy, gz, shared)
            return
        _TIMER.launch(stream, own, self, stream, params, (gx, gy, gz), shared)

    return record


def _submitted(kind: str, sized: int) -> observing.Wrap:
    def wrap(own: Callable[..., None]) -> Callable[..., None]:
        def copy(self: Any, *args: Any) -> None:
            if not observing.observers:
                own(self, *args)
                return
            _TIMER.copy(self, own, args, kind, sized)

        return copy

    return wrap


def _settle(stream: HostDrivenStream[Any]) -> None:
    stream.settle()


for _name in ("upload", "download", "copy", "fill"):
    seam(HostDrivenStream, f"_{_name}", _submitted(*COPIES[_name]))
# The host takes part in these, so its clock has their time: a read's without the wait for earlier
# work.
seam(HostDrivenStream, "_write", copy_on_caller(*COPIES["write"]))
seam(HostDrivenStream, "_read", copy_on_caller(*COPIES["read"], prepare=_settle))
seam(HostDrivenBound, "record", _record)
