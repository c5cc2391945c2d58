"""Vulkan's memory: buffers of the device with addresses."""

from __future__ import annotations

from typing import Any

from gridlane.core.device_errors import OUT_OF_MEMORY, fail
from gridlane.core.errors import DeviceError
from gridlane.memory.resource import ALIGNMENT
from gridlane.memory.suballocator import Arena, Suballocator
from gridlane.runtime.drivers.vulkan.api import bindings, new, null, struct
from gridlane.runtime.drivers.vulkan.context import Context

# VkBufferUsageFlagBits: source and target of copies, storage, with an address.
_USAGE = 0x1 | 0x2 | 0x20 | 0x20000

# VkMemoryPropertyFlagBits.
LOCAL, VISIBLE, COHERENT, CACHED = 1, 2, 4, 8
_WHOLE_SIZE = 2**64 - 1  # VK_WHOLE_SIZE: up to the end
_WITH_ADDRESS = 0x2  # VkMemoryAllocateFlagBits
_SPECIAL = 0xF0  # protected, lazily allocated, AMD's own
_BY_POINTER = VISIBLE | COHERENT | CACHED


class Pool(Suballocator):
    """Memory of one type.

    Args:
        wanted: sets of property flags, the best first.
    """

    def __init__(self, context: Context, wanted: tuple[int, ...]) -> None:
        super().__init__(context)
        self.type, self.flags, self.heap = _choose(context, wanted)
        self.by_pointer = self.flags & _BY_POINTER == _BY_POINTER
        """Whether the memory is mapped into the host."""

    def _new_arena(self, size: int, asked: int) -> Arena:
        what = f"{asked} bytes of {'device' if self.flags & LOCAL else 'host'} memory"
        total, _ = self.context.heap(self.heap)
        reserved, largest = self.context.reserved[self.heap], self.context.adapter.largest_buffer
        if size + ALIGNMENT > largest:
            fail(OUT_OF_MEMORY, f"{what}; the largest buffer has {largest}")
        if reserved + size + ALIGNMENT > total:
            fail(OUT_OF_MEMORY, f"{what}, with {reserved} of {total} in use")
        buffer = self._buffer(size + ALIGNMENT)
        try:
            memory = self._memory(buffer, what)
        except DeviceError:
            self.context.vk.vkDestroyBuffer(self.context.handle, buffer, null())
            raise
        try:
            arena = self._placed(buffer, memory, size)
        except DeviceError:
            self._destroy(buffer, memory)
            raise
        self.context.reserved[self.heap] += size
        return arena

    def _end_arena(self, arena: Arena) -> None:
        self.context.reserved[self.heap] -= arena.size
        self._destroy(arena.buffer, arena.memory)

    def _buffer(self, size: int) -> Any:
        info = struct("VkBufferCreateInfo", size=size, usage=_USAGE)
        return self.context.create("vkCreateBuffer", "VkBuffer", info, f"{size} bytes")

    def _memory(self, buffer: Any, what: str) -> Any:
        needs = new("VkMemoryRequirements *")
        self.context.call("vkGetBufferMemoryRequirements", buffer, needs)
        if not needs.memoryTypeBits >> self.type & 1:
            fail(OUT_OF_MEMORY, f"{what}: buffers cannot be of memory type {self.type}")
        flags = struct("VkMemoryAllocateFlagsInfo", flags=_WITH_ADDRESS)
        info = struct(
            "VkMemoryAllocateInfo",
            pNext=flags,
            allocationSize=needs.size,
            memoryTypeIndex=self.type,
        )
        return self.context.create("vkAllocateMemory", "VkDeviceMemory", info, what)

    def _placed(self, buffer: Any, memory: Any, size: int) -> Arena:
        """Bind a buffer to its memory and return the addresses of both sides."""
        context = self.context
        context.call("vkBindBufferMemory", buffer, memory, 0)
        info = struct("VkBufferDeviceAddressInfo", buffer=buffer)
        address = int(context.vk.vkGetBufferDeviceAddress(context.handle, info))
        skip, pointer = -address % ALIGNMENT, 0
        if self.flags & VISIBLE:
            mapped = new("void **")
            context.call("vkMapMemory", memory, 0, _WHOLE_SIZE, 0, mapped)
            pointer = int(bindings().ffi.cast("uintptr_t", mapped[0])) + skip
        return Arena(buffer, address + skip, pointer, size, skip, memory)

    def _destroy(self, buffer: Any, memory: Any) -> None:
        vk, handle = self.context.vk, self.context.handle
        vk.vkDestroyBuffer(handle, buffer, null())
        vk.vkFreeMemory(handle, memory, null())


def _choose(context: Context, wanted: tuple[int, ...]) -> tuple[int, int, int]:
    """(number, property flags, heap) of the memory type with the wanted flags: the first in the
    largest heap, as some devices expose a small window of their memory as another heap."""
    types = context.memory_types()
    for flags in wanted:
        fitting = [
            (number, have, heap)
            for number, (have, heap) in enumerate(types)
            if have & flags == flags and not have & _SPECIAL
        ]
        if fitting:
            return max(fitting, key=lambda each: context.heap(each[2])[0])
    fail(OUT_OF_MEMORY, f"no memory with one of the properties {wanted} among {types}")
