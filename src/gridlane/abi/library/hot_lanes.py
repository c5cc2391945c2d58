"""What C does with a stream of the program's without Python; see ``hot_lanes.c``."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from gridlane.abi.state import streams
from gridlane.abi.state.streams import Stream
from gridlane.runtime.queues.host_queue import HostPiece, HostQueue
from gridlane.runtime.queues.host_stream import OwnHostStream

_u32, _i64, _u64, _pointer = ctypes.c_uint32, ctypes.c_int64, ctypes.c_uint64, ctypes.c_void_p


class Failure(ctypes.Structure):
    """``struct gl_failure``."""

    _fields_ = (
        ("plan", _u64),
        ("code", _i64),
        ("grid", _u32 * 4),
        ("report", _i64 * 5),
    )

    plan: int
    code: int
    grid: ctypes.Array[ctypes.c_uint32]

    @property
    def report_address(self) -> int:
        """Where the report of the kernel is."""
        return ctypes.addressof(self) + type(self).report.offset


class Raising(Protocol):
    """What raises the error of a launch."""

    def __call__(self, failure: Failure) -> None:
        """Raise it."""
        ...


class Lanes:
    """The functions of a library that C's lanes have. Short ones are called with Python's lock: to
    let it go costs a switch of threads wherever the stream's thread waits for it."""

    def __init__(self, address: int) -> None:
        places = (_u64 * 10).from_address(address)
        make = ctypes.PYFUNCTYPE(_pointer, _u64, _u64)
        change = ctypes.PYFUNCTYPE(None, _pointer)
        waiting = ctypes.CFUNCTYPE(None, _pointer)
        run = ctypes.CFUNCTYPE(ctypes.c_int, _pointer, _pointer, ctypes.POINTER(Failure))
        self.make = make(places[0])
        self.open = ctypes.PYFUNCTYPE(_pointer, _pointer)(places[1])
        self.run = run(places[3])
        self.end_batch = ctypes.PYFUNCTYPE(None, _pointer, _pointer)(places[4])
        self.close = ctypes.PYFUNCTYPE(ctypes.c_int, _pointer)(places[2])
        self.end, self.release = waiting(places[5]), change(places[6])
        self.rest = change(places[7])
        self.settle = ctypes.PYFUNCTYPE(ctypes.c_int, _pointer)(places[8])
        self.wait = waiting(places[9])


class Lane:
    """The lane of a stream's queue. The queue has it, and the pieces of work that run it."""

    def __init__(self, functions: Lanes, stream: Stream, raising: Raising) -> None:
        address: Any = functions.make(stream.handle, stream.context.handle)
        if not address:
            raise MemoryError("no memory for the lane of a stream")
        self._functions, self._address, self._raising = functions, address, raising
        weakref.finalize(self, functions.end, address).atexit = False

    def close(self) -> None:
        """Let C append nothing more, until it is opened again."""
        if self._functions.close(self._address):
            self._functions.wait(self._address)

    def rest(self) -> None:
        """Note that the stream has no work and no error."""
        self._functions.rest(self._address)

    def settle(self) -> bool:
        """Whether C has done all of its work, and the piece that runs it ends."""
        return bool(self._functions.settle(self._address))

    def open(self, queue: HostQueue) -> None:
        """Let C append launches, behind the work that the queue has now."""
        queue.put_open(partial(self._batch, weakref.ref(queue)))

    def _batch(self, queue: weakref.ref[HostQueue]) -> HostPiece:
        """The piece of work that runs what C appends from now on."""
        batch: Any = self._functions.open(self._address)
        return partial(self._run, queue, [batch] if batch else []), True

    def _run(self, queue: weakref.ref[HostQueue], batches: list[int]) -> None:
        """Run a batch, once, and raise the error of the first launch that fails."""
        if not batches:  # there was no memory for one, or it has run
            return
        batch = batches.pop()
        functions, found, failure = self._functions, queue(), Failure()
        try:
            if found is None or found.error is not None:
                return
            if functions.run(self._address, batch, failure):
                try:
                    self._raising(failure)
                finally:
                    functions.release(failure.plan)
        finally:
            functions.end_batch(self._address, batch)


_of_library: dict[int, Lanes] = {}


def open_lane(address: int, number: int, raising: Raising) -> None:
    """Open the lane of a stream, if C may append to the stream.

    Args:
        address: of the library's ``struct gl_lanes``.
        number: of the stream.
    """
    _change(address, number, raising, Lane.open)


def rest(address: int, number: int, raising: Raising) -> None:
    """Let C answer for a stream, if it has neither work nor an error.

    Args:
        address, number: as of ``open_lane``.
    """
    _change(address, number, raising, lambda lane, queue: queue.if_idle(lane.rest))


def _change(
    address: int, number: int, raising: Raising, change: Callable[[Lane, HostQueue], None]
) -> None:
    """Do something with the lane of a stream, unless C may do nothing there."""
    functions = _of_library.get(address)
    if functions is None:
        functions = _of_library.setdefault(address, Lanes(address))
    found = streams.streams.find(number)
    own = found.queue if found is not None else None
    if found is None or not isinstance(own, OwnHostStream) or found.capture is not None:
        return
    if own.capturing:
        return
    queue = own.queue
    lane = queue.lanes.get(address)
    if lane is None:
        lane = queue.lanes.setdefault(address, Lane(functions, found, raising))
    assert isinstance(lane, Lane)
    change(lane, queue)
    # Who begins a capture or destroys the stream says so, and then closes the lanes.
    if found.capture is not None or streams.streams.find(number) is not found:
        lane.close()
