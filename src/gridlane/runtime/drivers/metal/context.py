"""What the parts of an open device share: its state, and what is to be given back."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from copy import copy
from typing import Any

from gridlane.core.errors import DeviceError
from gridlane.runtime.backlog import in_host_function
from gridlane.runtime.drivers.metal.adapters import Adapter
from gridlane.runtime.errors import NOT_PERMITTED, fail


class Context:
    """The state of an open device.

    Attributes:
        metal, pool: Metal's module, and what makes autorelease pools.
        device: the MTLDevice.
        lock: held to record, commit, and change the pool.
        fault: what every call raises a copy of, from an error of the device on.
        retired: (number of a batch, what to call when it is done), in order.
        progress: the number of the batch that is recorded now.
        busy: backlogs of streams with work that is not recorded yet; see backlog.py.
    """

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self.metal, self.pool = adapter.provider.metal, adapter.provider.pool
        self.device = adapter.device
        # A finalizer may run in the middle of what holds the lock, on the same thread.
        self.lock = threading.RLock()
        self.fault: DeviceError | None = None
        self.retired: deque[tuple[int, Callable[[], object]]] = deque()
        self.progress = 1
        self.busy: set[Any] = set()

    def enter(self) -> None:
        """Raise what keeps this thread from using the device.

        Raises:
            DeviceError: a command buffer failed; NOT_PERMITTED in a host function.
        """
        if self.fault is not None:
            raise copy(self.fault)
        if in_host_function():
            fail(NOT_PERMITTED, "a callback of a stream may not use the device")

    def retire(self, work: Callable[[], object]) -> None:
        """Call ``work`` when all that is recorded by now is done; from any thread, at any moment,
        as finalizers are."""
        self.retired.append((self.progress, work))
