"""Executes SPIR-V kernels on a software Vulkan device, by the conventions of the vulkan target.

This is the least that a launch needs: buffers with addresses in memory that the host sees, push
constants, specialisation constants, one dispatch, one wait.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from tests.devices import Outcome, arguments

from gridlane.compiler import generate
from gridlane.conformance.module_runner import octets_of
from gridlane.core import gpu_abi as abi
from gridlane.core.features import features as features_named
from gridlane.core.options import Target
from gridlane.launch.packing import flat_packer
from gridlane.launch.parameters import Parameters

Shape = tuple[int, int, int]

_DRIVERS = "/usr/share/vulkan/icd.d/lvp_icd.*.json"
# The package has no values for VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT and
# VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT.
_WITH_ADDRESS, _ALLOCATE_WITH_ADDRESS = 0x20000, 2
REPORT_BYTES = 1 << 12


def find_driver() -> str | None:
    """The description of Mesa's software device, or None."""
    found = sorted(Path("/").glob(_DRIVERS.lstrip("/")))
    return str(found[0]) if found else None


@cache
def machine() -> Machine:
    """The device; one a process."""
    os.environ.setdefault("VK_DRIVER_FILES", find_driver() or "")
    os.environ.setdefault("VK_ICD_FILENAMES", find_driver() or "")
    return Machine()


def run_spirv(module, grid, block, arrays, scalars=(), shared=0, features="") -> Report:
    """As ``tests.devices.run_on``; the arrays are left as they are."""
    artifact = generate(module, Target("vulkan", features=features_named(features)))
    owner = machine()
    results = [np.array(array) for array in arrays]
    buffers = [Buffer(owner, array.nbytes) for array in results]
    for buffer, array in zip(buffers, results):
        buffer.bytes[: array.nbytes] = octets_of(array)
    numbers = arguments(module, [buffer.address for buffer in buffers], scalars)
    params = flat_packer(Parameters(artifact.params, artifact.param_bytes))(*numbers)
    try:
        report = owner.run(artifact.code, artifact.entry, grid, block, params, shared)
        for buffer, array in zip(buffers, results):
            octets_of(array)[:] = buffer.bytes[: array.nbytes].tobytes()
    finally:
        for buffer in buffers:
            buffer.free()
    return Report(results, report[abi.CLAIMED_OFFSET] != 0, report)


@dataclass
class Report(Outcome):
    """With the bytes of the report block."""

    report: bytes = b""


class Buffer:
    """Memory with an address, which the host sees as an array of bytes."""

    def __init__(self, owner: Machine, size: int) -> None:
        vk = owner.vk
        self.owner, self.size = owner, max(16, size)
        usage = vk.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT
        usage |= _WITH_ADDRESS
        info = vk.VkBufferCreateInfo(size=self.size, usage=usage)
        self.buffer = vk.vkCreateBuffer(owner.device, info, None)
        needed = vk.vkGetBufferMemoryRequirements(owner.device, self.buffer)
        flags = vk.VkMemoryAllocateFlagsInfo(flags=_ALLOCATE_WITH_ADDRESS)
        asked = vk.VkMemoryAllocateInfo(
            pNext=flags, allocationSize=needed.size, memoryTypeIndex=owner.memory_type
        )
        self.memory = vk.vkAllocateMemory(owner.device, asked, None)
        vk.vkBindBufferMemory(owner.device, self.buffer, self.memory, 0)
        mapped = vk.vkMapMemory(owner.device, self.memory, 0, self.size, 0)
        self.bytes = np.frombuffer(mapped, np.uint8, self.size)
        question = vk.ffi.addressof(vk.VkBufferDeviceAddressInfo(buffer=self.buffer))
        # The package's own function of that name gives back its argument.
        self.address = int(vk.lib.vkGetBufferDeviceAddress(owner.device, question))

    def free(self) -> None:
        vk = self.owner.vk
        vk.vkUnmapMemory(self.owner.device, self.memory)
        vk.vkDestroyBuffer(self.owner.device, self.buffer, None)
        vk.vkFreeMemory(self.owner.device, self.memory, None)


