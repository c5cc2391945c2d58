"""Hand events over to C, which answers calls about them; see ``hot_events.c``."""

from __future__ import annotations

import ctypes
from functools import partial
from time import perf_counter_ns

from gridlane.abi.library import hot_memory
from gridlane.abi.library.hot_marks import Marks, OutsideMark
from gridlane.abi.state import contexts, streams
from gridlane.abi.state.streams import Event
from gridlane.runtime.queues.host_queue import Mark

_TIMED, _RECORDED, _ELSEWHERE = 1, 2, 16
_DONE, _BEHIND = 1, 2
_NO_TIMING = 2
_u32, _i64, _u64, _pointer = ctypes.c_uint32, ctypes.c_int64, ctypes.c_uint64, ctypes.c_void_p


class _Functions:
    """The functions of ``struct gl_events``. They are short, so the GIL stays held."""

    def __init__(self, address: int, marks: Marks) -> None:
        self._marks = marks
        addresses = (_u64 * 3).from_address(address)
        self.offer = ctypes.PYFUNCTYPE(ctypes.c_int, _u64, _u64, _pointer, _i64, _u32)(addresses[0])
        self._take = ctypes.PYFUNCTYPE(ctypes.c_int, _u64, _pointer)(addresses[1])
        self._adopt = ctypes.PYFUNCTYPE(ctypes.c_int, _u64, _pointer)(addresses[2])

    def take(self, handle: int) -> Mark | None:
        """Take an event back; return the mark of its recording, if C recorded it."""
        results = (_u64 * 2)()
        how: int = self._take(handle, ctypes.addressof(results))
        if how == _BEHIND:
            return OutsideMark(self._marks, *results)
        if how != _DONE:
            return None
        mark = Mark(perf_counter_ns, None)
        mark.pass_at(results[0])
        return mark

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


def begin(address: int, marks: Marks) -> None:
    """Allow C to make, use and end events.

    Args:
        address: of ``struct gl_events`` of any library: all share their events.
    """
    functions = _Functions(address, marks)
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
    (mark,), address, time = last, 0, 0
    what = (0 if event.flags & _NO_TIMING else _TIMED) | (_RECORDED if mark is not None else 0)
    if isinstance(mark, OutsideMark):
        address = mark.address
    elif mark is not None:
        time = mark.time
        what |= 0 if mark.passed.is_reached() else _ELSEWHERE
    (functions,) = _begun
    put = partial(functions.offer, handle, context.handle, address, time, what)
    event.hand_over(changes, put, functions.take)
    return 0
