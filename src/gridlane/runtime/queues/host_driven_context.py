"""The shared state of a host-driven device: its lock, the threads that may use it, and its
fault."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import get_ident
from time import monotonic_ns

from gridlane.core.device_errors import again
from gridlane.core.errors import DeviceError
from gridlane.core.processors import available_processors
from gridlane.runtime.queues import callbacks
from gridlane.runtime.queues.deferred_queue import DeferredQueue
from gridlane.runtime.queues.reentry import here, refuse_reentry

POLL_NS = 100_000
"""Nanoseconds that a wait polls before it blocks. A blocked thread wakes 20 to 40 us after the GPU
is done: several times the duration of a short kernel, and little compared with 100 us."""

Poll = Callable[[Callable[[], bool]], bool]
"""``HostDrivenContext.poll``."""


class Ordered:
    """A stream; the default one is ordered with all others.

    Attributes:
        epoch: the epoch that its next command depends on, where a recorder has epochs.
        point: the number of the batch with its last command.
    """

    epoch = point = 0
    is_default = False


Use = tuple[Ordered, int]
"""A stream, and the thread that uses it."""


def _meets(uses: list[Use], own: Use) -> bool:
    """Whether other threads use a stream, or one that is ordered with it."""
    stream, thread = own
    return any(
        other != thread and (used is stream or used.is_default or stream.is_default)
        for used, other in uses
    )


class HostDrivenContext:
    """The state of an open device.

    Args:
        software: the device computes on the host's processors.

    Attributes:
        polls: waits poll before they block. On a software device, and in a process with one
            processor, they do not: polling would take the processor from the work itself.
        lock: held to record work, to submit it, and to change the pools. A finalizer may interrupt
            its holder on the same thread; a finalizer of memory only queues a deferred free.
        device_name: the name of the device.
        fault: the exception of a lost device; every call raises a copy.
        progress: the number of the batch that is being recorded.
        closed: whether the device is released.
        retired: (number of a batch, function to call when it is done), in order.
        deferred_queues: the queues of streams that have had deferred work; see deferred_queue.py.
        drives: the streams on which the host drives a grid through its parts, each with its thread.
        pieces: the streams for which other work is being submitted, each with its thread; known on
            devices that run kernels in parts.
    """

    def __init__(self, software: bool) -> None:
        self.polls = not software and available_processors() > 1
        self.lock = threading.RLock()
        self.device_name = ""
        self.fault: DeviceError | None = None
        self.progress: int = 1
        self.closed = False
        self.retired: deque[tuple[int, Callable[[], object]]] = deque()
        self.deferred_queues: set[DeferredQueue] = set()
        self.drives: list[Use] = []
        self.pieces: list[Use] = []
        self._use_ends = threading.Condition()

    def busy(self) -> list[DeferredQueue]:
        """The queues of deferred work that are not empty."""
        return [each for each in tuple(self.deferred_queues) if each.pending]

    @contextmanager
    def driving(self, stream: Ordered) -> Generator[None]:
        """Block the work of other threads that is ordered with a stream, while several submissions
        of this thread make up one launch."""
        own = stream, get_ident()
        with self._use_ends:
            self._use_ends.wait_for(lambda: not _meets(self.drives, own))
            self.drives.append(own)
        try:
            with self._use_ends:
                self._use_ends.wait_for(lambda: not _meets(self.pieces, own))
            yield
        finally:
            self._end(self.drives, own)

    @contextmanager
    def submitting(self, stream: Ordered) -> Generator[None]:
        """Hold the launches of other threads in parts, while a piece of work that is ordered with
        them is submitted. Work of other streams may be what these launches wait for."""
        own = stream, get_ident()
        with self._use_ends:
            if all(thread != own[1] for _, thread in self.pieces):  # else a drive waits for it
                self._use_ends.wait_for(lambda: not _meets(self.drives, own))
            self.pieces.append(own)
        try:
            yield
        finally:
            self._end(self.pieces, own)

    def _end(self, uses: list[Use], own: Use) -> None:
        with self._use_ends:
            uses.remove(own)
            self._use_ends.notify_all()

    def retire(self, work: Callable[[], object]) -> None:
        """Call ``work`` when all work recorded so far is done; safe on any thread at any moment, as
        finalizers run so."""
        if not self.closed:
            self.retired.append((self.progress, work))

    def raise_fault(self) -> None:
        """Raise the fault of a lost device."""
        if self.fault is not None:
            raise again(self.fault, self.device_name)

    def poll(self, is_done: Callable[[], bool]) -> bool:
        """Poll until the work is done, for ``POLL_NS`` at most; the caller blocks if it is not.

        Signal handlers run between polls, and other threads as well, since drivers' functions
        release the GIL. The caller does not hold the lock.

        Args:
            is_done: queries the driver, without waiting.

        Returns:
            Whether the work is done.
        """
        if not self.polls:
            return False
        end = monotonic_ns() + POLL_NS
        while not is_done():
            if monotonic_ns() >= end:
                return False
        return True

    def enter(self) -> None:
        """Raise if this thread may not use the device. A holder of the lock has entered, and does
        not call this again: so a thread that holds it here was interrupted.

        Raises:
            DeviceError: the device is lost; NOT_PERMITTED in a callback, and in a signal handler or
                a finalizer that interrupts a holder of the lock.
        """
        if self.fault is not None:
            raise again(self.fault, self.device_name)
        if callbacks.here.in_callback:
            callbacks.refuse_in_callback()
        # reentry.is_reentry, inlined.
        if self.lock._is_owned() or here.waits:  # type: ignore[attr-defined]
            refuse_reentry()
