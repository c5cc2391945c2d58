"""Artifacts as pipelines, and their launches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gridlane.core.artifact import Artifact
from gridlane.runtime import report
from gridlane.runtime.errors import (
    INVALID_HANDLE,
    INVALID_IMAGE,
    INVALID_VALUE,
    NOT_SUPPORTED,
    OUT_OF_RESOURCES,
    fail,
)
from gridlane.runtime.protocol import Block, Explain

if TYPE_CHECKING:
    from gridlane.runtime.drivers.metal.device import MetalDevice
    from gridlane.runtime.drivers.metal.stream import MetalStream

_LONGEST_GRID = 2**31 - 1


class MetalKernel:
    """An artifact on a device."""

    def __init__(self, device: MetalDevice, artifact: Artifact) -> None:
        if artifact.target != "metal" or artifact.format != "msl":
            fail(INVALID_IMAGE, f"the metal device runs MSL, not {artifact.format}")
        if artifact.cooperative:
            fail(
                NOT_SUPPORTED,
                f"{artifact.name}: Metal does not say that all blocks of a grid run at once",
            )
        self.device, self.artifact, self.name = device, artifact, artifact.name
        self.pipeline = device.pipelines.get(
            artifact.code, artifact.entry, artifact.uses_dynamic_shared
        )
        ends = [slot.offset + (slot.dtype.size if slot.dtype else 8) for slot in artifact.params]
        self.param_size = max(ends, default=0)
        self.explain: Explain | None = None
        self.report: report.Report | None = None
        self.report_address = 0
        if artifact.errors or artifact.prints:
            self._memory = device.allocate_block(report.size(artifact))
            self.report = report.Report(artifact, self._memory.host())
            self.report_address = self._memory.address
            device.reporting.add(self)

    def check(self, block: Block, shared: int) -> None:
        """Refuse blocks that the device does not run.

        Raises:
            DeviceError: INVALID_VALUE, no kernel runs so; OUT_OF_RESOURCES, this one does not.
        """
        limits, what = self.device.limits, f"kernel {self.name}, block {block}"
        if min(block) < 1 or any(size > most for size, most in zip(block, limits.max_block)):
            fail(INVALID_VALUE, f"{what}; the largest is {limits.max_block}")
        threads = block[0] * block[1] * block[2]
        if threads > limits.max_threads:
            fail(INVALID_VALUE, f"{what}: {threads} threads; the most is {limits.max_threads}")
        if threads > self.pipeline.threads:
            told = f"{threads} threads; this kernel's registers allow {self.pipeline.threads}"
            fail(OUT_OF_RESOURCES, f"{what}: {told}")
        static = max(self.artifact.static_shared, self.pipeline.static_shared)
        dynamic = -(-shared // 16) * 16
        if shared < 0 or static + dynamic > limits.max_shared:
            told = f"{static} bytes of static and {shared} of dynamic shared memory"
            fail(OUT_OF_RESOURCES, f"{what}: {told}; a block has {limits.max_shared}")

    def figures(self) -> None:
        """Metal tells nothing of registers."""

    def occupancy(self, threads: int, shared: int = 0) -> int:
        """Metal does not tell; one block, which every device holds."""
        return 1

    def bind(self, block: Block) -> MetalBound:
        """The kernel for blocks of one shape."""
        return MetalBound(self, block)


class MetalBound:
    """A kernel and its block shape."""

    def __init__(self, kernel: MetalKernel, block: Block) -> None:
        self.kernel, self.artifact, self.block = kernel, kernel.artifact, block
        self.raises = kernel.artifact.raises
        self._coarse = kernel.artifact.coarse
        self._size = kernel.param_size
        self._checked: set[int] = set()

    @property
    def explain(self) -> Explain | None:
        """What the user is to see of a KernelStop."""
        return self.kernel.explain

    @explain.setter
    def explain(self, value: Explain | None) -> None:
        self.kernel.explain = value

    def launch(self, params: bytes, gx: int, gy: int, gz: int, shared: int) -> None:
        """Launch on the default stream."""
        self.kernel.device.default_stream.launch(self, params, gx, gy, gz, shared)

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
        if not (0 < gx <= _LONGEST_GRID and 0 < gy <= 65535 and 0 < gz <= 65535):
            fail(INVALID_VALUE, f"kernel {kernel.name}, grid {(gx, gy, gz)}")
        if len(params) < self._size:
            fail(INVALID_VALUE, f"kernel {kernel.name}: {len(params)} bytes of parameters")
        if kernel.report is not None:
            kernel.device.unread.add(kernel)
        grid = gx // self._coarse, gy, gz
        stream.recorder.launch(
            stream, kernel.pipeline, params, grid, self.block, shared, kernel.report_address, kernel
        )
