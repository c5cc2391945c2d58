"""The shared state of a host-driven device: its lock, the threads that may use it, and its
fault."""

from __future__ import annotations

import threading
from copy import copy

from gridlane.core.errors import DeviceError
from gridlane.runtime.queues import callbacks
from gridlane.runtime.queues.deferred_queue import DeferredQueue
from gridlane.runtime.queues.reentry import here, refuse_reentry


class HostDrivenContext:
    """The state of an open device.

    Attributes:
        lock: held to record work, to submit it, and to change the pools. A finalizer may interrupt
            its holder on the same thread; a finalizer of memory only queues a deferred free.
        fault: the exception of a lost device; every call raises a copy.
        progress: the number of the batch that is being recorded.
        deferred_queues: the queues of streams that have had deferred work; see deferred_queue.py.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.fault: DeviceError | None = None
        self.progress: int = 1
        self.deferred_queues: set[DeferredQueue] = set()

    def busy(self) -> list[DeferredQueue]:
        """The queues of deferred work that are not empty."""
        return [each for each in tuple(self.deferred_queues) if each.pending]

    def raise_fault(self) -> None:
        """Raise the fault of a lost device."""
        if self.fault is not None:
            raise copy(self.fault)

    def enter(self) -> None:
        """Raise if this thread may not use the device. A holder of the lock has entered, and does
        not call this again: so a thread that holds it here was interrupted.

        Raises:
            DeviceError: the device is lost; NOT_PERMITTED in a callback, and in a signal handler or
                a finalizer that interrupts a holder of the lock.
        """
        if self.fault is not None:
            raise copy(self.fault)
        if callbacks.here.in_callback:
            callbacks.refuse_in_callback()
        # reentry.is_reentry, inlined.
        if self.lock._is_owned() or here.waits:  # type: ignore[attr-defined]
            refuse_reentry()