class Machine:
    """A device with a queue."""

    def __init__(self) -> None:
        import vulkan as vk

        self.vk = vk
        application = vk.VkApplicationInfo(apiVersion=vk.VK_MAKE_VERSION(1, 3, 0))
        info = vk.VkInstanceCreateInfo(pApplicationInfo=application)
        self.instance = vk.vkCreateInstance(info, None)
        (self.physical, *_) = vk.vkEnumeratePhysicalDevices(self.instance)
        self.device = self._device()
        self.queue = vk.vkGetDeviceQueue(self.device, 0, 0)
        pool = vk.VkCommandPoolCreateInfo(queueFamilyIndex=0)
        self.pool = vk.vkCreateCommandPool(self.device, pool, None)
        self.memory_type = self._visible_memory()

    def _device(self):
        """With every feature that it has."""
        vk = self.vk
        f11 = vk.VkPhysicalDeviceVulkan11Features()
        f12 = vk.VkPhysicalDeviceVulkan12Features(pNext=f11)
        f13 = vk.VkPhysicalDeviceVulkan13Features(pNext=f12)
        floats = vk.VkPhysicalDeviceShaderAtomicFloatFeaturesEXT(pNext=f13)
        features = vk.VkPhysicalDeviceFeatures2(pNext=floats)
        vk.vkGetPhysicalDeviceFeatures2(self.physical, features)
        features.features.robustBufferAccess = 0
        queue = vk.VkDeviceQueueCreateInfo(queueFamilyIndex=0, pQueuePriorities=[1.0])
        info = vk.VkDeviceCreateInfo(
            pNext=features,
            pQueueCreateInfos=[queue],
            ppEnabledExtensionNames=["VK_EXT_shader_atomic_float"],
        )
        return vk.vkCreateDevice(self.physical, info, None)

    def _visible_memory(self) -> int:
        vk = self.vk
        wanted = vk.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
        types = vk.vkGetPhysicalDeviceMemoryProperties(self.physical)
        for index in range(types.memoryTypeCount):
            if types.memoryTypes[index].propertyFlags & wanted == wanted:
                return index
        raise AssertionError("no memory that the host sees")

    def run(
        self, code: bytes, entry: str, grid: Shape, block: Shape, params: bytes, shared: int = 0
    ) -> bytes:
        """Run a grid in one dispatch; the report block after it."""
        block_of_params, report = Buffer(self, len(params)), Buffer(self, REPORT_BYTES)
        block_of_params.bytes[: len(params)] = np.frombuffer(params, np.uint8)
        report.bytes[:] = 0
        capacity = REPORT_BYTES - abi.RECORDS_OFFSET
        struct.pack_into("<I", report.bytes, abi.PRINT_CAPACITY_OFFSET, capacity)
        push = struct.pack("<Q6IQQ", block_of_params.address, 0, 0, 0, *grid, report.address, 0)
        pipeline = _Pipeline(self, code, entry, (*block, -(-shared // 16) * 16))
        try:
            pipeline.dispatch(grid, push[:48])
            return report.bytes.tobytes()
        finally:
            pipeline.free()
            block_of_params.free()
            report.free()


class _Pipeline:
    """A kernel for a block shape."""

    def __init__(self, owner: Machine, code: bytes, entry: str, constants: tuple) -> None:
        vk, ffi = owner.vk, owner.vk.ffi
        self.owner = owner
        module = vk.VkShaderModuleCreateInfo(codeSize=len(code), pCode=code)
        self.module = vk.vkCreateShaderModule(owner.device, module, None)
        ranges = [vk.VkPushConstantRange(vk.VK_SHADER_STAGE_COMPUTE_BIT, 0, 48)]
        layout = vk.VkPipelineLayoutCreateInfo(pPushConstantRanges=ranges)
        self.layout = vk.vkCreatePipelineLayout(owner.device, layout, None)
        data = ffi.new("uint32_t[]", list(constants))
        entries = [vk.VkSpecializationMapEntry(n, 4 * n, 4) for n in range(len(constants))]
        special = vk.VkSpecializationInfo(
            pMapEntries=entries, dataSize=4 * len(constants), pData=data
        )
        stage = vk.VkPipelineShaderStageCreateInfo(
            stage=vk.VK_SHADER_STAGE_COMPUTE_BIT,
            module=self.module,
            pName=entry,
            pSpecializationInfo=special,
        )
        info = vk.VkComputePipelineCreateInfo(stage=stage, layout=self.layout)
        self.kept = (data, entries, special, stage)
        made = vk.vkCreateComputePipelines(owner.device, None, 1, [info], None)
        self.pipeline = made[0]

    def dispatch(self, grid: Shape, push: bytes) -> None:
        vk, owner = self.owner.vk, self.owner
        asked = vk.VkCommandBufferAllocateInfo(
            commandPool=owner.pool, level=vk.VK_COMMAND_BUFFER_LEVEL_PRIMARY, commandBufferCount=1
        )
        (commands,) = vk.vkAllocateCommandBuffers(owner.device, asked)
        vk.vkBeginCommandBuffer(commands, vk.VkCommandBufferBeginInfo())
        vk.vkCmdBindPipeline(commands, vk.VK_PIPELINE_BIND_POINT_COMPUTE, self.pipeline)
        data = vk.ffi.new("char[]", push)
        stages = vk.VK_SHADER_STAGE_COMPUTE_BIT
        vk.vkCmdPushConstants(commands, self.layout, stages, 0, len(push), data)
        vk.vkCmdDispatch(commands, *grid)
        vk.vkEndCommandBuffer(commands)
        submit = vk.VkSubmitInfo(pCommandBuffers=[commands])
        vk.vkQueueSubmit(owner.queue, 1, [submit], None)
        vk.vkQueueWaitIdle(owner.queue)
        vk.vkFreeCommandBuffers(owner.device, owner.pool, 1, [commands])

    def free(self) -> None:
        vk = self.owner.vk
        vk.vkDestroyPipeline(self.owner.device, self.pipeline, None)
        vk.vkDestroyPipelineLayout(self.owner.device, self.layout, None)
        vk.vkDestroyShaderModule(self.owner.device, self.module, None)
