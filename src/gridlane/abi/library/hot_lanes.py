"""Lanes: work of a program's streams that C does without Python; see ``hot_lanes.c``."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from gridlane.abi.library.hot_marks import Marks, OutsideMark
from gridlane.abi.state import contexts, streams
from gridlane.abi.state.streams import Stream
from gridlane.core.cpu_abi import REPORT
from gridlane.runtime.queues.host_queue import HostPiece, HostQueue
from gridlane.runtime.queues.host_stream import OwnHostStream

_FAILED, _WAITS = 1, 2
"""Why a batch stops before its end."""
_u32, _i64, _u64, _pointer = ctypes.c_uint32, ctypes.c_int64, ctypes.c_uint64, ctypes.c_void_p


class Failure(ctypes.Structure):
    """``struct gl_failure``."""

    _fields_ = (
        ("plan", _u64),
        ("code", _i64),
        ("grid", _u32 * 4),
        ("report", _i64 * REPORT),
    )

    plan: int
    code: int
    grid: ctypes.Array[ctypes.c_uint32]

    @property
    def report_address(self) -> int:
        """The address of the kernel's report."""
        return ctypes.addressof(self) + type(self).report.offset


class Raising(Protocol):
    """The code that raises the error of a launch."""

    def __call__(self, failure: Failure) -> None:
        """Raise the error."""
        ...


class Lanes:
    """The functions of C's lanes. Short ones are called with the GIL held: a release costs a switch
    of threads wherever the stream's thread waits for it.

    Attributes:
        marks: of the lanes, which pass them and wait for them.
        raising: the code that raises the error of a launch.
        ended: the number of handles that C ended and Python has.
    """

    def __init__(self, address: int, marks: Marks, raising: Raising) -> None:
        self.marks, self.raising = marks, raising
        addresses = (_u64 * 16).from_address(address)
        make = ctypes.PYFUNCTYPE(_pointer, _u64, _u64)
        change = ctypes.PYFUNCTYPE(None, _pointer)
        waiting = ctypes.CFUNCTYPE(None, _pointer)
        run = ctypes.CFUNCTYPE(ctypes.c_int, _pointer, _pointer, ctypes.POINTER(Failure))
        self.make = make(addresses[0])
        self.open = ctypes.PYFUNCTYPE(_pointer, _pointer)(addresses[1])
        self.run = run(addresses[3])
        self.end_batch = ctypes.PYFUNCTYPE(None, _pointer, _pointer)(addresses[4])
        self.close = ctypes.PYFUNCTYPE(ctypes.c_int, _pointer)(addresses[2])
        self.end, self.release = waiting(addresses[5]), change(addresses[6])
        self.rest = change(addresses[7])
        self.settle = ctypes.PYFUNCTYPE(ctypes.c_int, _pointer)(addresses[8])
        self.wait = waiting(addresses[9])
        self.adopt = ctypes.PYFUNCTYPE(_pointer, _u64, _pointer)(addresses[10])
        self.first_ended = ctypes.PYFUNCTYPE(_u64)(addresses[11])
        self.forget_ended = ctypes.PYFUNCTYPE(None, _u64)(addresses[12])
        self.withdraw = change(addresses[14])
        self.is_open = ctypes.PYFUNCTYPE(ctypes.c_int, _pointer)(addresses[15])
        count: int = ctypes.PYFUNCTYPE(_u64)(addresses[13])()
        self.ended = _u32.from_address(count)


