"""Command buffers: begun, released, and kept with the launch that they hold."""

from __future__ import annotations

from typing import Any, NamedTuple

from gridlane.memory.device_memory import DeviceMemory
from gridlane.memory.suballocator import Suballocation
from gridlane.runtime.drivers.vulkan.api import constant, new, null, number, struct
from gridlane.runtime.drivers.vulkan.context import Context
from gridlane.runtime.queues.host_driven_recorder import Batch

ARENA = 1 << 17
"""The size of a submission's parameter arena, in bytes."""
_MOST_KEPT = 32


class Launch(NamedTuple):
    """What a command buffer of one launch does, whatever the parameters.

    Attributes:
        pipeline: its number.
        report: address of the report block, or 0.
        follows: whether the command buffer begins with a barrier.
    """

    pipeline: int
    grid: tuple[int, int, int]
    report: int
    follows: bool


class VulkanBatch(Batch):
    """A command buffer with an arena for parameters.

    Attributes:
        launch: the only one in it, if it may be submitted again.
        pipeline: the number of the one that is bound, or 0.
    """

    __slots__ = ("address", "arena", "command", "launch", "number", "pipeline", "pointer")

    def __init__(self, command: Any, arena: Suballocation) -> None:
        super().__init__()
        self.command, self.number = command, number(command)
        self.arena = arena
        self.address, self.pointer = arena.address, arena.pointer
        self.pipeline = 0
        self.launch: Launch | None = None


class Batches:
    """The command buffers of a device. The caller holds the context's lock.

    Args:
        memory: mapped memory for parameters.

    Attributes:
        spare: those that can begin.
    """

    def __init__(self, context: Context, memory: DeviceMemory[Suballocation]) -> None:
        self._context, self._memory = context, memory
        info = struct(
            "VkCommandPoolCreateInfo",
            flags=constant("VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT"),
            queueFamilyIndex=context.adapter.family,
        )
        self._pool = context.create("vkCreateCommandPool", "VkCommandPool", info)
        once = constant("VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT")
        self._once = struct("VkCommandBufferBeginInfo", flags=once)
        self._again = struct("VkCommandBufferBeginInfo")
        self._all: list[VulkanBatch] = []
        self.spare: list[VulkanBatch] = []
        self._kept: dict[Launch, VulkanBatch] = {}
        """Those not in flight, the last used one last."""
        context.forget = self._forget

    def begin(self, launch: Launch | None = None) -> VulkanBatch:
        """A batch with a command buffer in the recording state, to be submitted once; of a
        ``launch`` as often as you like."""
        batch = self.spare.pop() if self.spare else self._new()
        how = self._once if launch is None else self._again
        begun = self._context.vk.vkBeginCommandBuffer(batch.command, how)
        self._context.check(begun, "vkBeginCommandBuffer")
        batch.at = batch.commands = batch.pipeline = 0
        batch.launch = launch
        return batch

    def _new(self) -> VulkanBatch:
        info = struct(
            "VkCommandBufferAllocateInfo",
            commandPool=self._pool,
            level=constant("VK_COMMAND_BUFFER_LEVEL_PRIMARY"),
            commandBufferCount=1,
        )
        command = new("VkCommandBuffer *")
        self._context.call("vkAllocateCommandBuffers", info, command)
        batch = VulkanBatch(command[0], self._memory.allocate(ARENA))
        self._all.append(batch)
        return batch

    def take(self, launch: Launch) -> VulkanBatch | None:
        """The command buffer of a launch that is kept and not in flight, if there is one."""
        return self._kept.pop(launch, None)

    def release(self, batch: VulkanBatch) -> None:
        """Take back a batch that is done."""
        launch, kept = batch.launch, self._kept
        if launch is None:
            batch.keep.clear()
            self.spare.append(batch)
            return
        if len(kept) >= _MOST_KEPT:
            self.spare.append(kept.pop(next(iter(kept))))
        if launch in kept:
            self.spare.append(kept[launch])
        kept[launch] = batch

    def _forget(self, pipeline: int) -> None:
        """Keep no command buffer of a pipeline that ends; none is in flight."""
        for launch in tuple(self._kept):
            if launch.pipeline == pipeline:
                self.spare.append(self._kept.pop(launch))

    def end(self) -> None:
        """Destroy them; none may be in flight."""
        self._context.vk.vkDestroyCommandPool(self._context.handle, self._pool, null())
        for batch in self._all:
            batch.keep.clear()
