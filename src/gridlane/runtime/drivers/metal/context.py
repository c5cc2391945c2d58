"""The shared state of an open Metal device."""

from __future__ import annotations

from gridlane.runtime.drivers.metal.adapters import Adapter
from gridlane.runtime.queues.host_driven_context import HostDrivenContext


class Context(HostDrivenContext):
    """The state of an open device.

    Attributes:
        metal, pool: Metal's module, and the factory of autorelease pools.
        device: the MTLDevice.
    """

    def __init__(self, adapter: Adapter) -> None:
        super().__init__(software=adapter.provider.emulated)
        self.adapter = adapter
        self.metal, self.pool = adapter.provider.metal, adapter.provider.pool
        self.device = adapter.device
