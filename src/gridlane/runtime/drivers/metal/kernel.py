"""Artifacts as pipelines, and their launches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gridlane.core.artifact import Artifact
from gridlane.core.device_errors import INVALID_HANDLE, INVALID_VALUE, OUT_OF_RESOURCES, fail
from gridlane.runtime import report
from gridlane.runtime.protocol import Block
from gridlane.runtime.queued_kernel import LONGEST_GRID, QueuedBound, QueuedKernel, accept

if TYPE_CHECKING:
    from gridlane.runtime.drivers.metal.device import MetalDevice
    from gridlane.runtime.drivers.metal.stream import MetalStream

SHARED_STEP = 16
"""Bytes of dynamic shared memory come in steps of so many."""


class MetalKernel(QueuedKernel):
    """An artifact on a device."""

    def __init__(self, device: MetalDevice, artifact: Artifact) -> None:
        accept(artifact, "metal", "msl", "MSL", "Metal")
        super().__init__(device, artifact)
        self.pipeline = device.pipelines.get(
            artifact.code, artifact.entry, artifact.uses_dynamic_shared
        )
        if artifact.errors or artifact.prints:
            self._memory = device.allocate(report.size(artifact))
            self.report = report.Report(artifact, self._memory.host())
            self.report_address = self._memory.address
            device.reporting.add(self)

    def check(self, block: Block, shared: int) -> None:
        """Refuse blocks that the device does not run.

        Raises:
            DeviceError: INVALID_VALUE, no kernel runs so; OUT_OF_RESOURCES, this one does not.
        """
        threads = self.check_block(block)
        if threads > self.pipeline.threads:
            told = f"{threads} threads; this kernel's registers allow {self.pipeline.threads}"
            fail(OUT_OF_RESOURCES, f"kernel {self.name}, block {block}: {told}")
        static = max(self.artifact.static_shared, self.pipeline.static_shared)
        self.check_shared(static, shared, SHARED_STEP)

    def bind(self, block: Block) -> MetalBound:
        """The kernel for blocks of one shape."""
        return MetalBound(self, block)


class MetalBound(QueuedBound):
    """A kernel and its block shape."""

    def __init__(self, kernel: MetalKernel, block: Block) -> None:
        super().__init__(kernel)
        self.block = block
        self._checked: set[int] = set()

    def record(
        self,
        stream: MetalStream,
        params: bytes,
        gx: int,
        gy: int,
        gz: int,
        shared: int,
        keep: Any = None,
    ) -> None:
        """Record a launch on a stream. Hot."""
        kernel = self.kernel
        if stream.device is not kernel.device:
            fail(INVALID_HANDLE, f"kernel {kernel.name}: the stream is another device's")
        kernel.device.context.enter()
        if shared not in self._checked:
            kernel.check(self.block, shared)
            self._checked.add(shared)
        if not (0 < gx <= LONGEST_GRID and 0 < gy <= 65535 and 0 < gz <= 65535):
            fail(INVALID_VALUE, f"kernel {kernel.name}, grid {(gx, gy, gz)}")
        if len(params) < self._size:
            fail(INVALID_VALUE, f"kernel {kernel.name}: {len(params)} bytes of parameters")
        if kernel.report is not None:
            kernel.device.unread.add(kernel)
        grid = gx // self._coarse, gy, gz
        stream.recorder.launch(
            stream, kernel.pipeline, params, grid, self.block, shared, kernel.report_address, kernel
        )
