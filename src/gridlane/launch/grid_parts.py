"""Drive the parts of a kernel that is split at its grid barriers, one launch after the other.

Where the threads of a part may come to several barriers, or to the end, the host reads where they
are: so it drives loops around a barrier, and notices threads that do not go on together. On streams
of host-driven devices it waits for that, so such a launch is done or nearly so on return.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
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


BLOCKS_IN_PARTS = 1024
"""What programs are told of how many blocks can meet, as some launch so many: any number can."""


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
"""Launches one part with a parameter block."""


class SplitKernel:
    """A loaded kernel in parts; see LoadedKernel."""

    def __init__(
        self, device: Device, artifact: Artifact, variant: Variant, parts: Sequence[PartKernel]
    ) -> None:
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

    def __init__(self, kernel: SplitKernel, block: Dim3) -> None:
        self.artifact, self.device = kernel.artifact, kernel.device
        self.grid_plan = grid_plan.from_json(kernel.artifact.code)
        self._kernels, self._threads = kernel.parts, math.prod(block)
        self._plans = [each.plan(block, kernel.variant, self.device) for each in self._kernels]
        self.explain: Explain | None = None
        self._free: dict[tuple[int, int], list[Buffer]] = {}
        """Memory of finished launches, by the stream and the size."""
        first = self._plans[0].kernel.artifact
        memory, step = first.params[-2:]
        self._own = self.artifact.param_end
        self._tail = struct.Struct(
            f"<{memory.offset - self._own}xQ{step.offset - memory.end}xI"
            f"{first.param_bytes - step.end}x"
        )

    @property
    def raises(self) -> bool:
        """Whether it can stop itself."""
        return any(plan.kernel.artifact.raises for plan in self._plans)

    def launch(self, params: bytes, gx: int, gy: int, gz: int, shared: int) -> None:
        """Run a grid on the default stream; on a host device, on the caller."""
        if self.device.route != "inline":
            self.device.default_stream.launch(self, params, gx, gy, gz, shared)
            return
        device, grid = self.device, (gx, gy, gz)
        memory, give_back = self._memory(0, grid, shared)
        device.fill(memory.address, 0, self.grid_plan.head_bytes)

        def start(plan: Plan, block: bytes) -> None:
            plan.kernel.launch(block, gx, gy, gz, shared)

        self._drive(params, grid, memory, start, device.download)
        give_back()

    def record(self, stream: Any, params: bytes, gx: int, gy: int, gz: int, shared: int) -> None:
        """Launch the parts on a stream of a host-driven device."""
        grid = gx, gy, gz
        if min(grid) < 1:
            fail(INVALID_VALUE, f"kernel {self.artifact.name}, grid {grid}")
        memory, give_back = self._memory(stream.handle, grid, shared)
        stream._fill(memory.address, 0, self.grid_plan.head_bytes, memory)
        raises = self.raises

        def start(plan: Plan, block: bytes) -> None:
            plan.kernel.record(stream, block, gx, gy, gz, shared)  # type: ignore[attr-defined]  # Recordable

        def read(target: memoryview, source: int) -> None:
            stream.finish()
            stream._read(target, source)
            stream.device.flush()
            if raises:
                stream.device.check()

        self._drive(params, grid, memory, start, read)
        give_back()

    # --- details

    def _memory(self, stream: int, grid: Dim3, shared: int) -> tuple[Buffer, Callable[[], None]]:
        """Memory for a launch, and what makes it free for later ones on the stream."""
        size = self.grid_plan.memory_bytes(math.prod(grid), self._threads, shared)
        free = self._free.setdefault((stream, size), [])
        try:
            memory = free.pop()
        except IndexError:
            memory = self.device.allocate(size)

        def give_back() -> None:
            if not free:
                free.append(memory)

        return memory, give_back

    def _drive(
        self,
        params: bytes,
        grid: Dim3,
        memory: Buffer,
        start: Start,
        read: Callable[[memoryview, int], None],
    ) -> None:
        """Launch parts until the threads end.

        Raises:
            KernelError: they do not go on together.
        """
        plan, own = self.grid_plan, params[: self._own]
        words = bytearray(plan.head_bytes)
        raises, name = self.raises, self.artifact.name
        part = step = 0
        while True:
            step += 1
            if step > MOST_STEPS:
                fail(INVALID_VALUE, f"{name}: more than {MOST_STEPS} barriers of the grid")
            block = own + self._tail.pack(memory.address, step)
            fitting = self._kernels[part].fitting(self._plans[part], grid, block)
            fitting.kernel.explain = self.explain
            start(fitting, block)
            reached: Sequence[int] = plan.outcomes[part]
            if len(reached) != 1 or (raises and reached[0]):
                read(memoryview(words), memory.address)
            if len(reached) != 1:
                came = struct.unpack_from(f"<{len(plan.outcomes)}I", words)
                reached = [each for each in reached if came[each] == step]
            if len(reached) > 1:
                raise plan.missed(name, [*reached])
            if not reached or not reached[0]:
                return
            part = reached[0]
