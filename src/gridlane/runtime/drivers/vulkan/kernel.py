"""Artifacts as pipelines, and their launches."""

from __future__ import annotations

import struct as pack
from typing import Any

from gridlane.core.artifact import Artifact
from gridlane.core.device_errors import INVALID_VALUE, fail
from gridlane.runtime.drivers.vulkan import spirv
from gridlane.runtime.drivers.vulkan.api import bindings, constant, new, null, number, struct
from gridlane.runtime.drivers.vulkan.context import Context
from gridlane.runtime.drivers.vulkan.recorder import Prepared
from gridlane.runtime.host_driven_kernel import HostDrivenKernel, accept
from gridlane.runtime.protocol import Block

WARP = 32
_FULL_SUBGROUPS = 0x2  # VkPipelineShaderStageCreateFlagBits


class VulkanKernel(HostDrivenKernel[Prepared]):
    """An artifact on a device; reloaded at its next use after the device was lost."""

    def __init__(self, device: Any, artifact: Artifact) -> None:
        accept(artifact, "vulkan", "spirv", "SPIR-V", "Vulkan")
        super().__init__(device, artifact)
        self.facts = spirv.check(
            artifact.code, self.name, device.adapter.found.names, device.adapter.name
        )
        self.pipelines: dict[tuple[Block, int], Any] = {}
        self._load()

    def _load(self) -> None:
        """Create the module."""
        device, artifact = self.device, self.artifact
        self.context: Context = device.context
        self.pipelines.clear()
        code_words = new("uint32_t[]", len(artifact.code) // 4)
        bindings().ffi.memmove(code_words, artifact.code, len(artifact.code))
        info = struct("VkShaderModuleCreateInfo", codeSize=len(artifact.code), pCode=code_words)
        with self._blocks_lock:
            self._blocks.clear()
        with self.context.lock:  # the exit of the process waits for it
            self._module = self.context.create(
                "vkCreateShaderModule", "VkShaderModule", info, self.name
            )
        self.context.own(self, "vkDestroyShaderModule", self._module)

    def ready(self) -> None:
        """Reload if the device was reopened since."""
        if self.context is not self.device.context:
            self._load()

    # --- pipelines ---

    def pipeline(self, block: Block, shared: int) -> Any:
        """The pipeline for a block shape and bytes of dynamic shared memory, which kernels may ask
        for.

        Raises:
            DeviceError: the device cannot run such blocks.
        """
        self.ready()
        self._check(block, shared)
        room = shared if self.artifact.uses_dynamic_shared else 0
        result = self.pipelines.get((block, room))
        if result is None:
            with self.context.lock:
                self.context.raise_fault()  # the process may have begun to exit since
                result = self._make(block, room)
                self.pipelines[block, room] = result
                self.context.own(self, "vkDestroyPipeline", result)
                self.device.pipeline_cache.changed = True
        return result

    def _check(self, block: Block, shared: int) -> None:
        self.check_block(block)
        fixed = self.facts.local_size
        if fixed is not None and fixed != block:
            what = f"kernel {self.name}, block {block}"
            fail(INVALID_VALUE, f"{what}: its code is for blocks of {fixed}")
        if spirv.MATRICES in self.facts.capabilities and not self._has_warps(block):
            what = f"kernel {self.name}, block {block}"
            fail(INVALID_VALUE, f"{what}: its matrices need rows of whole warps of {WARP} threads")
        self.check_shared(self.artifact.static_shared, shared)

    def _make(self, block: Block, shared: int) -> Any:
        warps = self._has_warps(block)
        # Specialisation constants: the block's shape, bytes of dynamic shared memory, and whether
        # warps are subgroups.
        numbers = (*block, shared, int(warps))
        entries = new(
            "VkSpecializationMapEntry[]",
            [{"constantID": n, "offset": 4 * n, "size": 4} for n in range(len(numbers))],
        )
        data = new("char[]", pack.pack(f"<{len(numbers)}I", *numbers))
        constants = struct(
            "VkSpecializationInfo",
            mapEntryCount=len(numbers),
            pMapEntries=entries,
            dataSize=4 * len(numbers),
            pData=data,
        )
        stage: dict[str, Any] = {
            "sType": constant("VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO"),
            "stage": constant("VK_SHADER_STAGE_COMPUTE_BIT"),
            "module": self._module,
            "pName": (name := new("char[]", self.name.encode())),
            "pSpecializationInfo": constants,
        }
        size = struct(
            "VkPipelineShaderStageRequiredSubgroupSizeCreateInfo", requiredSubgroupSize=WARP
        )
        if warps:
            stage["flags"] = _FULL_SUBGROUPS
            if self.device.adapter.found.forced_subgroups:
                stage["pNext"] = size
        info = struct("VkComputePipelineCreateInfo", stage=stage, layout=self.context.layout)
        out = new("VkPipeline *")
        cache = self.device.pipeline_cache.handle
        self.context.call(
            "vkCreateComputePipelines", cache, 1, info, null(), out, what=f"kernel {self.name}"
        )
        del name, entries, data
        return out[0]

    def _has_warps(self, block: Block) -> bool:
        """Whether every 32 consecutive threads are a subgroup: the rows of the block are whole."""
        return "subgroup32" in self.device.adapter.found.names and block[0] % WARP == 0

    def prepare(self, block: Block, shared: int) -> Prepared:
        """The pipeline's number."""
        return number(self.pipeline(block, shared)), self.name
