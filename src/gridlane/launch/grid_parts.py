"""Drive the parts of a kernel that is split at its grid barriers, one launch after the other.

Where the threads of a part may reach several barriers, or the end, the host reads the barrier that
they reached. In this way it drives loops around a barrier, and detects threads that diverge. On
streams of host-driven devices the host waits for that read, so the launch is done or nearly done on
return.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from ctypes import string_at
from typing import Any, Protocol

from gridlane.backends import backend
from gridlane.core import grid_plan
from gridlane.core.artifact import Artifact
from gridlane.core.compact import Variant
from gridlane.core.device_errors import INVALID_VALUE, fail
from gridlane.launch.dimensions import Dim3
from gridlane.launch.plan import Plan
from gridlane.memory.resource import Buffer
from gridlane.runtime.protocol import BoundKernel, Device, Explain

MOST_STEPS = (1 << 32) - 1
"""The most launches of one kernel: the number of a step is a u32."""


MOST_KEPT = 4
"""The most streams for which a kernel keeps its memory between launches."""

BLOCKS_IN_PARTS = 1024
"""The reported number of blocks that can meet: any number can, and some programs launch as many as
are reported."""


class PartKernel(Protocol):
    """The interface of a part: ``launch.kernel.Kernel``."""

    def plan(self, block: Dim3, variant: Variant = ..., device: Device | None = None) -> Plan:
        """The plan for blocks of a shape."""
        ...

    def fitting(self, plan: Plan, grid: Dim3, params: bytes) -> Plan:
        """The plan for a launch."""
        ...


def holds_whole_grids(device: Device) -> bool:
    """Whether all blocks of a grid run on a device at once, so that they may wait for each other in
    one launch. Elsewhere a kernel with barriers of the grid is launched in parts."""
    return "grid_sync" in backend(device.target((32, 1, 1)).name).legal_ops(())


Start = Callable[[Plan, bytes], None]
"""A function that launches one part with a parameter block."""


class SplitKernel:
    """A loaded kernel in parts; see LoadedKernel."""

    def __init__(
        self, device: Device, artifact: Artifact, variant: Variant, parts: Sequence[PartKernel]
    ) -> None:
        if device.route == "queued":  # from here on, launches exclude each other
            device.runs_parts = True  # type: ignore[attr-defined]  # host-driven devices
        self.device, self.artifact, self.parts = device, artifact, parts
        self.variant = Variant(variant.compact)

    def bind(self, block: Dim3) -> BoundKernel:
        """Compile the parts for a block shape."""
        return SplitBound(self, block)

    def figures(self) -> None:
        """Return None: each part has registers of its own."""

    def occupancy(self, threads: int, shared: int = 0) -> int:
        """Return 1: no block waits for another one."""
        return 1


class SplitBound:
    """A kernel in parts for blocks of a shape; see BoundKernel and Recordable."""

    in_parts = True

    def __init__(self, kernel: SplitKernel, block: Dim3) -> None:
        self.artifact, self.device = kernel.artifact, kernel.device
        self.grid_plan = grid_plan.from_json(kernel.artifact.code)
        self._kernels, self._threads = kernel.parts, math.prod(block)
        self._plans = [each.plan(block, kernel.variant, self.device) for each in self._kernels]
        self.explain: Explain | None = None
        self._free: dict[int, tuple[int, Buffer]] = {}
        """The memory of the last finished launch on each stream, with its size."""
        # Other variants of the parts exist only where the code is for some launches.
        self._is_for_all = self.device.several_buffers is None and not kernel.variant.compact
        self._words = struct.Struct(f"<{len(self.grid_plan.outcomes)}I")
        first = self._plans[0].kernel.artifact
        memory, step = first.params[-2:]
        self._own = self.artifact.param_end
        self._tail = struct.Struct(
            f"<{memory.offset - self._own}xQ{step.offset - memory.end}xI"
            f"{first.param_bytes - step.end}x"
        )

    @property
    def raises(self) -> bool:
        """Whether it can raise."""
        return any(plan.kernel.artifact.raises for plan in self._plans)

    def launch(self, params: bytes, gx: int, gy: int, gz: int, shared: int) -> None:
        """Run a grid on the default stream; on a host device, on the caller."""
        if self.device.route != "inline":
            self.device.default_stream.launch(self, params, gx, gy, gz, shared)
            return
        device, grid = self.device, (gx, gy, gz)
        memory, size = self._memory(0, grid, shared), self._words.size
        device.fill(memory.address, 0, self.grid_plan.head_bytes)

        def start(plan: Plan, block: bytes) -> None:
            plan.kernel.launch(block, gx, gy, gz, shared)

        def read() -> bytes:
            if device.host_visible:
                return string_at(memory.address, size)
            record = bytearray(size)
            device.download(memoryview(record), memory.address)
            return bytes(record)

        self._drive(params, grid, memory, start, read)
        self._give_back(0, memory)

    def record(self, stream: Any, params: bytes, gx: int, gy: int, gz: int, shared: int) -> None:
        """Launch the parts on a stream of a host-driven device, behind its other work."""
        grid = gx, gy, gz
        if min(grid) < 1:
            fail(INVALID_VALUE, f"kernel {self.artifact.name}, grid {grid}")
        memory = self._memory(stream.handle, grid, shared)
        stream._fill(memory.address, 0, self.grid_plan.head_bytes, memory)
        raises, record_bytes = self.raises, bytearray(self._words.size)

        def start(plan: Plan, block: bytes) -> None:
            plan.kernel.record(stream, block, *grid, shared)  # type: ignore[attr-defined]  # Recordable
            if raises:
                stream.finish()
                stream.device.flush()
                stream.device.check(owner=stream.owner)

        def read() -> bytes:
            stream.finish()
            stream._read(memoryview(record_bytes), memory.address)
            stream.device.flush()
            stream.device.check(late=True, owner=stream.owner)
            return bytes(record_bytes)

        self._drive(params, grid, memory, start, read)
        self._give_back(stream.handle, memory)

    # --- details

    def _memory(self, stream: int, grid: Dim3, shared: int) -> Buffer:
        """The memory of a launch: that of the previous launch on the stream, if it has the size."""
        size = self.grid_plan.memory_bytes(math.prod(grid), self._threads, shared)
        had, memory = self._free.pop(stream, (0, None))
        return memory if memory is not None and had == size else self.device.allocate(size)

    def _give_back(self, stream: int, memory: Buffer) -> None:
        """Store memory for the next launch on the stream, which follows this one."""
        if len(self._free) >= MOST_KEPT:
            self._free.clear()
        self._free[stream] = memory.size, memory

    def _drive(
        self, params: bytes, grid: Dim3, memory: Buffer, start: Start, read: Callable[[], bytes]
    ) -> None:
        """Launch parts until the threads end; hot.

        Raises:
            KernelError: the threads diverge between parts.
        """
        outcomes, plans, own = self.grid_plan.outcomes, self._plans, params[: self._own]
        pack, unpack, address = self._tail.pack, self._words.unpack, memory.address
        part = 0
        for step in range(1, MOST_STEPS):
            block = own + pack(address, step)
            plan = plans[part]
            if not self._is_for_all:
                plan = self._kernels[part].fitting(plan, grid, block)
            plan.kernel.explain = self.explain
            start(plan, block)
            reached: Sequence[int] = outcomes[part]
            if len(reached) != 1:
                came = unpack(read())
                reached = [each for each in reached if came[each] == step]
            if len(reached) > 1 and self.grid_plan.ends_apart:
                reached = [each for each in reached if each]
            if len(reached) > 1:
                raise self.grid_plan.missed(self.artifact.name, [*reached])
            part = reached[0] if reached else 0
            if not part:
                return
        fail(INVALID_VALUE, f"{self.artifact.name}: {MOST_STEPS} barriers of the grid")
