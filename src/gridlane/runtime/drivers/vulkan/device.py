"""One device of Vulkan."""

from __future__ import annotations

import os
import threading
import weakref
from contextlib import suppress

from gridlane.core import dlpack_abi
from gridlane.core.artifact import Artifact
from gridlane.core.device_errors import NOT_SUPPORTED, KernelStop, fail
from gridlane.core.errors import DeviceError
from gridlane.core.options import Target
from gridlane.memory.device_memory import DeviceMemory
from gridlane.memory.resource import Buffer, HostMemory
from gridlane.runtime.driver_workarounds import workarounds
from gridlane.runtime.drivers.vulkan.adapters import KINDS, SOFTWARE, Adapter
from gridlane.runtime.drivers.vulkan.context import Context
from gridlane.runtime.drivers.vulkan.features import for_code
from gridlane.runtime.drivers.vulkan.kernel import VulkanKernel
from gridlane.runtime.drivers.vulkan.memory import (
    CACHED,
    COHERENT,
    LOCAL,
    VISIBLE,
    Pool,
)
from gridlane.runtime.drivers.vulkan.pipelines import PipelineCache
from gridlane.runtime.drivers.vulkan.recorder import VulkanRecorder
from gridlane.runtime.host_driven_device import ArenaDevice
from gridlane.runtime.protocol import Block, Limits
from gridlane.runtime.queues.host_driven_transfers import ArenaTransfers

_EVERYTHING = LOCAL | VISIBLE | COHERENT | CACHED
_SHARED = VISIBLE | COHERENT
_LARGE = 64
"""The number of multiprocessors of a large GPU."""


class VulkanDevice(ArenaDevice[Context, VulkanRecorder, Pool]):
    """An opened adapter: memory, a queue of work, and kernels."""

    def __init__(self, adapter: Adapter, ordinal: int) -> None:
        self.adapter = adapter
        self.ordinal = ordinal
        self.name = f"vulkan:{ordinal}" if ordinal else "vulkan"
        self.dlpack_kind = dlpack_abi.VULKAN
        self.limits = _limits(adapter)
        self._pinned: weakref.WeakSet[Buffer] = weakref.WeakSet()
        self._lock = threading.RLock()
        self._open()
        self._end_with_process()

    def _open(self) -> None:
        context = self.context = Context(self.adapter)
        self.pool = Pool(context, (_EVERYTHING, LOCAL))
        self.memory = DeviceMemory(self.pool, self)
        self.staging_pool = Pool(context, (_EVERYTHING, _SHARED | CACHED, _SHARED))
        self.staging = DeviceMemory(self.staging_pool, kind="staging", of=self)
        # GPUs read parameters from their own memory, not over the bus.
        self.parameter_pool = Pool(context, (_EVERYTHING, LOCAL | _SHARED, _SHARED))
        self.recorder = VulkanRecorder(context, DeviceMemory(self.parameter_pool))
        self.pipeline_cache = PipelineCache(context)
        self.transfers = ArenaTransfers(self)
        self._begin_streams()

    # --- code ---

    def target(self, block: Block) -> Target:
        """The compilation target with the device's features, for any block shape."""
        software = self.adapter.kind == SOFTWARE
        features = for_code(self.adapter.found.names, software)
        return Target("vulkan", features=features | workarounds(self.adapter.name))

    def load(self, artifact: Artifact) -> VulkanKernel:
        """Check SPIR-V and load it into the driver."""
        self.context.enter()
        return VulkanKernel(self, artifact)

    # --- memory ---

    def allocate_host(self, size: int, kind: HostMemory) -> Buffer:
        """Allocate pinned memory, which copies use directly; also mapped and managed memory if host
        and device share its address.

        Raises:
            DeviceError: NOT_SUPPORTED, they do not.
        """
        block = self.stage(size)
        if kind != "pinned" and block.pointer != block.address:
            fail(NOT_SUPPORTED, f"{kind} memory: the device {self.name} has addresses of its own")
        buffer = Buffer(block.pointer, size, block)
        self._pinned.add(buffer)
        return buffer if kind == "pinned" else self.memory.note(buffer)

    def memory_info(self) -> tuple[int, int]:
        """Bytes (free, total) of the device's memory."""
        total, free = self.context.heap(self.pool.heap)
        if free is None:
            free = total - self.context.reserved[self.pool.heap]
        return max(0, free), total

    def upload(self, target: int, source: memoryview) -> None:
        """Copy to the device."""
        super().upload(target, source)
        if not self.pool.by_pointer:
            self.default_stream.drain()

    # --- queues ---

    def reset(self) -> None:
        """Wait for all work, drop the errors of kernels, and release unused memory; reopen a lost
        device. Arrays from before the loss are lost."""
        if self.ended:
            return
        if self.context.fault is None:
            with suppress(KernelStop):
                self.default_stream.drain()
        with self._lock:
            if self.context.fault is not None:
                self._open_again()
                return
        self.unread.forget()
        self._trim()

    def _open_again(self) -> None:
        lost, memory = self.pool, self.memory
        self._open()
        self.memory = memory.renewed(self.pool)
        # The rest of the lost device stays: arrays of pinned memory may still show its bytes.
        if not lost.by_pointer:
            lost.end()

    def close(self) -> None:
        """Wait for all work and close the device."""
        context = self.context
        if context.closed or context.fault is not None:
            return
        with suppress(DeviceError, KernelStop):
            self.default_stream.drain()
        self._give_back(context.fault is None)

    def _give_back(self, everything: bool) -> None:
        context = self.context
        if context.closed:  # before the end of the process
            return
        self.pipeline_cache.save()
        if self._pinned or not everything:
            return  # a reader of that memory may be alive
        with context.lock:
            self.recorder.collect()
            self.pipeline_cache.end()
            self.recorder.end()
            for pool in (self.pool, self.staging_pool, self.parameter_pool):
                pool.end()
            context.end()

    # --- facts ---

    def attributes(self) -> dict[str, int]:
        """The CUDA attributes, from Vulkan's properties."""
        return self._attributes(self.adapter.kind != 2)

    def describe(self) -> dict[str, object]:
        """Facts for ``gridlane devices``."""
        adapter = self.adapter
        free, total = self.memory_info()
        return {
            "name": adapter.name,
            "kind": KINDS.get(adapter.kind, KINDS[0])[0],
            "driver": adapter.driver,
            "vulkan": "Vulkan {}.{}".format(*adapter.version),
            "memory": f"{free >> 20} of {total >> 20} MiB free",
            "uuid": f"GPU-{adapter.uuid}",
        }


def _limits(adapter: Adapter) -> Limits:
    limits = adapter.properties.properties.limits
    x, y, z = limits.maxComputeWorkGroupSize
    shared = limits.maxComputeSharedMemorySize
    return Limits(
        max_threads=limits.maxComputeWorkGroupInvocations,
        max_block=(x, y, z),
        max_shared=shared,
        max_dynamic_shared=shared,
        multiprocessors=_multiprocessors(adapter),
    )


def _multiprocessors(adapter: Adapter) -> int:
    """The number that Vulkan reports. Otherwise that of a large device of the kind: too much work
    for a small device costs less than an idle large one."""
    if adapter.processors:
        return adapter.processors
    return (os.cpu_count() or 1) if adapter.kind == SOFTWARE else _LARGE
