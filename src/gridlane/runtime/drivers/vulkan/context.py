"""The logical device of an adapter: its functions, its queue, and its destruction."""

from __future__ import annotations

import itertools
import weakref
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from gridlane.core.device_errors import again
from gridlane.core.endings import at_its_end
from gridlane.core.errors import DeviceError
from gridlane.runtime.drivers.vulkan import features
from gridlane.runtime.drivers.vulkan.adapters import BUDGET, SOFTWARE, Adapter, instance
from gridlane.runtime.drivers.vulkan.api import (
    LOST,
    SUCCESS,
    Functions,
    check,
    constant,
    failure,
    new,
    null,
    number,
    struct,
)
from gridlane.runtime.queues.host_driven_context import HostDrivenContext

PUSH_BYTES = 48
"""Bytes of push constants; see launch.py."""


class Context(HostDrivenContext):
    """A VkDevice with one queue.

    Attributes:
        vk: its functions.
        handle, queue, layout: VkDevice, VkQueue, and the VkPipelineLayout of all kernels.
    """

    def __init__(self, adapter: Adapter) -> None:
        self.software = adapter.kind == SOFTWARE
        super().__init__(self.software)
        self.adapter = adapter
        self.reserved: Counter[int] = Counter()
        """Bytes that the pools hold of each heap."""
        self._owned: dict[int, tuple[str, Any]] = {}
        self._keys = itertools.count()
        self.explain: Callable[[str], DeviceError] = partial(failure, LOST)
        """Makes the fault of a lost device, from the function that reports it."""
        self.forget: Callable[[int], object] = int
        """Called with the number of a pipeline before that is destroyed."""
        self.handle = self._create()
        find = instance().functions.vkGetDeviceProcAddr
        self.vk = Functions(lambda name: find(self.handle, name))
        queue = new("VkQueue *")
        self.vk.vkGetDeviceQueue(self.handle, adapter.family, 0, queue)
        self.queue = queue[0]
        self.layout = self._layout()

    def _create(self) -> Any:
        adapter = self.adapter
        strings, memory = features.c_strings(list(adapter.extensions))
        enabling = features.enabling(adapter.found)
        priority = new("float[]", [1.0])
        queues = struct(
            "VkDeviceQueueCreateInfo",
            queueFamilyIndex=adapter.family,
            queueCount=1,
            pQueuePriorities=priority,
        )
        info = struct(
            "VkDeviceCreateInfo",
            pNext=enabling[0],
            queueCreateInfoCount=1,
            pQueueCreateInfos=queues,
            enabledExtensionCount=len(adapter.extensions),
            ppEnabledExtensionNames=strings,
        )
        out = new("VkDevice *")
        create = instance().functions.vkCreateDevice
        check(create(adapter.physical, info, null(), out), "vkCreateDevice")
        instance().contexts.add(self)
        del memory
        return out[0]

    def _layout(self) -> Any:
        """Create a layout of push constants alone: kernels access memory by addresses."""
        constants = struct(
            "VkPushConstantRange",
            stageFlags=constant("VK_SHADER_STAGE_COMPUTE_BIT"),
            size=PUSH_BYTES,
        )
        info = struct(
            "VkPipelineLayoutCreateInfo", pushConstantRangeCount=1, pPushConstantRanges=constants
        )
        return self.create("vkCreatePipelineLayout", "VkPipelineLayout", info)

    # --- calls ---

    def call(self, name: str, *args: Any, what: str = "") -> int:
        """Call a function of the device, with the device as its first argument.

        Returns:
            The VkResult, if it is success or a status.
        """
        if self.closed:
            self.raise_closed()
        return self.check(getattr(self.vk, name)(self.handle, *args), name, what)

    def raise_closed(self) -> NoReturn:
        """Raise what a device that is destroyed answers."""
        raise again(self.fault or at_its_end("the device vulkan"), self.device_name)

    def check(self, result: int | None, name: str, what: str = "") -> int:
        """Raise the exception of a VkResult; a lost device stays lost."""
        if result is None or result >= SUCCESS:
            return result or SUCCESS
        if result == LOST:
            self.fault = self.fault or self.explain(name)
            raise again(self.fault, self.device_name)
        raise failure(result, f"{name}: {what}" if what else name)

    def create(self, name: str, kind: str, info: Any, what: str = "") -> Any:
        """Create an object: ``create("vkCreateSemaphore", "VkSemaphore", info)``."""
        out = new(f"{kind} *")
        self.call(name, info, null(), out, what=what)
        return out[0]

    # --- deferred frees ---

    def own(self, owner: Any, name: str, handle: Any) -> None:
        """Destroy an object with the function ``name`` at the end of its owner's lifetime, after
        the work so far, or with the device."""
        key = next(self._keys)
        self._owned[key] = name, handle
        weakref.finalize(owner, self.retire, partial(self._destroy, key)).atexit = False

    def _destroy(self, key: int) -> None:
        name, handle = self._owned.pop(key)
        if name == "vkDestroyPipeline":
            self.forget(number(handle))
        getattr(self.vk, name)(self.handle, handle, null())

    def end(self) -> None:
        """Destroy the device; its objects are destroyed before or with it."""
        if self.closed:
            return
        for key in tuple(self._owned):
            self._destroy(key)
        self.vk.vkDestroyPipelineLayout(self.handle, self.layout, null())
        self.closed = True
        self.vk.vkDestroyDevice(self.handle, null())
        instance().contexts.discard(self)

    # --- facts ---

    def memory_types(self) -> list[tuple[int, int]]:
        """(property flags, heap) of each type of memory."""
        memory = new("VkPhysicalDeviceMemoryProperties *")
        instance().functions.vkGetPhysicalDeviceMemoryProperties(self.adapter.physical, memory)
        types = memory.memoryTypes
        return [(types[n].propertyFlags, types[n].heapIndex) for n in range(memory.memoryTypeCount)]

    def heap(self, number: int) -> tuple[int, int | None]:
        """(size, bytes free for this process or None if unknown) of a heap."""
        if self.closed:
            self.raise_closed()
        names = ["VkPhysicalDeviceMemoryProperties2", "VkPhysicalDeviceMemoryBudgetPropertiesEXT"]
        known = BUDGET in self.adapter.extensions
        chained = features.chain(names[: 1 + known])
        query = instance().functions.vkGetPhysicalDeviceMemoryProperties2
        query(self.adapter.physical, chained[0])
        size = chained[0].memoryProperties.memoryHeaps[number].size
        if not known:
            return size, None
        budget, usage = chained[1].heapBudget[number], chained[1].heapUsage[number]
        return size, max(0, budget - usage)
