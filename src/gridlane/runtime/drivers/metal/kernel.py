"""Artifacts as pipelines, and their launches."""

from __future__ import annotations

from typing import Any

from gridlane.core.artifact import Artifact
from gridlane.core.device_errors import OUT_OF_RESOURCES, fail
from gridlane.runtime.drivers.metal.pipelines import Prepared
from gridlane.runtime.host_driven_kernel import HostDrivenKernel, accept
from gridlane.runtime.protocol import Block

SHARED_STEP = 16
"""The granularity of dynamic shared memory, in bytes."""


class MetalKernel(HostDrivenKernel[Prepared]):
    """An artifact on a device."""

    def __init__(self, device: Any, artifact: Artifact) -> None:
        accept(artifact, "metal", "msl", "MSL", "Metal")
        super().__init__(device, artifact)
        self.pipeline = device.pipelines.get(
            artifact.code, artifact.entry, artifact.uses_dynamic_shared
        )

    def prepare(self, block: Block, shared: int) -> Prepared:
        """The pipeline, if the device can run such blocks.

        Raises:
            DeviceError: INVALID_VALUE for any kernel; OUT_OF_RESOURCES for this one.
        """
        threads = self.check_block(block)
        if threads > self.pipeline.threads:
            message = f"{threads} threads; this kernel's registers allow {self.pipeline.threads}"
            fail(OUT_OF_RESOURCES, f"kernel {self.name}, block {block}: {message}")
        static = max(self.artifact.static_shared, self.pipeline.static_shared)
        self.check_shared(static, shared, SHARED_STEP)
        return Prepared(self.pipeline, block, self)
