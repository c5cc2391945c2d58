"""The work of all streams, recorded into command buffers of one queue.

Commands of one queue begin in recording order, and only a barrier makes one wait for another. A
barrier covers all commands before it, so barriers divide time into epochs: a command that depends
on one of its own epoch opens the next one. Independent streams share epochs, and their work runs
concurrently.

A submission signals its number in a timeline semaphore. Work is submitted when a thread waits or
when the command buffer is full.
"""

from __future__ import annotations

import struct as pack
from collections import deque
from typing import Any, Protocol

from gridlane.core.device_errors import INVALID_VALUE, fail
from gridlane.memory.device_memory import DeviceMemory
from gridlane.memory.suballocator import Suballocation
from gridlane.runtime.drivers.vulkan.api import TIMEOUT, bindings, constant, new, null, struct
from gridlane.runtime.drivers.vulkan.context import PUSH_BYTES, Context

ARENA = 1 << 16
"""The size of a submission's parameter arena, in bytes."""
LONGEST = 64
"""The largest number of commands in a submission."""
_ALIGNMENT = 16
_SLICE_NS = 100_000_000  # of waiting, between checks for signals of the process

# u64 parameters, u32 base[3], u32 grid[3], u64 report, u64 zero; see codegen/spirv/gridops.py.
_PUSH = pack.Struct("<Q6IQQ")
assert _PUSH.size == PUSH_BYTES


class Queue(Protocol):
    """The recorder's state of a stream: the epoch that its next command depends on, and the number
    of the submission with its last one."""

    is_default: bool
    epoch: int
    point: int


class Batch:
    """A command buffer with an arena for parameters. ``keep`` is kept alive until it is done."""

    __slots__ = (
        "address",
        "arena",
        "at",
        "command",
        "commands",
        "keep",
        "pipeline",
        "value",
        "view",
    )

    def __init__(self, command: Any, arena: Suballocation) -> None:
        self.command = command
        self.arena = arena
        self.address = arena.address
        self.view = arena.view()
        self.keep: list[Any] = []
        self.at = self.commands = self.value = 0
        self.pipeline: Any = None


