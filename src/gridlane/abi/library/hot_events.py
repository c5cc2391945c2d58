"""Hand events over to C, which answers calls about them; see ``hot_events.c``."""

from __future__ import annotations

import ctypes
from functools import partial

from gridlane.abi.library import hot_memory
from gridlane.abi.state import contexts, streams
from gridlane.abi.state.streams import Event
from gridlane.runtime.queues.host_queue import Mark

_TIMED, _RECORDED = 1, 2
_DONE, _BEHIND = 1, 2
_NO_TIMING = 2
_u32, _u64, _pointer = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p


class _Functions:
    """The functions of ``struct gl_events``. They are short, so the GIL stays held."""

    def __init__(self, address: int) -> None:
        addresses = (_u64 * 3).from_address(address)
        self.offer = ctypes.PYFUNCTYPE(ctypes.c_int, _u64, _u64, _u64, _u32)(addresses[0])
        self._take = ctypes.PYFUNCTYPE(ctypes.c_int, _u64, _pointer)(addresses[1])
        self._adopt = ctypes.PYFUNCTYPE(ctypes.c_int, _u64, _pointer)(addresses[2])

    def take(self, handle: int) -> Mark | None:
        """Take an event back; return the mark of its recording, if C recorded it."""
        results = (_u64 * 2)()
        how: int = self._take(handle, ctypes.addressof(results))
        if how == _BEHIND:
            return Mark(address=results[0])
        if how != _DONE:
            return None
        mark = Mark()
        mark.pass_at(results[0])
        return mark

    def add(self, target: Event) -> None:
        """Do nothing: an event is offered after a call about it."""

    def withdraw(self, number: int) -> None:
        """Do nothing: the event is taken back before it ends."""

    def settle(self) -> None:
        """Drop the events that C ended."""
        outside = streams.streams.outside
        if outside is not None:
            outside.settle()

    def adopt(self, number: int) -> None:
        """Adopt an event that C made; C keeps it as one that Python offered."""
        results = (_u64 * 2)()
        with streams.handing_over:
            if not self._adopt(number, ctypes.addressof(results)):
                return
            context, flags = contexts.handles.find(results[0]), results[1]
            if context is None or context.ends_now:  # by another thread
                return
            point = context.device.new_event(not flags & _NO_TIMING)
            event = Event(point, context, flags, handle=number, _take=self.take)
            if streams.events.put(number, event):
                streams.own(event)


_begun: list[_Functions] = []


def begin(address: int) -> None:
    """Allow C to make, use and end events.

    Args:
        address: of ``struct gl_events`` of any library: all share their events.
    """
    functions = _Functions(address)
    _begun.append(functions)
    streams.events.outside = functions


def offer(handle: int) -> int:
    """Offer an event to C, if C may record it.

    Args:
        handle: of the event, after a call about it.
    """
    event = streams.events.find(handle)
    if event is None:
        return 0
    context, changes = event.context, event.changes
    last = event.last()
    if last is None or contexts.top() is not context or not hot_memory.is_fit(context):
        return 0
    (mark,) = last
    what = (0 if event.flags & _NO_TIMING else _TIMED) | (_RECORDED if mark is not None else 0)
    address = 0 if mark is None else mark.address
    (functions,) = _begun
    put = partial(functions.offer, handle, context.handle, address, what)
    event.hand_over(changes, put, functions.take)
    return 0
