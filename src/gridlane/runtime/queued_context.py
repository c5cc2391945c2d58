"""What the streams and the parts of a host-driven device share: its lock, who may use it,
and how it was lost."""

from __future__ import annotations

import threading
from copy import copy

from gridlane.core.device_errors import NOT_PERMITTED, fail
from gridlane.core.errors import DeviceError
from gridlane.runtime.deferred_queue import DeferredQueue, in_host_function
from gridlane.runtime.reentry import here, refuse_reentry


class QueuedContext:
    """The state of an open device.

    Attributes:
        lock: held to record work, to give it to the driver, and to change the pools. A finalizer
            may run in the middle of what holds it, on the same thread, and a finalizer of memory
            only notes what is to be given back.
        fault: what every call raises a copy of, once the device is lost.
        progress: the number of the batch of work that is recorded now.
        deferred_queues: those of its streams that have had work; see deferred_queue.py.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.fault: DeviceError | None = None
        self.progress = 1
        self.deferred_queues: set[DeferredQueue] = set()

    def busy(self) -> list[DeferredQueue]:
        """The queues of deferred work that are not empty."""
        return [each for each in tuple(self.deferred_queues) if each.pending]

    def raise_fault(self) -> None:
        """Raise what the device was lost by, if it was."""
        if self.fault is not None:
            raise copy(self.fault)

    def enter(self) -> None:
        """Raise what keeps this thread from using the device. Who holds the lock has entered, and
        does not call this again: so a thread that holds it here was interrupted.

        Raises:
            DeviceError: the device is lost; NOT_PERMITTED in a host function, and in a signal
                handler or a finalizer that interrupts what holds the lock.
        """
        if self.fault is not None:
            raise copy(self.fault)
        if in_host_function():
            fail(NOT_PERMITTED, "a callback of a stream may not use the device")
        # As reentry.is_reentry, without its call.
        if self.lock._is_owned() or here.waits:  # type: ignore[attr-defined]
            refuse_reentry()
