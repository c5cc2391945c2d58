"""What kernels of host-driven devices have in common; see queued_stream.py."""

from __future__ import annotations

from typing import Any

from gridlane.core.artifact import Artifact
from gridlane.core.device_errors import (
    INVALID_IMAGE,
    INVALID_VALUE,
    NOT_SUPPORTED,
    OUT_OF_RESOURCES,
    fail,
)
from gridlane.runtime.protocol import Block, Explain
from gridlane.runtime.report import Report

LONGEST_GRID = 2**31 - 1
"""Blocks along x; along y and z CUDA's 65535."""


class QueuedKernel:
    """An artifact on a device.

    Attributes:
        param_size: bytes that a launch has to give.
        report, report_address: what its threads tell the host, where they have something to tell.
    """

    def __init__(self, device: Any, artifact: Artifact) -> None:
        self.device, self.artifact, self.name = device, artifact, artifact.name
        ends = [slot.offset + (slot.dtype.size if slot.dtype else 8) for slot in artifact.params]
        self.param_size = max(ends, default=0)
        self.explain: Explain | None = None
        self.report: Report | None = None
        self.report_address = 0

    def check_block(self, block: Block) -> int:
        """Refuse a block shape that the device does not have; else its threads.

        Raises:
            DeviceError: INVALID_VALUE.
        """
        limits, what = self.device.limits, f"kernel {self.name}, block {block}"
        if min(block) < 1 or any(size > most for size, most in zip(block, limits.max_block)):
            fail(INVALID_VALUE, f"{what}; the largest is {limits.max_block}")
        threads = block[0] * block[1] * block[2]
        if threads > limits.max_threads:
            fail(INVALID_VALUE, f"{what}: {threads} threads; the most is {limits.max_threads}")
        return threads

    def check_shared(self, static: int, shared: int, step: int = 1) -> None:
        """Refuse more shared memory than a block has.

        Args:
            step: dynamic shared memory comes in so many bytes.

        Raises:
            DeviceError: OUT_OF_RESOURCES.
        """
        most = self.device.limits.max_shared
        if shared < 0 or static + -(-shared // step) * step > most:
            told = f"{static} bytes of static and {shared} of dynamic shared memory"
            fail(OUT_OF_RESOURCES, f"kernel {self.name}: {told}; a block has {most}")

    # --- facts ---

    def figures(self) -> None:
        """The devices tell nothing of registers."""

    def occupancy(self, threads: int, shared: int = 0) -> int:
        """They do not tell that either; one block, which every device holds."""
        return 1


class QueuedBound:
    """A kernel and its block shape."""

    def __init__(self, kernel: Any) -> None:
        self.kernel, self.artifact = kernel, kernel.artifact
        self.raises = kernel.artifact.raises
        self._coarse, self._size = kernel.artifact.coarse, kernel.param_size

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


def accept(artifact: Artifact, target: str, form: str, language: str, library: str) -> None:
    """Refuse an artifact that is not the device's.

    Args:
        form, language: the format of its code, and what users call that.
        library: what drives the device, as users call it.

    Raises:
        DeviceError: INVALID_IMAGE, NOT_SUPPORTED.
    """
    if (artifact.target, artifact.format) != (target, form):
        fail(INVALID_IMAGE, f"the {target} device runs {language}, not {artifact.format}")
    if artifact.cooperative:
        told = f"{artifact.name}: {library} does not say that all blocks of a grid run at once"
        fail(NOT_SUPPORTED, told)
