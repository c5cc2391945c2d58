"""Events that C answers without Python; see ``hot_events.c``."""

from __future__ import annotations

import ctypes
from functools import partial

from gridlane.abi.library import hot
from gridlane.abi.state import contexts, streams
from gridlane.core import epochs

_TIMED, _RECORDED = 1, 2
_NO_TIMING = 2
_u32, _i64, _u64 = ctypes.c_uint32, ctypes.c_int64, ctypes.c_uint64


class _Library:
    """The functions of a library's ``struct gl_events``, which are short: Python's lock is kept."""

    def __init__(self, address: int) -> None:
        places = (_u64 * 2).from_address(address)
        self.offer = ctypes.PYFUNCTYPE(ctypes.c_int, _u64, _u64, _u64, _i64, _u32)(places[0])
        self._take = ctypes.PYFUNCTYPE(ctypes.c_int, _u64, ctypes.POINTER(_i64))(places[1])

    def take(self, handle: int) -> int | None:
        """Take an event back: when C recorded it, if it did."""
        time = _i64()
        return time.value if self._take(handle, time) else None


_libraries: dict[int, _Library] = {}


def offer(address: int, handle: int) -> int:
    """Hand an event over to C, if its work is done and C may record it.

    Args:
        address: of the library's ``struct gl_events``.
        handle: of the event, after a call about it.
    """
    library = _libraries.get(address)
    if library is None:
        library = _libraries.setdefault(address, _Library(address))
    state, event = epochs.state.number, streams.events.find(handle)
    if event is None or not hot.offers():
        return 0
    context, changes = event.context, event.changes
    done = event.done_at()
    if done is None or contexts.top() is not context or not hot.is_fit(context):
        return 0
    time, is_recorded = done
    what = (0 if event.flags & _NO_TIMING else _TIMED) | (_RECORDED if is_recorded else 0)
    put = partial(library.offer, handle, context.handle, state, time, what)
    event.hand_over(changes, put, library.take)
    return 0
