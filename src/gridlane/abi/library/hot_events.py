"""Events that C and Python use as one native event; see ``hot_events.c``."""

from __future__ import annotations

import ctypes
from typing import Any

from gridlane.abi.state import contexts, streams
from gridlane.abi.state.streams import Event
from gridlane.runtime.queues.host_event import HostEvent
from gridlane.runtime.queues.native_queues import native

_NO_TIMING = 2
_u32, _u64, _pointer = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p


class _Functions:
    """The functions of ``struct gl_events``; see ``handles.Outside``. They are short, so the GIL
    stays held."""

    def __init__(self, address: int) -> None:
        addresses = (_u64 * 3).from_address(address)
        self._add = ctypes.PYFUNCTYPE(ctypes.c_int, _u64, _u64, _u32, _u64)(addresses[0])
        self._adopt = ctypes.PYFUNCTYPE(_pointer, _u64, _pointer)(addresses[1])
        self._withdraw = ctypes.PYFUNCTYPE(None, _u64)(addresses[2])

    def settle(self) -> None:
        """Drop the events that C ended, which are noted with the streams."""
        outside = streams.streams.outside
        if outside is not None:
            outside.settle()

    def adopt(self, number: int) -> None:
        """Adopt an event that C made."""
        results = (_u64 * 2)()
        with streams.adopting:
            address: Any = self._adopt(number, ctypes.addressof(results))
            if not address:
                return
            context, flags = contexts.handles.find(results[0]), results[1]
            if context is None or context.ends_now:  # by another thread
                native.release_event(address)
                return
            point = HostEvent(not flags & _NO_TIMING, address)
            event = Event(point, context, flags, number)
            if streams.events.put(number, event):  # or a signal handler did so
                streams.own(event)

    def add(self, target: Event) -> None:
        """Add an event that Python made, if C may use it. Without memory, and in the child of a
        fork, C does not have it, so that calls about it enter Python."""
        if isinstance(target.point, HostEvent):
            self._add(target.handle, target.context.handle, target.flags, target.point.address)

    def withdraw(self, number: int) -> None:
        """Remove an event: no thread finds it any more."""
        self._withdraw(number)


def begin(address: int) -> None:
    """Allow C to make, use and end events.

    Args:
        address: of ``struct gl_events`` of any library: all share their events.
    """
    functions = _Functions(address)
    streams.events.outside = functions
    for each in streams.events.objects():
        functions.add(each)
