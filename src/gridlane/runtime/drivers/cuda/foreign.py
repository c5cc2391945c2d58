"""Captures of other libraries, as torch's, that record work of gridlane's on their streams.

What such work uses lives as long as the library's graph: a user object of the graph, which the
driver destroys with the last graph or executable that has it, posts a semaphore of the C library.
The driver calls that from a thread of its own, also while the process ends, so no Python is called.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from gridlane.core.device_errors import INVALID_HANDLE, NOT_CAPTURED, fail
from gridlane.runtime.drivers.cuda.api import answer, bindings, enum
from gridlane.runtime.drivers.cuda.graph import Capture, Stream

_SEMAPHORE_BYTES = 64
"""More than a sem_t of any C library has."""
kept: dict[int, list[Any]] = {}
"""What graphs use, by the address of the semaphore that is posted at their end."""


class ForeignCapture(Capture):
    """A recording in progress that another library began.

    Args:
        stream: that is captured.
        number: the driver's, which no other capture has.
        graph: that work is recorded in.
    """

    is_own = False

    def __init__(self, stream: Stream, number: int, graph: Any) -> None:
        self.streams, self.number = [stream], number
        self.keep = self.kernels = _kept_with(stream, graph)
        stream.context.foreign_captures.append(self)

    @property
    def stops_default(self) -> bool:
        """Return False: what names the default stream, and is no work of the library's, goes on."""
        return False

    @property
    def goes_on(self) -> bool:
        """Whether it has not ended, or another one of the stream has begun. Never raises."""
        code, *values = answer("cuStreamIsCapturing", self.streams[0].native)
        if code:  # of a thread without the context: the next call of one with it knows
            return code != INVALID_HANDLE
        return bool(int(values[0]))

    def end(self) -> None:
        """Do nothing: the library ends it."""

    def join(self, stream: Stream) -> None:
        """Refuse to record another stream's work, whose end gridlane would not see.

        Raises:
            DeviceError: NOT_CAPTURED.
        """
        fail(
            NOT_CAPTURED,
            "a stream of gridlane's that waits for an event of another library's capture",
            "launch on the captured stream itself",
        )


def follow(stream: Stream) -> None:
    """Note whether another library captures a stream now."""
    known, call = stream.capture, stream.context.call
    if known is not None and known.is_own:
        return
    if kept:
        drop_ended()
    if not int(call("cuStreamIsCapturing", stream.native)):
        stream.capture = None
        return
    _, number, graph, *_ = call("cuStreamGetCaptureInfo", stream.native)
    if not isinstance(known, ForeignCapture) or known.number != int(number):
        stream.capture = ForeignCapture(stream, int(number), graph)


@cache
def _c() -> ctypes.CDLL:
    library = ctypes.CDLL(None)
    library.malloc.restype = ctypes.c_void_p
    library.malloc.argtypes = (ctypes.c_size_t,)
    for name in ("free", "sem_trywait", "sem_post"):
        getattr(library, name).argtypes = (ctypes.c_void_p,)
    library.sem_init.argtypes = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint
    return library


def _kept_with(stream: Stream, graph: Any) -> list[Any]:
    """A list of what lives as long as a graph, and as the executables that are made of it."""
    c, driver = _c(), bindings()
    semaphore = int(c.malloc(_SEMAPHORE_BYTES))
    c.sem_init(semaphore, 0, 0)
    post = ctypes.cast(c.sem_post, ctypes.c_void_p).value
    flags = enum("CUuserObject_flags", "CU_USER_OBJECT_NO_DESTRUCTOR_SYNC")
    call = stream.context.call
    made = call("cuUserObjectCreate", semaphore, driver.CUhostFn(post), 1, int(flags))
    move = enum("CUuserObjectRetain_flags", "CU_GRAPH_USER_OBJECT_MOVE")
    call("cuGraphRetainUserObject", graph, made, 1, int(move))
    return kept.setdefault(semaphore, [])


def drop_ended() -> None:
    """Drop what graphs used that are gone."""
    for semaphore in tuple(kept):
        if _c().sem_trywait(semaphore) == 0:
            used = kept.pop(semaphore)
            _c().free(semaphore)
            used.clear()  # the capture, which the stream still has, has the list too
