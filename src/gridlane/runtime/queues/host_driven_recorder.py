"""The recorder of a host-driven device: the order of its streams' work, in numbered batches.

One batch is open and records work. Batches are submitted in order, and done in order.

A driver implements eight hooks. ``begin`` opens a batch; ``launch``, ``copy``, ``fill`` and
``stamp`` record into it; ``submit`` hands it to the device; ``poll`` queries the device's progress;
``fault`` makes the exception of a failure.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from functools import partial
from typing import Any, Generic, TypeVar

from gridlane.core.device_errors import INVALID_VALUE, fail
from gridlane.core.errors import DeviceError
from gridlane.memory.suballocator import Arena
from gridlane.runtime.queues.host_driven_context import HostDrivenContext, Ordered
from gridlane.runtime.queues.latch import Latch
from gridlane.runtime.reporting import ReportBlock

Place = tuple[Arena, int]
"""Bytes of an arena: it, and the offset of the first one."""
SLICE_NS = 100_000_000
"""Nanoseconds of a blocking wait, between which Python handles signals."""


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


class Batch:
    """Work that is submitted at once.

    Attributes:
        value: its number, once it is submitted.
        commands, at: how many commands it has, and how many bytes of their parameters.
        keep: objects that live until it is done.
    """

    __slots__ = ("at", "commands", "keep", "value")

    def __init__(self) -> None:
        self.value = self.commands = self.at = 0
        self.keep: list[object] = []


C = TypeVar("C", bound=HostDrivenContext)
B = TypeVar("B", bound=Batch)
P = TypeVar("P")
L = TypeVar("L")
S = TypeVar("S")


class Recorder(Generic[C, B, P, L, S]):
    """Records, submits and waits. Methods that change it hold the lock.

    It has a context C and batches B, refers to bytes of the device by places P, launches what is
    prepared as L (see ``HostDrivenKernel``), and stores times in S.

    Attributes:
        lock: the context's.
        last, default_point: the number of the last batch with a command: of any stream, and of the
            default one.
        done: the last batch that is known to be done.
        suspects: the names of kernels that may be in flight, where the device reports no more.
        longest, room: commands, and bytes of parameters, with which a batch is submitted.
        most: bytes of parameters of a launch.
        spin_ns: how long ``poll`` may keep the processor, in nanoseconds.
        ahead: whether a wait begins the next batch, which shortens the next launch.
        fill_step: the alignment in bytes of what ``fill`` can set.
    """

    longest, room, most = 64, 1 << 17, sys.maxsize
    spin_ns = 5_000
    ahead = False
    fill_step = 1

    def __init__(self, context: C) -> None:
        self.context: C = context
        self.lock: threading.RLock = context.lock
        self.last = self.default_point = self.done = 0
        self.suspects: set[str] = set()
        self._open: B | None = None
        self._next: B | None = None
        """Begun ahead."""
        self._flying: deque[B] = deque()
        """Batches in flight that hold something."""

    # --- the hooks ---

    def begin(self) -> B:
        """A new batch."""
        raise NotImplementedError

    def launch(
        self,
        stream: Ordered,
        prepared: L,
        params: bytes,
        grid: tuple[int, int, int],
        shared: int,
        block: ReportBlock | None,
        /,
    ) -> None:
        """Record a launch. Hot.

        Args:
            params: the parameter block.
            grid: blocks along each axis.
            shared: bytes of dynamic shared memory.
            block: the report block, if the kernel reports.
        """
        raise NotImplementedError

    def copy(self, stream: Ordered, target: P, source: P, size: int, keep: object = None) -> None:
        """Record a copy of bytes that do not overlap. ``keep`` lives until it is done."""
        raise NotImplementedError

    def fill(self, stream: Ordered, target: P, size: int, byte: int) -> None:
        """Record a fill of bytes, in whole steps."""
        raise NotImplementedError

    def new_stamp(self, owner: object) -> S:
        """Storage for a time, for the lifetime of ``owner``."""
        raise NotImplementedError

    def stamp(self, stream: Ordered, stamp: S) -> None:
        """Record the time when all earlier work is done."""
        raise NotImplementedError

    def between_ms(self, first: S, second: S) -> float:
        """Milliseconds from one recorded time to another."""
        raise NotImplementedError

    def submit(self, batch: B) -> None:
        """Hand the open batch, of which there is none any more, to the device: under the number
        ``progress`` of the context, which counts on. A signal handler may raise after any call, and
        a number that counts must be submitted."""
        raise NotImplementedError

    def poll(self, number: int, /, ns: int = 0) -> bool:
        """Whether a submitted batch is done; ``done`` is up to date where it is not.

        Args:
            ns: wait so long at most; for more than ``spin_ns`` without keeping the processor.
        """
        raise NotImplementedError

    def fault(self, cause: Any) -> DeviceError:
        """The exception of a failure that the driver reports."""
        raise NotImplementedError

    def release(self, batch: B) -> None:
        """Take back a batch that is done."""
        batch.keep.clear()

    # --- recording ---

    def ordered(self, stream: Ordered, size: int = 0) -> B:
        """The open batch, for a command of a stream with so many bytes of parameters. The caller
        holds the lock. Hot."""
        batch = self._open
        if batch is None or batch.commands >= self.longest or batch.at + size > self.room:
            if batch is not None:
                self.flush()
            if size > self.most:
                fail(INVALID_VALUE, f"{size} bytes of parameters; the most is {self.most}")
            if self.context.fault is not None:  # it may have come since the caller entered
                self.context.raise_fault()
            batch, self._next = self._next or self.begin(), None
            self._open = batch
        batch.commands += 1
        stream.point = self.last = self.context.progress
        if stream.is_default:
            self.default_point = self.last
        return batch

    def flush(self) -> None:
        """Submit the recorded work."""
        with self.lock:
            if self._open is not None:
                self.submit(self._open)

    # --- waiting ---

    def passed(self, number: int, /) -> bool:
        """Whether a batch is done, without waiting; recorded work is submitted."""
        if number >= self.context.progress:
            self.flush()
        return self.poll(number)

    def wait(self, number: int, /) -> None:
        """Wait until a batch is done."""
        poll = self.poll
        if number >= self.context.progress:
            self.flush()
            if self.ahead:
                with self.lock:
                    if self._open is None and self._next is None:
                        self._next = self.begin()
        if not (poll(number) or self.context.poll(partial(poll, number, self.spin_ns))):
            while not poll(number, SLICE_NS):
                pass
        self.collect()

    def collect(self) -> None:
        """Release the resources of finished batches, and free what waits for them."""
        with self.lock:
            context, flying = self.context, self._flying
            while flying and (self.done >= flying[0].value or self.poll(flying[0].value)):
                self.release(flying.popleft())
            done = flying[0].value - 1 if flying else context.progress - 1
            if self._open is None and not flying:
                done = context.progress  # nothing is recorded in the next batch
                self.suspects.clear()
            retired = context.retired
            while retired and retired[0][0] <= done:
                retired.popleft()[1]()

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


AnyRecorder = Recorder[Any, Any, Any, Any, Any]
