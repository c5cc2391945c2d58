"""Artifacts as programs, their launches, and their reports."""

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
from gridlane.core.shader_abi import PARAMETERS, buffer_places, buffers_reader
from gridlane.runtime.drivers.single_buffer.engine import Engine
from gridlane.runtime.drivers.single_buffer.recorder import Prepared
from gridlane.runtime.drivers.single_buffer.report import QueuedReport
from gridlane.runtime.host_driven_kernel import HostDrivenKernel, accept
from gridlane.runtime.protocol import Block

SHARED_STEP = 16
"""The granularity of dynamic shared memory in bytes, as each size is a program of its own."""


class SingleBufferKernel(HostDrivenKernel[Prepared]):
    """An artifact on a device; reloaded at its next use after the device was lost."""

    def __init__(self, device: Any, artifact: Artifact) -> None:
        engine = device.engine
        accept(artifact, engine.target, engine.format, engine.format.upper(), engine.target)
        super().__init__(device, artifact)
        self._programs: dict[int, Any] = {}
        self._engine: Engine | None = None
        self._numbers = buffers_reader(artifact.params)
        if artifact.block is None:
            fail(
                INVALID_IMAGE, f"{self.name}: the text is for a block shape, and does not say which"
            )
        self.check_block(artifact.block)
        self.check_shared(artifact.static_shared, 0)
        self._check_bindings()
        if not artifact.uses_dynamic_shared:
            self.program(0)

    def _check_bindings(self) -> None:
        """Refuse code that binds more buffers than the device allows."""
        most = self.device.engine.facts.bindings - len(PARAMETERS)
        if self.artifact.memory_bindings > most:
            fail(
                OUT_OF_RESOURCES,
                f"kernel {self.name}: its arrays are in {self.artifact.memory_bindings} buffers, "
                f"the first one included; a kernel on {self.device.engine.facts.name} has {most}",
                "pass fewer arrays to a launch, or allocate those that a launch uses together "
                "before others",
            )

    def program(self, shared: int) -> Any:
        """The program for so many bytes of dynamic shared memory.

        Raises:
            DeviceError: OUT_OF_RESOURCES if a block has less; INVALID_IMAGE, from the compiler.
        """
        if self._engine is not self.device.engine:
            self._load()
        room = -(-shared // SHARED_STEP) * SHARED_STEP if self.artifact.uses_dynamic_shared else 0
        result = self._programs.get(room)
        if result is None:
            self.check_shared(self.artifact.static_shared, shared)
            with self.device.context.lock:
                self.device.context.raise_fault()  # the process may have begun to exit since
                result = self._programs[room] = self.device.engine.program(self.artifact, room // 4)
        return result

    def _load(self) -> None:
        """Load the artifact on the device in its present state."""
        self._programs.clear()
        self._engine = self.device.engine
        with self._blocks_lock:
            self._blocks.clear()
        if self.reports:  # what has no room for a report is refused before it is launched
            self.block_of(self.device.owners.here())

    def _new_block(self) -> QueuedReport:
        return QueuedReport(self.device, self.artifact)

    def buffers(self, params: bytes) -> tuple[int, ...]:
        """The buffers that a launch binds. The code ignores the upper halves of addresses, so no
        launch may pass without this check.

        Raises:
            DeviceError: INVALID_VALUE, the code is for arrays in other buffers; NOT_SUPPORTED.
        """
        artifact, numbers = self.artifact, self._numbers(params)
        if artifact.untraced and self.device.has_several_buffers():
            fail(
                NOT_SUPPORTED,
                f"kernel {self.name} makes pointers of numbers or of memory, and the "
                "device's memory is several buffers, of which any may be meant",
                "pass arrays as arguments, or use less memory",
            )
        if not all(map(self.device.has_buffer, set(numbers))):
            message = f"kernel {self.name}: a pointer is in no buffer of the device's memory"
            fail(INVALID_VALUE, message)
        if buffer_places(numbers) != artifact.buffers:
            fail(
                INVALID_VALUE,
                f"kernel {self.name}: its pointers are in the buffers {numbers}, and the "
                f"code is for pointers that share buffers as {artifact.buffers or (0,)} does",
            )
        return (0, *dict.fromkeys([number for number in numbers if number]))

    def prepare(self, block: Block, shared: int) -> Prepared:
        """The program, and the buffers of launches."""
        self.check_shared(self.artifact.static_shared, shared)
        return Prepared(self.program(shared), self.name, bool(self.artifact.buffers), self.buffers)
