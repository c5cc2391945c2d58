"""Runs gridlane's MSL on this machine, to see what it computes; see gridlane.emulation.metal."""

from __future__ import annotations

import os
import struct

import numpy as np
from tests.devices import Outcome
from tests.devices import arguments as arguments_of
from tests.runtime.arrays import params as packed

from gridlane.core.artifact import Artifact
from gridlane.core.gpu_abi import PRINT_CAPACITY_OFFSET, RECORDS_OFFSET
from gridlane.core.shader_abi import METAL_LAUNCH_BYTES
from gridlane.emulation.metal.machine import FailedRunError, Program, compiler

__all__ = ["Library", "compiler", "in_ci"]

PRINT_BYTES = 4096


class Library:
    """Compiled kernels, by their artifacts."""

    def __init__(self, artifacts: list[Artifact]) -> None:
        self.numbers = {id(artifact): n for n, artifact in enumerate(artifacts)}
        self.program = Program([artifact.code.decode() for artifact in artifacts])
        self.kept = artifacts

    def run(self, artifact, module, grid, block, arrays, scalars=(), shared=0, seed=1) -> Outcome:
        """Run a kernel on copies of arrays."""
        copies = [np.array(array) for array in arrays]
        numbers = arguments_of(module, [array.ctypes.data for array in copies], scalars)
        # Room behind the parameters: C's struct is as long as its alignment wants.
        params = np.frombuffer(packed(artifact, *numbers) + bytes(8), np.uint8)
        report = np.zeros(RECORDS_OFFSET + PRINT_BYTES, np.uint8)
        report[PRINT_CAPACITY_OFFSET:].view(np.uint32)[0] = PRINT_BYTES
        raw = struct.pack("<6IQI4x", 0, 0, 0, *grid, report.ctypes.data, shared)
        assert len(raw) == METAL_LAUNCH_BYTES
        launch = np.frombuffer(raw, np.uint8)
        kernel = self.program.kernels[self.numbers[id(artifact)]][artifact.entry]
        buffers = {0: params.ctypes.data, 1: launch.ctypes.data}
        groups = {0: shared} if shared else {0: 16}
        try:
            self.program.run(kernel, buffers, grid, block, groups, seed)
        except FailedRunError as error:
            raise AssertionError(str(error)) from None
        outcome = Outcome(copies, bool(report[4:8].view(np.uint32)[0]))
        outcome.report = report  # type: ignore[attr-defined]  # for tests of printing
        return outcome


def in_ci() -> bool:
    """Whether a missing tool is a failure."""
    return bool(os.environ.get("CI"))
