"""Artifacts as programs, their launches, and what they tell."""

from __future__ import annotations

import ctypes
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from gridlane.core import gpu_abi as abi
from gridlane.core.artifact import Artifact
from gridlane.runtime import report
from gridlane.runtime.drivers.heap.engine import Engine, Read, Write
from gridlane.runtime.errors import (
    INVALID_IMAGE,
    INVALID_VALUE,
    NOT_SUPPORTED,
    OUT_OF_RESOURCES,
    KernelStop,
    fail,
)
from gridlane.runtime.protocol import Block, Explain

if TYPE_CHECKING:
    from gridlane.runtime.drivers.heap.device import HeapDevice

SHARED_STEP = 16
"""Bytes of dynamic shared memory come in steps of so many, as each size is a program of its own."""
_LONGEST_GRID = 2**31 - 1


class HeapKernel:
    """An artifact on a device; made again, when it is used, after the device was lost."""

    def __init__(self, device: HeapDevice, artifact: Artifact) -> None:
        engine = device.engine
        if (artifact.target, artifact.format) != (engine.target, engine.format):
            language = engine.format.upper()
            fail(
                INVALID_IMAGE, f"the {engine.target} device runs {language}, not {artifact.format}"
            )
        if artifact.cooperative:
            told = f"{artifact.name}: {engine.target} does not say that all blocks of a grid run"
            fail(NOT_SUPPORTED, f"{told} at once")
        self.device, self.artifact, self.name = device, artifact, artifact.name
        ends = [slot.offset + (slot.dtype.size if slot.dtype else 8) for slot in artifact.params]
        self.param_size = max(ends, default=0)
        self.explain: Explain | None = None
        self.stopped: KernelStop | None = None
        """What a thread raised, and nobody was told yet."""
        self._programs: dict[int, Any] = {}
        self._engine: Engine | None = None
        self.report: report.Report | None = None
        self.report_address = 0
        if artifact.block is None:
            fail(
                INVALID_IMAGE, f"{self.name}: the text is for a block shape, and does not say which"
            )
        self._check_block(artifact.block)
        self._check_shared(0)
        if not artifact.uses_dynamic_shared:
            self.program(0)

    def program(self, shared: int) -> Any:
        """The program for so many bytes of dynamic shared memory.

        Raises:
            DeviceError: OUT_OF_RESOURCES, a block has less; INVALID_IMAGE, from the compiler.
        """
        if self._engine is not self.device.engine:
            self._load()
        room = -(-shared // SHARED_STEP) * SHARED_STEP if self.artifact.uses_dynamic_shared else 0
        made = self._programs.get(room)
        if made is None:
            self._check_shared(shared)
            with self.device.queue.lock:
                made = self._programs[room] = self.device.engine.program(self.artifact, room // 4)
        return made

    def _load(self) -> None:
        """Begin anew on the device as it is now."""
        self._programs.clear()
        self._engine = self.device.engine
        artifact = self.artifact
        if not artifact.errors and not artifact.prints:
            return
        host = (ctypes.c_ubyte * report.size(artifact))()
        self.report = report.Report(artifact, host)
        # No kernel of a shader writes down where it stands: the block ends with the records.
        struct.pack_into("<I", host, abi.TRACE_SLOTS_OFFSET, 0)
        self._host, self._header = host, bytes(host[: abi.RECORDS_OFFSET])
        self._memory = self.device.pool.allocate(abi.RECORDS_OFFSET + self.report.capacity)
        self.report_address = self._memory.address
        self._reset(self.report.capacity)

    # --- limits ---

    def _check_block(self, block: Block) -> None:
        limits, what = self.device.limits, f"kernel {self.name}, block {block}"
        if min(block) < 1 or any(size > most for size, most in zip(block, limits.max_block)):
            fail(INVALID_VALUE, f"{what}; the largest is {limits.max_block}")
        threads = block[0] * block[1] * block[2]
        if threads > limits.max_threads:
            fail(INVALID_VALUE, f"{what}: {threads} threads; the most is {limits.max_threads}")

    def _check_shared(self, shared: int) -> None:
        static, most = self.artifact.static_shared, self.device.limits.max_shared
        if shared < 0 or static + shared > most:
            told = f"{static} bytes of static and {shared} of dynamic shared memory"
            fail(OUT_OF_RESOURCES, f"kernel {self.name}: {told}; a block has {most}")

    # --- what it tells ---

    def _reset(self, records: int) -> None:
        """Begin the report anew, where so many bytes of records may have been written."""
        queue = self.device.queue
        queue.put(Write(self.report_address, memoryview(self._header)))
        if records:
            zeros = memoryview(bytes(records))
            queue.put(Write(self.report_address + abi.RECORDS_OFFSET, zeros))

    def collect(self) -> None:
        """Read the report behind the work so far; print what there is to print. The queue's lock
        is held, so that no launch comes in between."""
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

    # --- facts ---

    def figures(self) -> None:
        """Shaders tell nothing of registers."""

    def occupancy(self, threads: int, shared: int = 0) -> int:
        """The libraries do not tell; one block, which every device holds."""
        return 1

    def bind(self, block: Block) -> HeapBound:
        """The kernel, for the block shape that its text has."""
        if self.artifact.block != block:
            fail(INVALID_VALUE, f"{self.name} is compiled for blocks of {self.artifact.block}")
        return HeapBound(self)


class HeapBound:
    """A kernel and its block shape."""

    def __init__(self, kernel: HeapKernel) -> None:
        self.kernel, self.artifact = kernel, kernel.artifact
        self.raises = kernel.artifact.raises
        self._coarse, self._size = kernel.artifact.coarse, kernel.param_size
        self._queue: Any = None
        self._programs: dict[int, Any] = {}

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

    def put(self, params: bytes, gx: int, gy: int, gz: int, shared: int) -> None:
        """Put a launch into the queue. Hot."""
        kernel = self.kernel
        queue = kernel.device.queue
        if queue is not self._queue:
            self._programs.clear()
            self._queue = queue
        queue.enter()
        program = self._programs.get(shared)
        if program is None:
            kernel._check_shared(shared)
            program = self._programs[shared] = kernel.program(shared)
        if not (0 < gx <= _LONGEST_GRID and 0 < gy <= 65535 and 0 < gz <= 65535):
            fail(INVALID_VALUE, f"kernel {kernel.name}, grid {(gx, gy, gz)}")
        if len(params) < self._size:
            fail(INVALID_VALUE, f"kernel {kernel.name}: {len(params)} bytes of parameters")
        grid = gx // self._coarse, gy, gz
        queue.launch(program, params, grid, kernel.report_address, shared)
        if kernel.report is not None:
            kernel.device.unread.add(kernel)  # behind the launch, so that it is read behind it
