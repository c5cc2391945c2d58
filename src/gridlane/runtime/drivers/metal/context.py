"""The shared state of an open Metal device, and its deferred frees."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from gridlane.runtime.drivers.metal.adapters import Adapter
from gridlane.runtime.queues.host_driven_context import HostDrivenContext


class Context(HostDrivenContext):
    """The state of an open device.

    Attributes:
        metal, pool: Metal's module, and the factory of autorelease pools.
        device: the MTLDevice.
        retired: (number of a batch, function to call when it is done), in order.
    """

    def __init__(self, adapter: Adapter) -> None:
        super().__init__()
        self.adapter = adapter
        self.metal, self.pool = adapter.provider.metal, adapter.provider.pool
        self.device = adapter.device
        self.retired: deque[tuple[int, Callable[[], object]]] = deque()

    def retire(self, work: Callable[[], object]) -> None:
        """Call ``work`` when all work recorded so far is done; safe on any thread at any moment, as
        finalizers run so."""
        self.retired.append((self.progress, work))
