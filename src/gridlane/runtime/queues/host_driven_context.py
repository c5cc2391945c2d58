"""What the streams and the parts of a host-driven device share: its lock, who may use it,
and how it was lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from copy import copy
from time import monotonic_ns

from gridlane.core.errors import DeviceError
from gridlane.core.processors import available_processors
from gridlane.runtime.queues import callbacks
from gridlane.runtime.queues.deferred_queue import DeferredQueue
from gridlane.runtime.queues.reentry import here, refuse_reentry

POLL_NS = 100_000
"""Nanoseconds that a wait polls before it blocks. A thread that a driver blocks wakes 20 to 40 us
after the GPU is done, which is a multiple of what a short kernel takes and little beside 100 us."""

Poll = Callable[[Callable[[], bool]], bool]
"""``HostDrivenContext.poll``."""


class HostDrivenContext:
    """The state of an open device.

    Args:
        software: the device computes on the host's processors.

    Attributes:
        polls: waits poll before they block. They do not where polling takes a processor from the
            work that is waited for: on a software device, and in a process with one processor.
        lock: held to record work, to submit it, and to change the pools. A finalizer
            may run in the middle of what holds it, on the same thread, and a finalizer of memory
            only notes what is to be given back.
        fault: what every call raises a copy of, once the device is lost.
        progress: the number of the batch of work that is recorded now.
        deferred_queues: those of its streams that have had work; see deferred_queue.py.
    """

    def __init__(self, software: bool) -> None:
        self.polls = not software and available_processors() > 1
        self.lock = threading.RLock()
        self.fault: DeviceError | None = None
        self.progress: int = 1
        self.deferred_queues: set[DeferredQueue] = set()

    def busy(self) -> list[DeferredQueue]:
        """The queues of deferred work that are not empty."""
        return [each for each in tuple(self.deferred_queues) if each.pending]

    def raise_fault(self) -> None:
        """Raise what the device was lost by, if it was."""
        if self.fault is not None:
            raise copy(self.fault)

    def poll(self, is_done: Callable[[], bool]) -> bool:
        """Poll for a while, where waits poll; the caller blocks next unless the work is done.

        Signal handlers run between polls, and so do other threads, as drivers' functions release
        the GIL. The caller does not hold the lock.

        Args:
            is_done: asks the driver, without waiting.

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
        """Raise what keeps this thread from using the device. Who holds the lock has entered, and
        does not call this again: so a thread that holds it here was interrupted.

        Raises:
            DeviceError: the device is lost; NOT_PERMITTED in a callback, and in a signal
                handler or a finalizer that interrupts what holds the lock.
        """
        if self.fault is not None:
            raise copy(self.fault)
        if callbacks.here.in_callback:
            callbacks.refuse_in_callback()
        # As reentry.is_reentry, without its call.
        if self.lock._is_owned() or here.waits:  # type: ignore[attr-defined]
            refuse_reentry()
