"""One device of Metal."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Sequence
from contextlib import suppress

from gridlane.core import dlpack_abi
from gridlane.core.artifact import Artifact
from gridlane.core.device_errors import NOT_SUPPORTED, KernelStop, fail
from gridlane.core.errors import DeviceError
from gridlane.core.options import Target
from gridlane.memory.device_memory import DeviceMemory
from gridlane.memory.resource import Buffer, HostMemory
from gridlane.runtime.drivers.metal.adapters import Adapter
from gridlane.runtime.drivers.metal.context import Context
from gridlane.runtime.drivers.metal.kernel import MetalKernel
from gridlane.runtime.drivers.metal.memory import Pool
from gridlane.runtime.drivers.metal.moving import Mover
from gridlane.runtime.drivers.metal.pipelines import Pipelines
from gridlane.runtime.drivers.metal.provider import LABEL
from gridlane.runtime.drivers.metal.recorder import MetalRecorder
from gridlane.runtime.host_driven_device import ArenaDevice
from gridlane.runtime.protocol import Block, Limits
from gridlane.runtime.queues.host_driven_transfers import ArenaTransfers


class MetalDevice(ArenaDevice[Context, MetalRecorder, Pool]):
    """An opened adapter: memory, a queue of work, and kernels."""

    def __init__(self, adapter: Adapter, ordinal: int) -> None:
        self.adapter, self.ordinal = adapter, ordinal
        self.emulated = adapter.provider.emulated
        name = f"metal:{ordinal}" if ordinal else "metal"
        # Traces and errors name the device: the name says whether it is emulated.
        self.name = f"{name} ({LABEL})" if self.emulated else name
        self.dlpack_kind = None if self.emulated else dlpack_abi.METAL
        self.limits = _limits(adapter)
        self._lock = threading.RLock()
        self.context = Context(adapter)
        self.pool = self.staging_pool = Pool(self.context)
        self.memory = self.staging = DeviceMemory(self.pool, self)
        self.pipelines = Pipelines(self.context)
        mover = Mover(self.pipelines)
        self.recorder = MetalRecorder(self.context, self.memory, self.pool.residency, mover)
        self.transfers = ArenaTransfers(self)
        self._begin_streams()
        self._end_with_process()

    # --- code ---

    def target(self, block: Block) -> Target:
        """The compilation target; one text serves any block shape."""
        return Target("metal")

    def compile_ahead(self, sources: Sequence[str]) -> None:
        """Give many texts at once to the stand-in's compiler, as each run of it takes a second.
        Apple's compiler gets each text when it is loaded."""
        if self.emulated:
            self.adapter.provider.metal.compile_ahead(sources)

    def load(self, artifact: Artifact) -> MetalKernel:
        """Compile a text with Metal's compiler."""
        self.context.enter()
        return MetalKernel(self, artifact)

    # --- memory ---

    def allocate_host(self, size: int, kind: HostMemory) -> Buffer:
        """Allocate pinned memory, which copies use directly.

        Raises:
            DeviceError: NOT_SUPPORTED for mapped and managed memory: the host and the device
                address memory differently.
        """
        if kind != "pinned":
            fail(NOT_SUPPORTED, f"{kind} memory: the device {self.name} has addresses of its own")
        block = self.allocate(size)
        return Buffer(block.pointer, size, block)

    def memory_info(self) -> tuple[int, int]:
        """Bytes (free, total) of the device's recommended working set."""
        total = self.adapter.working_set
        with self.context.pool():
            used = int(self.context.device.currentAllocatedSize())
        return max(0, total - used), total

    # --- queues ---

    def reset(self) -> None:
        """Wait for all work, drop the errors of kernels, and release unused memory. After a
        failure, work is submitted to a new queue; arrays keep their present contents."""
        if self.ended:
            return
        with suppress(KernelStop, DeviceError):
            self.default_stream.drain()
        with self._lock:
            if self.context.fault is not None:
                self.recorder.abandon()
                self.context.fault = None
                self.recorder.begin_again()
        self.unread.forget()
        self._trim()

    def close(self) -> None:
        """Wait for all work."""
        if self.context.fault is None:
            with suppress(DeviceError, KernelStop):
                self.default_stream.drain()
        self._give_back(True)

    def _give_back(self, everything: bool) -> None:
        if self.context.fault is not None:
            self.recorder.abandon()
        self.pipelines.end()

    # --- facts ---

    def attributes(self) -> dict[str, int]:
        """The CUDA attributes, from Metal's properties."""
        return self._attributes(self.adapter.unified)

    def describe(self) -> dict[str, object]:
        """Facts for ``gridlane devices``."""
        free, total = self.memory_info()
        system = "macOS {}.{}".format(*self.adapter.provider.macos)
        message = f"{LABEL}, for tests and trials" if self.emulated else f"Metal of {system}"
        return {
            "name": self.adapter.name,
            "metal": message,
            "memory": f"{free >> 20} of {total >> 20} MiB free",
            "uuid": f"GPU-{uuid.UUID(int=self.adapter.registry)}",
        }


def _limits(adapter: Adapter) -> Limits:
    return Limits(
        max_threads=adapter.most_threads,
        max_block=adapter.threads,
        max_shared=adapter.shared,
        max_dynamic_shared=adapter.shared,
    )
