"""Events of single-buffer devices: points in streams, with a time."""

from __future__ import annotations

from typing import Any, Protocol

from gridlane.runtime.drivers.single_buffer.engine import Engine, Stamp
from gridlane.runtime.drivers.single_buffer.queue import Queue
from gridlane.runtime.drivers.single_buffer.stream import SingleBufferStream
from gridlane.runtime.queues.host_driven_event import HostDrivenEvent, Mark
from gridlane.runtime.queues.host_driven_stream import StreamDevice


class _Mark(Mark):
    """A mark with the engine's stamp of its time."""

    __slots__ = ("stamp",)

    def __init__(self) -> None:
        super().__init__()
        self.stamp: Any = None


class Device(StreamDevice, Protocol):
    """The device interface that an event uses."""

    engine: Engine
    queue: Queue


class SingleBufferEvent(HostDrivenEvent[Device, _Mark, SingleBufferStream]):
    """A point in a stream; timed by the device's clock where it has one."""

    @property
    def _order(self) -> Queue:
        return self.device.queue

    def _new_mark(self) -> _Mark:
        mark = _Mark()
        if self.timing:
            with self.device.queue.lock:
                mark.stamp = self.device.engine.new_stamp()
        return mark

    def _put(self, stream: SingleBufferStream, mark: _Mark) -> None:
        if mark.stamp is not None:
            stream.queue.put(Stamp(mark.stamp))
        mark.point = stream.point = stream.queue.mark()

    def _put_behind(self, stream: SingleBufferStream, mark: _Mark) -> None:
        # Work in the queue precedes all later work: only deferred work is waited for.
        stream.point = max(stream.point, mark.point)

    def _between_ms(self, first: _Mark, second: _Mark) -> float:
        with self.device.queue.lock:
            start, end = (self.device.engine.nanoseconds(mark.stamp) for mark in (first, second))
        return (end - start) / 1e6
