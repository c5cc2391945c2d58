"""Command queues, command buffers and their encoders, with their states."""

# pyright: reportPrivateUsage=false
# The objects hide from callers what Metal hides, and not from each other.

from __future__ import annotations

from typing import Any, Protocol

from gridlane.core.frozen import frozen
from gridlane.emulation.metal import bridge
from gridlane.emulation.metal.bridge import Object, require
from gridlane.emulation.metal.resources import MTLBuffer, MTLComputePipelineState
from gridlane.emulation.metal.sync import MTLFence, MTLResidencySet, MTLSharedEvent

SLOTS = 31
BYTES_AT_ONCE = 4096
GROUP_STEP = 16
NOT_ENQUEUED, COMMITTED, COMPLETED, ERROR = 0, 2, 4, 5

Shape = tuple[int, int, int]


class Processor(Protocol):
    """The processor of command buffers."""

    def take(self, command: MTLCommandBuffer) -> None:
        """Append a committed command buffer."""
        ...

    def wait(self, command: MTLCommandBuffer) -> None:
        """Wait until a command buffer is done."""
        ...


@frozen
class Dispatch:
    """A launch: the pipeline, the contents of each slot, and the grid."""

    pipeline: MTLComputePipelineState
    buffers: dict[int, tuple[MTLBuffer | bytes, int]]
    groups: dict[int, int]
    grid: Shape
    block: Shape


class MTLCommandQueue(Object):
    """A queue; its device does the work."""

    def __init__(self, gpu: Processor) -> None:
        super().__init__()
        self._gpu = gpu
        self._sets: list[MTLResidencySet] = []

    def commandBuffer(self) -> MTLCommandBuffer:
        return MTLCommandBuffer(self)

    def addResidencySet_(self, added: MTLResidencySet) -> None:
        self._sets.append(added)


class MTLCommandBuffer(Object):
    """Work that is committed as a whole."""

    def __init__(self, queue: MTLCommandQueue) -> None:
        super().__init__()
        self._queue = queue
        self._status = NOT_ENQUEUED
        self._encoders: list[MTLComputeCommandEncoder] = []
        self._signals: list[tuple[MTLSharedEvent, int]] = []
        self._error: Any = None
        self._times = [0.0, 0.0]

    def _open(self) -> None:
        require(self._status == NOT_ENQUEUED, "the command buffer is committed already")
        open_ = self._encoders and not self._encoders[-1]._ended
        require(not open_, "the command buffer has an encoder that has not ended")

    def computeCommandEncoder(self) -> MTLComputeCommandEncoder:
        self._open()
        self._encoders.append(MTLComputeCommandEncoder(self))
        return self._encoders[-1]

    def encodeSignalEvent_value_(self, event: MTLSharedEvent, value: int) -> None:
        self._open()
        self._signals.append((event, value))

    def commit(self) -> None:
        self._open()
        bridge.autorelease(self._ownership)  # as Metal autoreleases many objects internally
        self._status = COMMITTED
        self._queue._gpu.take(self)

    def waitUntilCompleted(self) -> None:
        require(self._status, "waiting for a command buffer that is not committed")
        self._queue._gpu.wait(self)

    def status(self) -> int:
        return self._status

    def error(self) -> Any:
        return self._error

    def GPUStartTime(self) -> float:
        return self._times[0]

    def GPUEndTime(self) -> float:
        return self._times[1]


