"""Artifacts as programs, their launches, and their reports."""

from __future__ import annotations

import ctypes
import struct
from typing import Any, Protocol

import numpy as np

from gridlane.core import gpu_abi as abi
from gridlane.core.artifact import Artifact
from gridlane.core.device_errors import (
    INVALID_IMAGE,
    INVALID_VALUE,
    NOT_SUPPORTED,
    OUT_OF_MEMORY,
    OUT_OF_RESOURCES,
    KernelStop,
    fail,
)
from gridlane.core.errors import DeviceError
from gridlane.core.shader_abi import PARAMETERS, buffer_places, buffers_reader
from gridlane.memory.device_memory import DeviceMemory
from gridlane.memory.resource import Buffer
from gridlane.runtime import report
from gridlane.runtime.drivers.single_buffer.engine import FIRST_ALONE, Engine, Read, Write
from gridlane.runtime.drivers.single_buffer.queue import Queue
from gridlane.runtime.drivers.single_buffer.stream import SingleBufferStream
from gridlane.runtime.host_driven_kernel import (
    HostDrivenBound,
    HostDrivenKernel,
    KernelDevice,
    accept,
)
from gridlane.runtime.protocol import Block

FEWEST = 1 << 12
"""Bytes of records below which a report block is not shrunk."""
SHARED_STEP = 16
"""The granularity of dynamic shared memory in bytes, as each size is a program of its own."""


class Device(KernelDevice, Protocol):
    """The device interface that a kernel uses."""

    engine: Engine
    report_memory: DeviceMemory[Buffer]
    queue: Queue
    unread: dict[SingleBufferKernel, None]

    def has_buffer(self, number: int) -> bool:
        """Whether the device's memory has a buffer with this number."""
        ...

    def has_several_buffers(self) -> bool:
        """Whether an array may lie in a further buffer."""
        ...


