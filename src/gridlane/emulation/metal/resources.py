"""The operands of commands: buffers, pipelines, sizes."""

from __future__ import annotations

from typing import NamedTuple

from gridlane.emulation.metal.bridge import Object, require
from gridlane.emulation.metal.machine import Program
from gridlane.emulation.metal.memory import Memory


class MTLSize(NamedTuple):
    """A width, height and depth."""

    width: int
    height: int
    depth: int


class Bytes:
    """pyobjc's objc.varlist: memory of unknown length."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def as_buffer(self, count: int) -> memoryview:
        """The first so many bytes."""
        require(count <= self._memory.size, f"{count} bytes of a buffer of {self._memory.size}")
        return memoryview(self._memory.host)[:count]


class MTLBuffer(Object):
    """Memory that host and device share."""

    def __init__(self, allocated: list[int], size: int, tracked: bool) -> None:
        """The item of ``allocated`` is the device's number of bytes in use."""
        self._memory = memory = Memory(size)
        self._tracked = tracked
        allocated[0] += size

        def end(counts: list[int] = allocated) -> None:
            counts[0] -= size
            memory.free()

        super().__init__(end)

    def contents(self) -> Bytes:
        return Bytes(self._memory)

    def gpuAddress(self) -> int:
        return self._memory.address

    def length(self) -> int:
        return self._memory.size


class MTLComputePipelineState(Object):
    """A kernel that is ready for launches."""

    def __init__(self, program: Program, name: str, threads: int) -> None:
        super().__init__()
        self._program, self._kernel = program, program.kernels[0][name]
        self._sizes = self._program.sizes(self._kernel)
        self._threads = threads

    def maxTotalThreadsPerThreadgroup(self) -> int:
        return self._threads

    def threadExecutionWidth(self) -> int:
        return 32

    def staticThreadgroupMemoryLength(self) -> int:
        return self._program.static_bytes(0)
