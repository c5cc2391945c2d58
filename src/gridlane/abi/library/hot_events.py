"""Events that C answers without Python; see ``hot_events.c``."""

from __future__ import annotations

import ctypes
from functools import partial

from gridlane.abi.library import hot_memory
from gridlane.abi.state import contexts, streams
from gridlane.abi.state.streams import Event

_TIMED, _RECORDED = 1, 2
_NO_TIMING = 2
_u32, _i64, _u64 = ctypes.c_uint32, ctypes.c_int64, ctypes.c_uint64


class _Functions:
    """Those of ``struct gl_events``, which are short: Python's lock is kept."""

    def __init__(self, address: int) -> None:
        places = (_u64 * 3).from_address(address)
        self.offer = ctypes.PYFUNCTYPE(ctypes.c_int, _u64, _u64, _i64, _u32)(places[0])
        self._take = ctypes.PYFUNCTYPE(ctypes.c_int, _u64, ctypes.POINTER(_i64))(places[1])
        self._adopt = ctypes.PYFUNCTYPE(ctypes.c_int, _u64, ctypes.c_void_p)(places[2])

    def take(self, handle: int) -> int | None:
        """Take an event back: when C recorded it, if it did."""
        time = _i64()
        return time.value if self._take(handle, time) else None

    def settle(self) -> None:
        """Forget the events that C ended."""
        outside = streams.streams.outside
        if outside is not None:
            outside.settle()

    def adopt(self, number: int) -> None:
        """Make an event of C's one of Python's, which C still has."""
        told = (_u64 * 2)()
        with streams.handing_over:
            if not self._adopt(number, ctypes.addressof(told)):
                return
            context, flags = contexts.handles.find(told[0]), told[1]
            if context is None or context.ends_now:  # by another thread
                return
            point = context.device.new_event(not flags & _NO_TIMING)
            made = Event(point, context, flags, handle=number, _take=self.take)
            if streams.events.put(number, made):
                streams.own(made)


_begun: list[_Functions] = []


def begin(address: int) -> None:
    """Let C make, use and end events.

    Args:
        address: of ``struct gl_events``, of any library: all have the same events.
    """
    functions = _Functions(address)
    _begun.append(functions)
    streams.events.outside = functions


def offer(handle: int) -> int:
    """Hand an event over to C, if its work is done and C may record it.

    Args:
        handle: of the event, after a call about it.
    """
    event = streams.events.find(handle)
    if event is None:
        return 0
    context, changes = event.context, event.changes
    done = event.done_at()
    if done is None or contexts.top() is not context or not hot_memory.is_fit(context):
        return 0
    time, is_recorded = done
    what = (0 if event.flags & _NO_TIMING else _TIMED) | (_RECORDED if is_recorded else 0)
    (functions,) = _begun
    put = partial(functions.offer, handle, context.handle, time, what)
    event.hand_over(changes, put, functions.take)
    return 0
