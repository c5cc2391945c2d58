"""Pieces of work of streams and graphs that neither copy nor launch."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import ClassVar

from gridlane.abi.state.streams import Event, Stream
from gridlane.core.cuda_table import enums

TYPES = enums()["CUgraphNodeType"].values
"""The kinds of nodes by their names."""

KERNEL, MEMCPY, MEMSET, HOST, GRAPH, EMPTY = (
    TYPES[f"CU_GRAPH_NODE_TYPE_{name}"]
    for name in ("KERNEL", "MEMCPY", "MEMSET", "HOST", "GRAPH", "EMPTY")
)
WAIT_EVENT, EVENT_RECORD = (
    TYPES[f"CU_GRAPH_NODE_TYPE_{name}"] for name in ("WAIT_EVENT", "EVENT_RECORD")
)

_host_function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


@dataclass(frozen=True, slots=True)
class HostCall:
    """A function of the program's at an address, which gets the address of data."""

    function: int
    data: int
    kind: ClassVar[int] = HOST

    def run(self, stream: Stream) -> None:
        """Append it to a stream."""
        call, data = _host_function(self.function), self.data
        stream.queue.submit(lambda: call(data))


@dataclass(frozen=True, slots=True)
class Empty:
    """No work: it orders that of others."""

    kind: ClassVar[int] = EMPTY

    def run(self, stream: Stream) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class Record:
    """The recording of an event."""

    event: Event
    kind: ClassVar[int] = EVENT_RECORD

    def run(self, stream: Stream) -> None:
        """Record it in a stream."""
        self.event.record(stream)


@dataclass(frozen=True, slots=True)
class Wait:
    """The wait for what an event was recorded after."""

    event: Event
    kind: ClassVar[int] = WAIT_EVENT

    def run(self, stream: Stream) -> None:
        """Order later work of a stream behind the event."""
        if self.event.recorded:
            self.event.native.wait(stream.queue)