class Lane:
    """The lane of a stream's queue. The queue and the pieces of work that run it own it.

    Args:
        address: of C's lane.
    """

    def __init__(self, functions: Lanes, address: int, queue: HostQueue) -> None:
        self._functions, self._address = functions, address
        functions.marks.queues[address] = queue

    def own(self) -> None:
        """End C's lane with this one."""
        weakref.finalize(self, self._functions.end, self._address).atexit = False

    def close(self) -> None:
        """Close the lane until it is opened again."""
        if self._functions.close(self._address):
            self._functions.wait(self._address)

    def withdraw(self) -> None:
        """Remove the lane from C's table."""
        self._functions.withdraw(self._address)

    def rest(self) -> None:
        """Note that the stream has no work and no error."""
        self._functions.rest(self._address)

    def settle(self) -> bool:
        """Whether C has done all of its work; the piece that runs it then ends."""
        return bool(self._functions.settle(self._address))

    def is_open(self) -> bool:
        """Whether C may append to it."""
        return bool(self._functions.is_open(self._address))

    def open(self, queue: HostQueue) -> None:
        """Open the lane behind the work that the queue has now."""
        queue.put_open(partial(self._batch, weakref.ref(queue)))

    def _batch(self, queue: weakref.ref[HostQueue]) -> HostPiece:
        """The piece of work that runs what C appends from now on."""
        batch: Any = self._functions.open(self._address)
        return partial(self._run, queue, [batch] if batch else []), True

    def _run(self, queue: weakref.ref[HostQueue], batches: list[int]) -> None:
        """Run a batch, once, and raise the error of the first launch that fails. An error of the
        queue during a wait drops the rest."""
        if not batches:  # there was no memory for a batch, or it has run
            return
        batch = batches.pop()
        functions, queue_object, failure = self._functions, queue(), Failure()
        try:
            while queue_object is not None and queue_object.error is None:
                why = functions.run(self._address, batch, failure)
                if why != _WAITS:
                    break
                OutsideMark(functions.marks, failure.plan, failure.code).wait()
            else:
                return
            if why == _FAILED:
                functions.close(self._address)
                try:
                    functions.raising(failure)
                except BaseException as error:
                    queue_object.fail(error)  # before C sees that all is done
                    raise
                finally:
                    functions.release(failure.plan)
        finally:
            functions.end_batch(self._address, batch)


class _Made:
    """The streams that C makes and ends; see ``handles.Outside``."""

    def __init__(self, functions: Lanes) -> None:
        self._functions = functions

    def settle(self) -> None:
        """Drop the streams and events that C ended."""
        while self._functions.ended.value:
            with streams.handing_over:  # any thread that adopts one of them has finished
                handle: int = self._functions.first_ended()
                for each in (streams.streams, streams.events):
                    ended = each.known(handle)
                    if ended is not None:
                        streams.forget(ended)
                self._functions.forget_ended(handle)  # after that: other threads read the count

    def adopt(self, number: int) -> None:
        """Adopt a stream that C made. It closes its lane before it appends work."""
        functions, results = self._functions, (_u64 * 3)()
        with streams.handing_over:
            address: Any = functions.adopt(number, ctypes.addressof(results))
            context = contexts.handles.find(results[0]) if address else None
            if context is None or context.ends_now:  # by another thread
                return
            flags, priority = results[1], ctypes.c_int64(results[2]).value
            stream = Stream(context.device.new_stream(), context, flags, priority, number, number)
            assert isinstance(stream.queue, OwnHostStream)
            lane = stream.queue.queue.lane = Lane(functions, address, stream.queue.queue)
            if streams.streams.put(number, stream):  # or a signal handler did so
                lane.own()
                streams.own(stream)


_begun: list[Lanes] = []


def begin(address: int, marks: Marks, raising: Raising) -> None:
    """Allow C to make, use and end streams.

    Args:
        address: of ``struct gl_lanes`` of any library: all share their streams.
    """
    functions = Lanes(address, marks, raising)
    _begun.append(functions)
    streams.streams.outside = _Made(functions)


def open_lane(number: int) -> None:
    """Open the lane of a stream, if C may append to the stream.

    Args:
        number: of the stream.
    """
    _change(number, Lane.open)


def offer(number: int) -> int:
    """Publish that a stream is idle, if it has neither work nor an error.

    Args:
        number: of the stream, after a call about it.
    """
    _change(number, lambda lane, queue: queue.if_idle(lane.rest))
    return 0


def _change(number: int, change: Callable[[Lane, HostQueue], None]) -> None:
    """Call a function with the lane of a stream, unless C may do nothing there."""
    stream = streams.streams.find(number)
    own = stream.queue if stream is not None else None
    if stream is None or not isinstance(own, OwnHostStream) or stream.capture is not None:
        return
    if own.capturing:
        return
    queue = own.queue
    if queue.lane is None:
        new_lane = _new_lane(stream, queue)
        with streams.handing_over:  # signal safety: no handler runs between the next two lines
            if queue.lane is None:
                queue.lane = new_lane
    lane = queue.lane
    assert isinstance(lane, Lane)
    change(lane, queue)
    # Order: the begin of a capture, or of a stream's end, sets its flag first, then closes the
    # lane.
    if stream.capture is not None or streams.streams.find(number) is not stream:
        lane.close()


def _new_lane(stream: Stream, queue: HostQueue) -> Lane:
    """A lane of a stream that Python made."""
    (functions,) = _begun
    address: Any = functions.make(stream.handle, stream.context.handle)
    if not address:
        raise MemoryError("no memory for the lane of a stream")
    lane = Lane(functions, address, queue)
    lane.own()
    return lane
