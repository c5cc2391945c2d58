"""The pipeline cache: what the driver made of kernels, in memory and in a file between processes.

The file is beside the compiler's cache: one for each device and version of its driver. Its bytes
are given to the driver, so it says what it is, a digest covers them, and nobody else may be able to
write it.

    magic (8)  digest (32)  |  what vkGetPipelineCacheData gave
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

from gridlane.core.config import config
from gridlane.runtime.drivers.vulkan.api import SUCCESS, bindings, new, null, struct
from gridlane.runtime.drivers.vulkan.context import Context

_MAGIC = b"glvkpipe"
_PREFIX = len(_MAGIC) + 32
_LARGEST = 256 << 20  # bytes that are read or written


@cache
def directory() -> Path | None:
    """Where the files are; None where there is to be no cache."""
    settings = config()
    if not settings.cache:
        return None
    if settings.cache_dir is not None:
        return settings.cache_dir / "vulkan"
    from platformdirs import user_cache_dir  # not needed where the directory is given

    return Path(user_cache_dir("gridlane", appauthor=False), "vulkan")


class PipelineCache:
    """A VkPipelineCache. Nothing about its file is an error: without one, it begins empty."""

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
        """Whether pipelines were made since it was read."""

    def save(self) -> None:
        """Write the file, if there is something new."""
        if self._path is None or not self.changed:
            return
        self.changed = False
        data = self._data()
        if data and data != self._saved and _store(self._path, data):
            self._saved = data

    def _data(self) -> bytes:
        context, size = self._context, new("size_t *")
        get = context.vk.vkGetPipelineCacheData
        if get(context.handle, self.handle, size, null()) != SUCCESS or size[0] > _LARGEST:
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
    """A name that differs where the driver's bytes may."""
    plain = context.adapter.properties.properties
    identity = bytes(plain.pipelineCacheUUID)
    facts = f"{plain.vendorID} {plain.deviceID} {plain.driverVersion} {context.adapter.driver}"
    return f"{sha256(identity + facts.encode()).hexdigest()[:32]}.pipelines"


def _load(path: Path) -> bytes:
    try:
        info = path.stat()
        if not stat.S_ISREG(info.st_mode) or info.st_size > _LARGEST or not _trusted(path):
            return b""
        raw = path.read_bytes()
    except OSError:
        return b""
    data = raw[_PREFIX:]
    return data if raw[:_PREFIX] == _prefix(data) else b""


def _store(path: Path, data: bytes) -> bool:
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _trusted(path):
            return False
        with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(_prefix(data) + data)
        os.replace(aside, path)
    except OSError:
        with suppress(OSError):
            aside.unlink()
        return False
    return True


def _prefix(data: bytes) -> bytes:
    return _MAGIC + sha256(data).digest()


def _trusted(path: Path) -> bool:
    """Whether nobody else can put bytes for our driver here."""
    if not hasattr(os, "getuid"):
        return True
    return all(
        info.st_uid == os.getuid() and not info.st_mode & stat.S_IWOTH
        for info in (each.stat() for each in (path.parent, path) if each.exists())
    )