class Recorder:
    """Records, submits and waits. Methods that change it hold the context's lock."""

    def __init__(self, context: Context, staging: DeviceMemory[Suballocation]) -> None:
        self.context, self.lock, self._staging = context, context.lock, staging
        self.vk = vk = context.vk
        self._null = null()
        self.last = self.default_point = 0
        """The number of the last submission with a command: of any stream, and of the default
        one."""
        self.suspects: set[str] = set()
        """Kernels that may be in flight."""
        context.running = lambda: ", ".join(sorted(self.suspects))
        self._epoch = 1
        self._default_epoch = 0
        self._open: Batch | None = None
        self._flying: deque[Batch] = deque()
        self._spare: list[Batch] = []
        self._batches: list[Batch] = []
        self._most = tuple(context.adapter.properties.properties.limits.maxComputeWorkGroupCount)
        self._whole = min(self._most)
        self._push = vk.vkCmdPushConstants
        self._dispatch = vk.vkCmdDispatch
        self._bind = vk.vkCmdBindPipeline
        self._barrier = vk.vkCmdPipelineBarrier
        self._words = new(f"unsigned char[{PUSH_BYTES}]")
        self._words_view = bindings().ffi.buffer(self._words)
        self._make_constants()
        self._make_objects()

    def _make_constants(self) -> None:
        self._compute = constant("VK_SHADER_STAGE_COMPUTE_BIT")
        self._point = constant("VK_PIPELINE_BIND_POINT_COMPUTE")
        compute = constant("VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT")
        self._stages = compute | constant("VK_PIPELINE_STAGE_TRANSFER_BIT")
        self._host = constant("VK_PIPELINE_STAGE_HOST_BIT")
        names = "SHADER_WRITE", "TRANSFER_WRITE", "SHADER_READ", "TRANSFER_READ"
        bits = [constant(f"VK_ACCESS_{name}_BIT") for name in names]
        written, all_ways = bits[0] | bits[1], sum(bits)
        self._between = struct("VkMemoryBarrier", srcAccessMask=written, dstAccessMask=all_ways)
        read = constant("VK_ACCESS_HOST_READ_BIT")
        self._to_host = struct("VkMemoryBarrier", srcAccessMask=written, dstAccessMask=read)
        self._once = struct(
            "VkCommandBufferBeginInfo",
            flags=constant("VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT"),
        )

    def _make_objects(self) -> None:
        context = self.context
        kind = struct(
            "VkSemaphoreTypeCreateInfo", semaphoreType=constant("VK_SEMAPHORE_TYPE_TIMELINE")
        )
        info = struct("VkSemaphoreCreateInfo", pNext=kind)
        self._timeline = context.create("vkCreateSemaphore", "VkSemaphore", info)
        info = struct(
            "VkCommandPoolCreateInfo",
            flags=constant("VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT"),
            queueFamilyIndex=context.adapter.family,
        )
        self._commands = context.create("vkCreateCommandPool", "VkCommandPool", info)
        self._value = new("uint64_t *")
        self._command = new("VkCommandBuffer *")
        timeline = struct(
            "VkTimelineSemaphoreSubmitInfo",
            signalSemaphoreValueCount=1,
            pSignalSemaphoreValues=self._value,
        )
        self._submit = struct(
            "VkSubmitInfo",
            pNext=timeline,
            commandBufferCount=1,
            pCommandBuffers=self._command,
            signalSemaphoreCount=1,
            pSignalSemaphores=new("VkSemaphore *", self._timeline),
        )

    # --- recording ---

    def launch(
        self,
        queue: Queue,
        name: str,
        pipeline: Any,
        params: bytes,
        grid: tuple[int, int, int],
        report: int,
    ) -> None:
        """Record a launch. Hot.

        Args:
            params: the parameter block.
            grid: blocks along each axis.
            report: address of the report block, or 0.
        """
        with self.lock:
            size = len(params)
            batch = self._ordered(queue, size)
            command = batch.command
            if batch.pipeline is not pipeline:
                self._bind(command, self._point, pipeline)
                batch.pipeline = pipeline
            at = batch.at
            batch.view[at : at + size] = params
            batch.at = at + size + _ALIGNMENT - 1 & -_ALIGNMENT
            self.suspects.add(name)
            x, y, z = grid
            if x > self._whole or y > self._whole or z > self._whole:
                self._in_parts(command, batch.address + at, grid, report)
                return
            _PUSH.pack_into(self._words_view, 0, batch.address + at, 0, 0, 0, x, y, z, report, 0)
            self._push(command, self.context.layout, self._compute, 0, PUSH_BYTES, self._words)
            self._dispatch(command, x, y, z)

    def _in_parts(self, command: Any, params: int, grid: tuple[int, int, int], report: int) -> None:
        """Record a grid that exceeds the limit of a dispatch, in parts."""
        mx, my, mz = self._most
        for z in range(0, grid[2], mz):
            for y in range(0, grid[1], my):
                for x in range(0, grid[0], mx):
                    _PUSH.pack_into(self._words_view, 0, params, x, y, z, *grid, report, 0)
                    layout, words = self.context.layout, self._words
                    self._push(command, layout, self._compute, 0, PUSH_BYTES, words)
                    rest = min(mx, grid[0] - x), min(my, grid[1] - y), min(mz, grid[2] - z)
                    self._dispatch(command, *rest)

    def copy(
        self, queue: Queue, source: Any, at: int, target: Any, to: int, size: int, keep: Any = None
    ) -> None:
        """Record a copy between buffers; the regions must not overlap."""
        with self.lock:
            batch = self._ordered(queue)
            region = new("VkBufferCopy *", {"srcOffset": at, "dstOffset": to, "size": size})
            self.vk.vkCmdCopyBuffer(batch.command, source, target, 1, region)
            if keep is not None:
                batch.keep.append(keep)

    def fill(self, queue: Queue, target: Any, to: int, size: int, word: int) -> None:
        """Record a fill of words; ``to`` and ``size`` are multiples of 4."""
        with self.lock:
            self.vk.vkCmdFillBuffer(self._ordered(queue).command, target, to, size, word)

    def stamp(self, queue: Queue, pool: Any, index: int) -> None:
        """Record a time stamp after all commands so far are done."""
        with self.lock:
            stage = constant("VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT")
            batch = self._room(0)
            self.vk.vkCmdWriteTimestamp(batch.command, stage, pool, index)
            batch.commands += 1
            queue.point = self.last = self.context.progress

    def mark(self, queue: Queue) -> tuple[int, int]:
        """(submission, epoch) of a stream's work so far."""
        with self.lock:
            if queue.is_default:
                return self.last, self._epoch
            return max(queue.point, self.default_point), max(queue.epoch, self._default_epoch)

    def _ordered(self, queue: Queue, room: int = 0) -> Batch:
        """The batch for a command, after a barrier for its dependencies: for the default stream all
        work, for others their own and the default stream's."""
        batch = self._room(room)
        epoch = self._epoch
        if queue.is_default or queue.epoch == epoch or self._default_epoch == epoch:
            stages = self._stages
            self._barrier(
                batch.command, stages, stages, 0, 1, self._between, 0, self._null, 0, self._null
            )
            self._epoch = epoch = epoch + 1
        batch.commands += 1
        queue.epoch = epoch
        queue.point = self.last = self.context.progress
        if queue.is_default:
            self._default_epoch = epoch
            self.default_point = self.last
        return batch

    def _room(self, size: int) -> Batch:
        """The open batch, with ``size`` bytes free in its arena."""
        batch = self._open
        if batch is not None:
            if batch.commands < LONGEST and batch.at + size <= ARENA:
                return batch
            self.flush()
        if size > ARENA:
            fail(INVALID_VALUE, f"{size} bytes of parameters; the most is {ARENA}")
        return self._begin()

    def _begin(self) -> Batch:
        self.context.raise_fault()  # a fault may have come since the caller entered
        self.collect()
        batch = self._spare.pop() if self._spare else self._new_batch()
        self.context.check(
            self.vk.vkBeginCommandBuffer(batch.command, self._once), "vkBeginCommandBuffer"
        )
        batch.at = batch.commands = 0
        batch.pipeline = None
        self._open = batch
        return batch

    def _new_batch(self) -> Batch:
        info = struct(
            "VkCommandBufferAllocateInfo",
            commandPool=self._commands,
            level=constant("VK_COMMAND_BUFFER_LEVEL_PRIMARY"),
            commandBufferCount=1,
        )
        command = new("VkCommandBuffer *")
        self.context.call("vkAllocateCommandBuffers", info, command)
        batch = Batch(command[0], self._staging.allocate(ARENA))
        self._batches.append(batch)
        return batch

    # --- submitting and waiting ---

    def flush(self) -> None:
        """Submit the recorded work."""
        with self.lock:
            batch = self._open
            if batch is None:
                return
            stages, context = self._stages, self.context
            command = batch.command
            self._barrier(
                command, stages, self._host, 0, 1, self._to_host, 0, self._null, 0, self._null
            )
            self._open = None
            batch.value = context.progress
            context.progress += 1
            self._flying.append(batch)
            context.check(self.vk.vkEndCommandBuffer(command), "vkEndCommandBuffer")
            self._value[0], self._command[0] = batch.value, command
            context.check(
                self.vk.vkQueueSubmit(context.queue, 1, self._submit, self._null), "vkQueueSubmit"
            )

    def passed(self, value: int) -> bool:
        """Whether a submission is done; recorded work is submitted."""
        if value >= self.context.progress:
            self.flush()
        counter = new("uint64_t *")
        self.context.call("vkGetSemaphoreCounterValue", self._timeline, counter)
        return counter[0] >= value

    def wait(self, value: int) -> None:
        """Wait until a submission is done."""
        if value >= self.context.progress:
            self.flush()
        wanted = new("uint64_t *", value)
        semaphore = new("VkSemaphore *", self._timeline)
        info = struct(
            "VkSemaphoreWaitInfo", semaphoreCount=1, pSemaphores=semaphore, pValues=wanted
        )
        while self.context.call("vkWaitSemaphores", info, _SLICE_NS) == TIMEOUT:
            continue  # Python handles signals in between
        self.collect()

    def wait_for_all(self) -> None:
        """Wait for all recorded work."""
        self.wait(self.last)

    def collect(self) -> None:
        """Release the resources of finished submissions."""
        with self.lock:
            context = self.context
            counter = new("uint64_t *")
            context.call("vkGetSemaphoreCounterValue", self._timeline, counter)
            done = counter[0]
            while self._flying and self._flying[0].value <= done:
                batch = self._flying.popleft()
                batch.keep.clear()
                self._spare.append(batch)
            if self._open is None and not self._flying:
                done = context.progress  # nothing is recorded in the next batch
                self.suspects.clear()
            retired = context.retired
            while retired and retired[0][0] <= done:
                retired.popleft()[1]()

    def end(self) -> None:
        """Destroy the recorder; nothing may be in flight."""
        handle = self.context.handle
        self.vk.vkDestroyCommandPool(handle, self._commands, self._null)
        self.vk.vkDestroySemaphore(handle, self._timeline, self._null)
        for batch in self._batches:
            batch.keep.clear()
