"""The hot commands of a device in one call each: natively where the extension is built.

Handles and pointers are integers here (``number``). A launch by cffi takes a call for each command
of the driver, some 0.5 us each; ``_commands.c`` makes them in one.
"""

from __future__ import annotations

from importlib import import_module
from struct import Struct
from time import monotonic_ns
from typing import Any

from gridlane.core.config import config
from gridlane.runtime.drivers.vulkan.api import LOST, bindings, constant, new, null, number, struct
from gridlane.runtime.drivers.vulkan.context import PUSH_BYTES, Context

# u64 parameters, u32 base[3], u32 grid[3], u64 report, u64 zero; see codegen/spirv/gridops.py.
WORDS = Struct("<Q6IQQ")
assert WORDS.size == PUSH_BYTES


class Submission:
    """What all submissions of a device share.

    Attributes:
        timeline: the VkSemaphore that each sets to its number.
        info: the VkSubmitInfo.
        command, value: the command buffer and the number that it points to.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        kind = struct(
            "VkSemaphoreTypeCreateInfo", semaphoreType=constant("VK_SEMAPHORE_TYPE_TIMELINE")
        )
        made = struct("VkSemaphoreCreateInfo", pNext=kind)
        self.timeline = context.create("vkCreateSemaphore", "VkSemaphore", made)
        self.value, self.command = new("uint64_t *"), new("VkCommandBuffer *")
        signalled = struct(
            "VkTimelineSemaphoreSubmitInfo",
            signalSemaphoreValueCount=1,
            pSignalSemaphoreValues=self.value,
        )
        self.info = struct(
            "VkSubmitInfo",
            pNext=signalled,
            commandBufferCount=1,
            pCommandBuffers=self.command,
            signalSemaphoreCount=1,
            pSignalSemaphores=new("VkSemaphore *", self.timeline),
        )

    @property
    def handles(self) -> tuple[Any, ...]:
        """The arguments of ``PythonCommands`` after the first."""
        context = self._context
        own = self.timeline, self.info, self.command, self.value
        return context.handle, context.queue, context.layout, *own

    def commands(self) -> PythonCommands:
        """The commands of the device."""
        vk = self._context.vk
        if not config().native:
            return PythonCommands(vk, *self.handles)
        try:
            # import-linter takes an extension for the package that it is in.
            native: Any = import_module("._commands", __package__)
        except ImportError:  # not built
            return PythonCommands(vk, *self.handles)
        functions = (
            vk.vkCmdBindPipeline,
            vk.vkCmdPushConstants,
            vk.vkCmdDispatch,
            vk.vkCmdPipelineBarrier,
            vk.vkEndCommandBuffer,
            vk.vkQueueSubmit,
            vk.vkGetSemaphoreCounterValue,
        )
        return native.Commands(*map(number, (*functions, *self.handles)))

    def end(self) -> None:
        """Destroy the semaphore; nothing may be in flight."""
        context = self._context
        context.vk.vkDestroySemaphore(context.handle, self.timeline, null())


class PythonCommands:
    """The commands of a device, by cffi; ``_commands.Commands`` has the same. They do not lock, and
    do not check; the first argument of most is the command buffer."""

    def __init__(
        self,
        vk: Any,
        device: Any,
        queue: Any,
        layout: Any,
        timeline: Any,
        info: Any,
        command: Any,
        value: Any,
    ) -> None:
        self._vk, self._device, self._queue, self._layout = vk, device, queue, layout
        self._timeline, self._info, self._command, self._value = timeline, info, command, value
        ffi = bindings().ffi
        self._cast, self._move, self._null = ffi.cast, ffi.memmove, null()
        self._words = ffi.new(f"unsigned char[{PUSH_BYTES}]")
        self._words_view = ffi.buffer(self._words)
        self._new, self._counter = ffi.new, ffi.typeof("uint64_t *")
        self._stage = constant("VK_SHADER_STAGE_COMPUTE_BIT")
        self._point = constant("VK_PIPELINE_BIND_POINT_COMPUTE")
        self._ended = False

    def launch(
        self,
        command: int,
        pipeline: int,
        pointer: int,
        address: int,
        x: int,
        y: int,
        z: int,
        report: int,
        params: bytes,
        /,
    ) -> None:
        """Record a launch of x by y by z blocks.

        Args:
            pipeline: to bind, or 0 if it is bound.
            pointer, address: of the memory for the parameters, on the host and on the device.
            report: address of the report block, or 0.
        """
        vk, cast = self._vk, self._cast
        buffer = cast("VkCommandBuffer", command)
        self._move(cast("void *", pointer), params, len(params))
        if pipeline:
            vk.vkCmdBindPipeline(buffer, self._point, cast("VkPipeline", pipeline))
        WORDS.pack_into(self._words_view, 0, address, 0, 0, 0, x, y, z, report, 0)
        vk.vkCmdPushConstants(buffer, self._layout, self._stage, 0, PUSH_BYTES, self._words)
        vk.vkCmdDispatch(buffer, x, y, z)

    def barrier(self, command: int, first: int, second: int, memory: int, /) -> None:
        """Record a barrier from stages to stages, with a pointer to a VkMemoryBarrier."""
        buffer = self._cast("VkCommandBuffer", command)
        barrier, none = self._cast("VkMemoryBarrier *", memory), self._null
        self._vk.vkCmdPipelineBarrier(buffer, first, second, 0, 1, barrier, 0, none, 0, none)

    def submit(
        self, command: int, value: int, first: int, second: int, memory: int, /
    ) -> tuple[str, int] | None:
        """Record a barrier, end the command buffer, and submit it; the timeline will be ``value``.

        Returns:
            None, or the function that failed and its VkResult.
        """
        self.barrier(command, first, second, memory)
        buffer = self._cast("VkCommandBuffer", command)
        if result := self._vk.vkEndCommandBuffer(buffer):
            return "vkEndCommandBuffer", result
        if result := self._put(buffer, value):
            return "vkQueueSubmit", result
        return None

    def submit_again(self, command: int, value: int, pointer: int, params: bytes, /) -> int:
        """Write parameters, and submit a command buffer that has ended; the VkResult."""
        self._move(self._cast("void *", pointer), params, len(params))
        return self._put(self._cast("VkCommandBuffer", command), value)

    def _put(self, buffer: Any, value: int) -> int:
        self._value[0], self._command[0] = value, buffer
        return self._vk.vkQueueSubmit(self._queue, 1, self._info, self._null)

    def poll(self, value: int, ns: int, /) -> int:
        """Query the timeline until it has the value, once at least and for ``ns`` at most.

        Returns:
            The timeline's number, or a VkResult, which is negative.
        """
        # Of this call: another thread's query may have written its number and not returned.
        end, counter = monotonic_ns() + ns, self._new(self._counter)
        while not self._ended:
            query = self._vk.vkGetSemaphoreCounterValue
            if result := query(self._device, self._timeline, counter):
                return result
            current = counter[0]
            if current >= value or monotonic_ns() >= end:
                return current
        return LOST

    def end(self) -> None:
        """Refuse later polls; the native ``end`` waits for other threads to leave ``poll``."""
        self._ended = True
