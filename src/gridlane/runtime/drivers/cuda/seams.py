"""The seams of NVIDIA GPUs for observers: launches and copies by Python, and launches of graphs.

Launches that the driver starts without Python pass through no seam. Those prepared so far expire
when an observer starts, and none is prepared until the last observer stops.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from gridlane.core.artifact import Artifact
from gridlane.runtime import observing
from gridlane.runtime.drivers.cuda.context import Context
from gridlane.runtime.drivers.cuda.graph import CudaExecutable
from gridlane.runtime.drivers.cuda.kernel import CudaBound
from gridlane.runtime.drivers.cuda.stream import CudaEvent, CudaStream
from gridlane.runtime.observing import COPIES, Launched, Timer, copy_on_caller, seam


def _put(stream: CudaStream) -> CudaEvent:
    """Record a new event in a stream."""
    event = CudaEvent(stream.context)
    event.record(stream)
    return event


_TIMER = Timer(_put)


def _launch_on(own: Callable[..., None]) -> Callable[..., None]:
    def launch_on(
        self: Any, stream: int, params: bytes, gx: int, gy: int, gz: int, shared: int
    ) -> None:
        on = self.kernel.device.stream_at(stream)
        if on.capture is not None:  # the work is recorded, not executed
            own(self, stream, params, gx, gy, gz, shared)
            return
        _TIMER.launch(on, own, self, stream, params, (gx, gy, gz), shared)

    return launch_on


def _copy(kind: str, sized: int) -> observing.Wrap:
    def wrap(own: Callable[..., None]) -> Callable[..., None]:
        def copy(self: Any, *args: Any) -> None:
            if self.capture is not None:
                own(self, *args)
                return
            _TIMER.copy(self, own, args, kind, sized)

        return copy

    return wrap


class _Graph:
    """A launched graph, in place of a kernel: the driver alone knows its kernels."""

    def __init__(self, graph: Any) -> None:
        self.artifact = Artifact("cuda", "graph", b"", f"graph {id(graph):#x}", (), 0)


def _launch_graph(own: Callable[..., None]) -> Callable[..., None]:
    def launch(self: Any, stream: Any) -> None:
        if not isinstance(stream, CudaStream) or stream.capture is not None:
            own(self, stream)
            return
        start = _TIMER.begin(stream)
        begin = perf_counter_ns()
        own(self, stream)
        end, thread = perf_counter_ns(), threading.get_ident()
        span, graph = _TIMER.end(stream, start), self.__dict__.setdefault("_told", _Graph(self))
        observing.tell_launch(
            Launched(graph, b"", (1, 1, 1), 0, begin, end, thread, span, stream.device)
        )

    return launch


def _no_native_launch(own: Callable[..., Any]) -> Callable[..., Any]:
    def native_launch(self: Any, stream: Any) -> Any:
        return None if observing.observers else own(self, stream)

    return native_launch


def watch(devices: type) -> None:
    """Name the seams of the class of devices."""
    for name in ("upload", "download", "copy", "fill"):
        seam(CudaStream, name, _copy(*COPIES[name]))
    for name in ("upload", "download"):
        seam(devices, name, copy_on_caller(*COPIES[name]))


def watch_context(context: Context) -> None:
    """Expire the context's prepared launches when an observer starts."""
    expire = weakref.WeakMethod(context.expire)
    observing.then(lambda: call() if observing.observers and (call := expire()) else None)


seam(CudaExecutable, "launch", _launch_graph)
seam(CudaBound, "launch_on", _launch_on)
seam(CudaBound, "native_launch", _no_native_launch)
