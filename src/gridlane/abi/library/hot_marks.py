"""Marks behind which C recorded events, for waits of Python; see ``hot_marks.c``."""

from __future__ import annotations

import ctypes
import weakref
from time import perf_counter_ns

from gridlane.runtime.queues.host_queue import HostQueue, Mark
from gridlane.runtime.queues.latch import Latch

_SLICE_NS = 10_000_000
"""The longest delay of a signal handler by a wait."""
_int, _i64, _pointer = ctypes.c_int, ctypes.c_int64, ctypes.c_void_p


class Marks:
    """The functions of ``struct gl_marks``.

    Attributes:
        queues: by the addresses of their lanes, which are unique while a lane has work.
    """

    def __init__(self, address: int) -> None:
        addresses = (ctypes.c_uint64 * 3).from_address(address)
        self._is_passed = ctypes.PYFUNCTYPE(_int, _pointer, ctypes.POINTER(_i64))(addresses[0])
        self.wait = ctypes.CFUNCTYPE(_int, _pointer, _i64)(addresses[1])
        self.drop = ctypes.PYFUNCTYPE(None, _pointer)(addresses[2])
        self.queues: weakref.WeakValueDictionary[int, HostQueue] = weakref.WeakValueDictionary()

    def is_passed(self, address: int) -> bool:
        """Whether a mark is passed."""
        return bool(self._is_passed(address, _i64()))

    def time(self, address: int) -> int:
        """The time at which a mark was passed."""
        time = _i64()
        self._is_passed(address, time)
        return time.value


class _Passed(Latch):
    """The latch of a mark. It has one use of the mark until its end."""

    __slots__ = ("_address", "_marks")

    def __init__(self, marks: Marks, address: int) -> None:
        self._marks, self._address = marks, address
        weakref.finalize(self, marks.drop, address).atexit = False

    def is_reached(self) -> bool:
        return self._marks.is_passed(self._address)

    def wait(self) -> None:
        while not self._marks.wait(self._address, _SLICE_NS):
            pass  # a signal handler may run here


class OutsideMark(Mark):
    """A mark that C passes.

    Args:
        address: of C's mark, of which this object has one use.
        lane: the address of the lane whose work passes it.
    """

    __slots__ = ("_marks", "address")

    def __init__(self, marks: Marks, address: int, lane: int) -> None:
        super().__init__(perf_counter_ns, marks.queues.get(lane))
        self._marks, self.address = marks, address
        self.passed = _Passed(marks, address)

    @property
    def time(self) -> int:
        return self._marks.time(self.address) if self.passed.is_reached() else 0

    def wait(self) -> None:
        """Wait until it is passed."""
        if self.queue is None:  # its stream has ended, so no wait is circular
            self.passed.wait()
        else:
            super().wait()
