"""What the parts of an open device share: its state, and what is to be given back."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from gridlane.runtime.drivers.metal.adapters import Adapter
from gridlane.runtime.queues.host_driven_context import HostDrivenContext


class Context(HostDrivenContext):
    """The state of an open device.

    Attributes:
        metal, pool: Metal's module, and what makes autorelease pools.
        device: the MTLDevice.
        retired: (number of a batch, what to call when it is done), in order.
    """

    def __init__(self, adapter: Adapter) -> None:
        super().__init__(software=adapter.provider.emulated)
        self.adapter = adapter
        self.metal, self.pool = adapter.provider.metal, adapter.provider.pool
        self.device = adapter.device
        self.retired: deque[tuple[int, Callable[[], object]]] = deque()

    def retire(self, work: Callable[[], object]) -> None:
        """Call ``work`` when all that is recorded by now is done; from any thread, at any moment,
        as finalizers are."""
        self.retired.append((self.progress, work))