class MTLComputeCommandEncoder(Object):
    """Launches that run one after the other. Only fences, and buffers whose hazards are tracked,
    order it with other encoders."""

    def __init__(self, command: MTLCommandBuffer) -> None:
        state = self._state = {"ended": False}

        def check() -> None:
            if not state["ended"]:  # Metal ends the process for it
                bridge.living["encoder that went before it ended"] += 1

        super().__init__(check)
        self._pipeline: MTLComputePipelineState | None = None
        self._buffers: dict[int, tuple[MTLBuffer | bytes, int]] = {}
        self._groups: dict[int, int] = {}
        self._used: dict[MTLBuffer, int] = {}
        self._waits: list[MTLFence] = []
        self._updates: list[MTLFence] = []
        self._work: list[Dispatch] = []

    @property
    def _ended(self) -> bool:
        return self._state["ended"]

    def _check(self) -> None:
        require(not self._ended, "the encoder has ended")

    def setComputePipelineState_(self, pipeline: MTLComputePipelineState) -> None:
        self._check()
        self._pipeline = pipeline

    def setBuffer_offset_atIndex_(self, buffer: MTLBuffer, offset: int, slot: int) -> None:
        self._check()
        require(slot < SLOTS, f"buffer({slot})")
        require(offset < buffer._memory.size, f"offset {offset} in {buffer._memory.size} bytes")
        self._buffers[slot] = buffer, offset

    def setBytes_length_atIndex_(self, data: Any, length: int, slot: int) -> None:
        self._check()
        require(slot < SLOTS, f"buffer({slot})")
        require(0 < length <= BYTES_AT_ONCE, f"setBytes of {length} bytes; the most is 4096")
        require(length <= len(data), f"setBytes of {length} bytes from {len(data)}")
        self._buffers[slot] = bytes(data[:length]), 0

    def setThreadgroupMemoryLength_atIndex_(self, length: int, slot: int) -> None:
        self._check()
        require(slot < SLOTS, f"threadgroup({slot})")
        require(length % GROUP_STEP == 0, f"{length} bytes of threadgroup memory: not 16 times")
        self._groups[slot] = length

    def useResource_usage_(self, buffer: MTLBuffer, usage: int) -> None:
        self._check()
        require(usage in (1, 2, 3), f"usage {usage}")
        self._used[buffer] = self._used.get(buffer, 0) | usage

    def waitForFence_(self, fence: MTLFence) -> None:
        self._check()
        require(fence not in self._updates, "waiting for a fence behind its update")
        self._waits.append(fence)

    def updateFence_(self, fence: MTLFence) -> None:
        self._check()
        self._updates.append(fence)

    def dispatchThreadgroups_threadsPerThreadgroup_(self, grid: Shape, block: Shape) -> None:
        self._check()
        pipeline = self._pipeline
        require(pipeline is not None, "a launch without a pipeline")
        assert pipeline is not None
        threads = block[0] * block[1] * block[2]
        require(min(grid) > 0 and min(block) > 0, f"grid {tuple(grid)}, block {tuple(block)}")
        require(threads <= pipeline._threads, f"{threads} threads, more than the pipeline's most")
        for axis in range(3):
            require(grid[axis] * block[axis] < 2**32, f"threads along axis {axis}")
        buffers = {each.slot for each in pipeline._kernel.buffers}
        require(buffers <= set(self._buffers), f"buffers {sorted(buffers)} are not all bound")
        for argument, size in zip(pipeline._kernel.buffers, pipeline._sizes):
            bound, offset = self._buffers[argument.slot]
            room = len(bound) if isinstance(bound, bytes) else bound._memory.size - offset
            require(room >= size, f"buffer({argument.slot}) has {room} bytes, the kernel {size}")
        groups = {each.slot for each in pipeline._kernel.groups}
        require(groups <= set(self._groups), f"threadgroup memory {sorted(groups)} is not set")
        taken = sum(self._groups[slot] for slot in groups)
        static = pipeline._program.static_bytes(0)
        require(taken + static <= 32768, f"{taken + static} bytes of threadgroup memory")
        lengths = {slot: self._groups[slot] for slot in groups}
        bound = {slot: self._buffers[slot] for slot in buffers}
        self._work.append(Dispatch(pipeline, bound, lengths, grid, block))

    def endEncoding(self) -> None:
        self._check()
        self._state["ended"] = True
