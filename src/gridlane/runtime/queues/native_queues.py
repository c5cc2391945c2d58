"""The functions of native/queue.c: those of the compiled module, else of its LLVM IR by ctypes.

A queue, a mark and an event are their addresses, of which the caller has a use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from gridlane.native import compiled

END, BROKE, CIRCULAR, WITHDRAW = 0, 3, 4, 5
"""What ``next`` returns in place of a piece."""
ALWAYS, SPINS = 1, 2
"""Flags of pieces: one that runs after an error as well, and a kernel that may wait for the
host."""
FAILED, OVER, STOPS, CAPTURED = range(4)
"""What ``set`` sets."""
UNFINISHED, APPENDED, SPINNING, HAS_WORKER, HAS_STOPS = range(5)
"""What ``get`` gets."""


class Functions(Protocol):
    """The functions.

    Attributes:
        BUSY: whose truth is whether any queue has unfinished work.
    """

    @property
    def BUSY(self) -> object: ...

    def state(self) -> int:
        """The address of the process's queues."""
        ...

    def adopt(self, address: int, /) -> None:
        """Use the queues at an address, before there is any here."""
        ...

    def new_queue(self) -> int:
        """A queue."""
        ...

    def release_queue(self, queue: int, /) -> None:
        """Count one use less."""
        ...

    def append(self, queue: int, piece: object, flags: int, /) -> bool:
        """Append a piece; whether a thread must start to serve the queue."""
        ...

    def append_launch(
        self,
        queue: int,
        piece: object,
        flags: int,
        launch: int,
        native: int,
        params: bytes,
        gx: int,
        gy: int,
        gz: int,
        shared: int,
        /,
    ) -> bool:
        """Append a launch, as ``append`` does. The piece raises its error, and lives until the
        launch is over and a thread waits for it, or the worker has no more work."""
        ...

    def append_mark(self, queue: int, mark: int, follows: bool, /) -> bool:
        """Append a wait for a mark, or its passing, as ``append`` does."""
        ...

    def extend(self, queue: int, pieces: tuple[object, ...], flags: tuple[int, ...], /) -> bool:
        """Append pieces at once; for a tuple of a piece and the arguments of ``append_launch``
        behind its flags, that launch."""
        ...

    def serve(self, queue: int, /) -> bool:
        """Become the worker; false if there is one."""
        ...

    def leave(self, queue: int, /) -> bool:
        """Be the worker no longer; whether there is work again."""
        ...

    def next(self, queue: int, /) -> Any:
        """Finish the last piece, and return the next one, or a number; without the GIL."""
        ...

    def wait(self, queue: int, mark: int, count: int, own: int, /) -> bool:
        """Wait for a mark, or until so many items are done; handlers of signals run. False if the
        wait would not end, as the queue ``own`` of this thread is waited for."""
        ...

    def turn(self) -> int:
        """The turn of the default stream, as a queue that waits for what the thread waits for that
        has the turn."""
        ...

    def begin_wait(self, own: int, queue: int, /) -> bool:
        """Note that a queue waits for another until ``end_wait``. False if the wait would not
        end."""
        ...

    def end_wait(self, own: int, /) -> None:
        """Note that a queue waits no longer."""
        ...

    def waits_for(self, queue: int, /) -> int:
        """The queue that a queue waits for now, or 0."""
        ...

    def queue_of(self, mark: int, /) -> int:
        """The queue whose work passes a mark, or 0."""
        ...

    def set(self, queue: int, what: int, value: bool, /) -> None:
        """Set a flag."""
        ...

    @property
    def end(self) -> Callable[[int, object], object]:
        """``set`` of OVER, for a queue and whatever: the callback of a weak reference. It runs no
        Python, so that no exception of a signal handler prevents it."""
        ...

    def sizes(self) -> tuple[int, ...]:
        """The number of the interface, and the sizes of records that libraries in C share."""
        ...

    def get(self, queue: int, what: int, /) -> int:
        """Get a number."""
        ...

    def failure(self, queue: int, /) -> int:
        """The address of ``struct gl_failure``, after BROKE."""
        ...

    def lost(self, queue: int, /) -> int:
        """How many items the child of a fork has lost since it was asked last."""
        ...

    def busy(self) -> tuple[int, ...]:
        """The queues with unfinished work."""
        ...

    def count_refusals(self, change: int, /) -> None:
        """Count captures in progress, and default streams with work on a thread: the libraries in C
        append nothing while there is one."""
        ...

    def new_mark(self) -> int:
        """A mark."""
        ...

    def release_mark(self, mark: int, /) -> None:
        """Count one use less."""
        ...

    def is_passed(self, mark: int, /) -> bool:
        """Whether a mark is passed."""
        ...

    def new_event(self) -> int:
        """An event."""
        ...

    def release_event(self, event: int, /) -> None:
        """Count one use less."""
        ...

    def record(self, event: int, queue: int, /) -> bool:
        """Record an event behind the work of a queue: now if it has none, or for the queue 0.
        Whether a thread must start to serve the queue."""
        ...

    def mark_of(self, event: int, /) -> int:
        """The mark of an event's last recording, with a use for the caller; 0 if that is passed, or
        there is none."""
        ...

    def time_of(self, event: int, /) -> int:
        """The time at which an event's last recording was passed, in ns of ``perf_counter_ns``: 0
        before that, and -1 if there is none."""
        ...

    def note_captured(self, event: int, /) -> None:
        """Note that an event's last recording is in a capture: Python alone answers for it."""
        ...

    def new_map(self, of: int, /) -> int:
        """A map of ranges of memory; ``of`` is what they are of, as in native/space.h."""
        ...

    def release_map(self, map: int, /) -> None:
        """Free a map."""
        ...

    def add_range(self, map: int, start: int, size: int, kind: int, /) -> None:
        """Add a range, in place of one with the same start."""
        ...

    def remove_range(self, map: int, start: int, /) -> None:
        """Remove the range with a start, if there is one."""
        ...

    def find_range(self, map: int, address: int, size: int, /) -> int | None:
        """The start of the range that holds bytes; no bytes also at its end."""
        ...

    def range_meets(self, map: int, address: int, size: int, /) -> bool:
        """Whether a range of a map, whose ranges are disjoint, has one of the bytes."""
        ...

    def range_size(self, map: int, start: int, /) -> int:
        """The size of the range with a start, or 0."""
        ...

    def ranges(self, map: int, /) -> list[tuple[int, int]]:
        """(start, size) of all ranges, in order."""
        ...

    def adopt_block(self, address: int, /) -> tuple[int, int, int] | None:
        """Become the owner of the block that C allocated at an address; its start, size and
        context. None if there is none, or it has an owner."""
        ...

    def release_block(self, start: int, /) -> None:
        """Free an adopted block."""
        ...

    def free_large(self, start: int, size: int, /) -> None:
        """Free what C allocated in pages of its own."""
        ...


def _functions() -> Functions:
    module = compiled()
    if module is not None:
        return module
    from gridlane.runtime.queues.queues_by_ctypes import Queues

    return Queues()


native = _functions()
"""The functions."""
