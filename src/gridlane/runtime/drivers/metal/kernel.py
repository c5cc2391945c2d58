"""Artifacts as pipelines, and their launches."""

from __future__ import annotations

import weakref
from typing import Any, Protocol

from gridlane.core.artifact import Artifact
from gridlane.core.device_errors import OUT_OF_RESOURCES, fail
from gridlane.memory.suballocator import Suballocation
from gridlane.runtime import report
from gridlane.runtime.drivers.metal.pipelines import Pipeline, Pipelines
from gridlane.runtime.drivers.metal.stream import MetalStream
from gridlane.runtime.host_driven_kernel import (
    HostDrivenBound,
    HostDrivenKernel,
    KernelDevice,
    accept,
)
from gridlane.runtime.protocol import Block

SHARED_STEP = 16
"""The granularity of dynamic shared memory, in bytes."""


class Device(KernelDevice, Protocol):
    """The device interface that a kernel uses."""

    pipelines: Pipelines
    reporting: weakref.WeakSet[HostDrivenKernel[Any]]
    unread: dict[HostDrivenKernel[Any], None]

    def allocate(self, size: int) -> Suballocation:
        """Allocate device memory."""
        ...


class MetalKernel(HostDrivenKernel[Device]):
    """An artifact on a device."""

    def __init__(self, device: Device, artifact: Artifact) -> None:
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
        """Refuse blocks that the device cannot run.

        Raises:
            DeviceError: INVALID_VALUE for any kernel; OUT_OF_RESOURCES for this one.
        """
        threads = self.check_block(block)
        if threads > self.pipeline.threads:
            told = f"{threads} threads; this kernel's registers allow {self.pipeline.threads}"
            fail(OUT_OF_RESOURCES, f"kernel {self.name}, block {block}: {told}")
        static = max(self.artifact.static_shared, self.pipeline.static_shared)
        self.check_shared(static, shared, SHARED_STEP)

    def bind(self, block: Block) -> MetalBound:
        """Bind the kernel to a block shape."""
        return MetalBound(self, block)


class MetalBound(HostDrivenBound[MetalKernel, MetalStream, Pipeline]):
    """A kernel and its block shape."""

    def __init__(self, kernel: MetalKernel, block: Block) -> None:
        super().__init__(kernel)
        self.block = block

    def _prepare(self, shared: int) -> Pipeline:
        self.kernel.check(self.block, shared)
        return self.kernel.pipeline

    def _submit(
        self,
        stream: MetalStream,
        prepared: Pipeline,
        params: bytes,
        grid: tuple[int, int, int],
        shared: int,
    ) -> None:
        kernel = self.kernel
        if kernel.report is not None:
            kernel.device.unread[kernel] = None
        stream.recorder.launch(
            stream, prepared, params, grid, self.block, shared, kernel.report_address, kernel
        )
