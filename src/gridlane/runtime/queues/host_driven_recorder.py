"""The recorder of a host-driven device: the order of its streams' work, as numbered batches.

A driver implements the hooks. ``begin`` opens a batch, and ``launch``, ``copy``, ``fill`` and
``stamp`` record into it; ``submit`` hands it to the device, ``poll`` queries the device's progress,
and ``fault`` makes the exception of a failure.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any, Generic, TypeVar

from gridlane.memory.suballocator import Arena
from gridlane.runtime.queues.host_driven_context import Ordered
from gridlane.runtime.queues.latch import Latch
from gridlane.runtime.reporting import ReportBlock

Place = tuple[Arena, int]
"""Bytes of an arena: it, and the offset of the first one."""


class Mark:
    """One recording of an event.

    Attributes:
        recorded: whether the stream has reached the recording, so that the other fields are known.
        point: the number of the batch after which it is passed.
        epoch: of the work before it, where a recorder has epochs.
        stamp: the driver's storage for its time; None if it has no timing.
    """

    __slots__ = ("__weakref__", "epoch", "point", "recorded", "stamp")

    def __init__(self) -> None:
        self.recorded = Latch()
        self.point = self.epoch = 0
        self.stamp: Any = None


class Recorder:
    """Records, submits and waits. Methods that change it hold the lock.

    Attributes:
        lock: the context's.
        last, default_point: the number of the last batch with a command: of any stream, and of the
            default one.
        fill_step: the alignment in bytes of what ``fill`` can set.
    """

    lock: threading.RLock
    last = default_point = 0
    fill_step = 1

    # --- implemented by each driver ---

    def launch(
        self,
        stream: Any,
        bound: Any,
        prepared: Any,
        params: bytes,
        grid: tuple[int, int, int],
        shared: int,
        block: ReportBlock | None,
        /,
    ) -> None:
        """Record a launch. Hot.

        Args:
            bound: the kernel bound to a block shape.
            prepared: see ``HostDrivenBound``.
            params: the parameter block.
            grid: blocks along each axis.
            shared: bytes of dynamic shared memory.
            block: the report block, if the kernel reports.
        """
        raise NotImplementedError

    def copy(
        self, stream: Ordered, target: Place, source: Place, size: int, keep: object = None
    ) -> None:
        """Record a copy of bytes that do not overlap. ``keep`` lives until it is done."""
        raise NotImplementedError

    def fill(self, stream: Ordered, target: Place, size: int, byte: int) -> None:
        """Record a fill of aligned bytes."""
        raise NotImplementedError

    def new_stamp(self, owner: object) -> Any:
        """Storage for a time, for the lifetime of ``owner``."""
        raise NotImplementedError

    def stamp(self, stream: Ordered, stamp: Any) -> None:
        """Record the time when all earlier work is done."""
        raise NotImplementedError

    def between_ms(self, first: Any, second: Any) -> float:
        """Milliseconds from one recorded time to another."""
        raise NotImplementedError

    def flush(self) -> object:
        """Submit the recorded work."""
        raise NotImplementedError

    def passed(self, number: int, /) -> bool:
        """Whether a batch is done, without waiting; recorded work is submitted."""
        raise NotImplementedError

    def wait(self, number: int, /) -> None:
        """Wait until a batch is done."""
        raise NotImplementedError

    # --- the order of streams ---

    def predecessor(self, stream: Ordered) -> int:
        """The number of the batch that a stream's next work follows."""
        return self.last if stream.is_default else max(stream.point, self.default_point)

    def newest(self, stream: Ordered) -> int:
        """The number of the batch with a stream's last work; the default stream's, of any."""
        return self.last if stream.is_default else stream.point

    def put(self, stream: Ordered, mark: Mark) -> None:
        """Set a mark after all recorded work of the stream."""
        with self.lock:
            if mark.stamp is not None:
                self.stamp(stream, mark.stamp)
            self._set(stream, mark)

    def _set(self, stream: Ordered, mark: Mark) -> None:
        mark.point = self.predecessor(stream)

    def follow(self, stream: Ordered, mark: Mark) -> None:
        """Order the stream's later work after a mark that is set."""
        with self.lock:
            stream.epoch = max(stream.epoch, mark.epoch)
            stream.point = max(stream.point, mark.point)


B = TypeVar("B")


class BatchRecorder(Recorder, Generic[B]):
    """A recorder whose batches B are command buffers of one queue: one is open, others are in
    flight. A batch has its number in ``value``.

    Attributes:
        suspects: the names of kernels that may be in flight, where the device reports no more.
    """

    def __init__(self, context: Any) -> None:
        self.context, self.lock = context, context.lock
        self.suspects: set[str] = set()
        self._open: B | None = None
        self._flying: deque[Any] = deque()
        self._done = 0
        """The last batch known to be done."""

    # --- implemented by each driver ---

    def is_done(self, number: int, /, ns: int = 0) -> bool:
        """Whether a submitted batch is done, after ``ns`` at most."""
        raise NotImplementedError

    def _poll(self, number: int, /) -> bool:
        """Query whether the first batch in flight, with this number, is done."""
        raise NotImplementedError

    def _release(self, batch: B) -> None:
        """Take back a batch that is done."""
        raise NotImplementedError

    # --- waiting ---

    def passed(self, number: int, /) -> bool:
        """Whether a batch is done; recorded work is submitted."""
        if number >= self.context.progress:
            self.flush()
        return self.is_done(number)

    def collect(self) -> None:
        """Release the resources of finished batches, and free what waits for them."""
        with self.lock:
            context, flying = self.context, self._flying
            while flying and (self._done >= flying[0].value or self._poll(flying[0].value)):
                self._release(flying.popleft())
            done = flying[0].value - 1 if flying else context.progress - 1
            if self._open is None and not flying:
                done = context.progress  # nothing is recorded in the next batch
                self.suspects.clear()
            retired = context.retired
            while retired and retired[0][0] <= done:
                retired.popleft()[1]()