class SingleBufferKernel(HostDrivenKernel[Device]):
    """An artifact on a device; reloaded at its next use after the device was lost."""

    def __init__(self, device: Device, artifact: Artifact) -> None:
        engine = device.engine
        accept(artifact, engine.target, engine.format, engine.format.upper(), engine.target)
        super().__init__(device, artifact)
        self.stopped: KernelStop | None = None
        """The error of a thread that is not raised yet."""
        self._programs: dict[int, Any] = {}
        self._engine: Engine | None = None
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
        made = self._programs.get(room)
        if made is None:
            self.check_shared(self.artifact.static_shared, shared)
            with self.device.queue.lock:
                self.device.queue.raise_fault()  # the process may have begun to exit since
                made = self._programs[room] = self.device.engine.program(self.artifact, room // 4)
        return made

    def _load(self) -> None:
        """Load the artifact on the device as it is now."""
        self._programs.clear()
        self._engine = self.device.engine
        artifact = self.artifact
        if not artifact.errors and not artifact.prints:
            return
        host = (ctypes.c_ubyte * report.size(artifact))()
        self.report = report.Report(artifact, host)
        # Shader kernels record no positions: the block ends with the records.
        struct.pack_into("<I", host, abi.TRACE_SLOTS_OFFSET, 0)
        self._memory = self._room_for(self.report)
        self._host, self._header = host, bytes(host[: abi.RECORDS_OFFSET])
        self.report_address = self._memory.address
        self._reset(self.report.capacity)

    # --- its reports ---

    def _room_for(self, block: report.Report) -> Buffer:
        """Memory for a report block, with fewer records if the first buffer has no room for all."""
        while True:
            try:
                return self.device.report_memory.allocate(abi.RECORDS_OFFSET + block.capacity)
            except DeviceError as error:
                if error.number != OUT_OF_MEMORY or block.capacity < FEWEST:
                    raise
            block.shrink(block.capacity // 4)

    def _reset(self, records: int) -> None:
        """Clear the report, which may contain so many bytes of records."""
        queue = self.device.queue
        queue.put(Write(self.report_address, memoryview(self._header)))
        if records:
            zeros = memoryview(bytes(records))
            queue.put(Write(self.report_address + abi.RECORDS_OFFSET, zeros))

    def collect(self) -> None:
        """Read the report after the work so far, and print its lines. The caller holds the queue's
        lock, so that no launch comes in between."""
        if self.report is None or self._engine is not self.device.engine:
            return
        queue, host = self.device.queue, np.ctypeslib.as_array(self._host).data
        at = self.report_address
        queue.put(Read(at, abi.RECORDS_OFFSET, host[: abi.RECORDS_OFFSET], 0))
        queue.flush()
        claimed, _ = struct.unpack_from("<II", self._host, abi.CLAIMED_OFFSET)
        (head,) = struct.unpack_from("<I", self._host, abi.PRINT_HEAD_OFFSET)
        records = min(head, self.report.capacity) // 4 * 4
        if records:
            start, end = abi.RECORDS_OFFSET, abi.RECORDS_OFFSET + records
            queue.put(Read(at + start, records, host[start:end], 0))
            queue.flush()
        if claimed or head:
            self._reset(records)
        self.report.flush()
        self.stopped = self.stopped or self.report.stop()

    def bind(self, block: Block) -> SingleBufferBound:
        """Bind the kernel to the block shape that its text has."""
        if self.artifact.block != block:
            fail(INVALID_VALUE, f"{self.name} is compiled for blocks of {self.artifact.block}")
        return SingleBufferBound(self)


class SingleBufferBound(HostDrivenBound[SingleBufferKernel, SingleBufferStream, Any]):
    """A kernel and its block shape; a program for each size of dynamic shared memory."""

    def __init__(self, kernel: SingleBufferKernel) -> None:
        super().__init__(kernel)
        self._of_several = bool(self.artifact.buffers)
        self._numbers = buffers_reader(self.artifact.params)

    def _prepare(self, shared: int) -> Any:
        self.kernel.check_shared(self.artifact.static_shared, shared)
        return self.kernel.program(shared)

    def _submit(
        self,
        stream: SingleBufferStream,
        prepared: Any,
        params: bytes,
        grid: tuple[int, int, int],
        shared: int,
    ) -> None:
        kernel, queue = self.kernel, stream.queue
        buffers = FIRST_ALONE
        if queue.several_buffers or self._of_several:
            buffers = self._buffers(params)
        queue.launch(prepared, params, grid, kernel.report_address, shared, buffers)
        if kernel.report is not None:
            kernel.device.unread[kernel] = None  # after the launch, so that it is read after it
        stream.point = queue.mark()

    def _buffers(self, params: bytes) -> tuple[int, ...]:
        """The buffers that a launch binds. The code ignores the upper halves of addresses, so no
        launch may pass without this check.

        Raises:
            DeviceError: INVALID_VALUE, the code is for arrays in other buffers; NOT_SUPPORTED.
        """
        artifact, numbers = self.artifact, self._numbers(params)
        if artifact.untraced and self.kernel.device.has_several_buffers():
            fail(
                NOT_SUPPORTED,
                f"kernel {self.kernel.name} makes pointers of numbers or of memory, and the "
                "device's memory is several buffers, of which any may be meant",
                "pass arrays as arguments, or use less memory",
            )
        if not all(map(self.kernel.device.has_buffer, set(numbers))):
            told = f"kernel {self.kernel.name}: a pointer is in no buffer of the device's memory"
            fail(INVALID_VALUE, told)
        if buffer_places(numbers) != artifact.buffers:
            fail(
                INVALID_VALUE,
                f"kernel {self.kernel.name}: its pointers are in the buffers {numbers}, and the "
                f"code is for pointers that share buffers as {artifact.buffers or (0,)} does",
            )
        return (0, *dict.fromkeys([number for number in numbers if number]))
