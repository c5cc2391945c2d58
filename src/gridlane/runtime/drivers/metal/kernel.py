"""Artifacts as pipelines, and their launches."""

from __future__ import annotations

from typing import Any

from gridlane.core.artifact import Artifact
from gridlane.core.device_errors import OUT_OF_RESOURCES, fail
from gridlane.runtime.drivers.metal.pipelines import Prepared
from gridlane.runtime.host_driven_kernel import (
    HostDrivenBound,
    HostDrivenKernel,
    accept,
)
from gridlane.runtime.protocol import Block

SHARED_STEP = 16
"""The granularity of dynamic shared memory, in bytes."""


class MetalKernel(HostDrivenKernel):
    """An artifact on a device."""

    def __init__(self, device: Any, artifact: Artifact) -> None:
        accept(artifact, "metal", "msl", "MSL", "Metal")
        super().__init__(device, artifact)
        self.pipeline = device.pipelines.get(
            artifact.code, artifact.entry, artifact.uses_dynamic_shared
        )

    def check(self, block: Block, shared: int) -> None:
        """Refuse blocks that the device cannot run.

        Raises:
            DeviceError: INVALID_VALUE for any kernel; OUT_OF_RESOURCES for this one.
        """
        threads = self.check_block(block)
        if threads > self.pipeline.threads:
            message = f"{threads} threads; this kernel's registers allow {self.pipeline.threads}"
            fail(OUT_OF_RESOURCES, f"kernel {self.name}, block {block}: {message}")
        static = max(self.artifact.static_shared, self.pipeline.static_shared)
        self.check_shared(static, shared, SHARED_STEP)

    def bind(self, block: Block) -> MetalBound:
        """Bind the kernel to a block shape."""
        return MetalBound(self, block)


class MetalBound(HostDrivenBound[MetalKernel, Prepared]):
    """A kernel and its block shape."""

    def __init__(self, kernel: MetalKernel, block: Block) -> None:
        super().__init__(kernel)
        self.block = block

    def _prepare(self, shared: int) -> Prepared:
        self.kernel.check(self.block, shared)
        return Prepared(self.kernel.pipeline, self.block, self.kernel)
