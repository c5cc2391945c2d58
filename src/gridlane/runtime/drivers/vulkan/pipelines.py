"""The pipeline cache: the driver's compiled pipelines, in memory and in a file between processes.

Each device and driver version has a file with the result of vkGetPipelineCacheData, in the form of
runtime/driver_cache.py.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path

from gridlane.runtime import driver_cache
from gridlane.runtime.drivers.vulkan.api import SUCCESS, bindings, new, null, struct
from gridlane.runtime.drivers.vulkan.context import Context

_MAGIC = b"glvkpipe"


@cache
def directory() -> Path | None:
    """The directory of the files; None when the cache is off."""
    return driver_cache.directory("vulkan")


class PipelineCache:
    """A VkPipelineCache. No defect of its file is an error: without one, it begins empty."""

    def __init__(self, context: Context) -> None:
        self._context = context
        folder = directory()
        self._path = folder / _file_name(context) if folder is not None else None
        data = _load(self._path) if self._path is not None else b""
        memory = new("char[]", data) if data else null()
        info = struct("VkPipelineCacheCreateInfo", initialDataSize=len(data), pInitialData=memory)
        self.handle = context.create("vkCreatePipelineCache", "VkPipelineCache", info)
        self._saved = data
        self.changed = False
        """Whether pipelines were compiled since it was read."""

    def save(self) -> None:
        """Write the file, if the cache has changed."""
        if self._path is None or not self.changed:
            return
        self.changed = False
        data = self._data()
        if data and data != self._saved and driver_cache.store(self._path, _MAGIC, data):
            self._saved = data

    def _data(self) -> bytes:
        context, size = self._context, new("size_t *")
        get = context.vk.vkGetPipelineCacheData
        if (
            get(context.handle, self.handle, size, null()) != SUCCESS
            or size[0] > driver_cache.LARGEST
        ):
            return b""
        memory = new("char[]", size[0])
        if get(context.handle, self.handle, size, memory) != SUCCESS:
            return b""
        return bytes(bindings().ffi.buffer(memory, size[0]))

    def end(self) -> None:
        """Write the file and destroy the cache."""
        self.save()
        self._context.vk.vkDestroyPipelineCache(self._context.handle, self.handle, null())


def _file_name(context: Context) -> str:
    """A name that differs wherever the driver's bytes may differ."""
    plain = context.adapter.properties.properties
    identity = bytes(plain.pipelineCacheUUID)
    facts = f"{plain.vendorID} {plain.deviceID} {plain.driverVersion} {context.adapter.driver}"
    return f"{sha256(identity + facts.encode()).hexdigest()[:32]}.pipelines"


def _load(path: Path) -> bytes:
    return driver_cache.load(path, _MAGIC)
