"""The recorder of a host-driven device: the order of its streams' work, as numbered batches.

A driver implements the hooks. ``begin`` opens a batch, and ``launch``, ``copy``, ``fill`` and
``stamp`` record into it; ``submit`` hands it to the device, ``poll`` queries the device's progress,
and ``fault`` makes the exception of a failure.
"""

from __future__ import annotations

import threading
from typing import Any

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
