"""Machine code that is kept between processes: an MTLBinaryArchive, and a file of its bytes.

Metal reads and writes archives in files of its own. The cache keeps a copy of one in the form of
runtime/driver_cache.py; there is a file for each kind of device and version of the system. The key
is the device's name, as the system's number of a device may change at the next boot.
"""

from __future__ import annotations

import platform
import shutil
import tempfile
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from gridlane.core.endings import at_end
from gridlane.runtime import driver_cache
from gridlane.runtime.drivers.metal.adapters import Adapter
from gridlane.runtime.drivers.metal.context import Context

_MAGIC = b"glmtlarc"


@cache
def directory() -> Path | None:
    """The directory of the files; None when the cache is off."""
    return driver_cache.directory("metal")


class Archive:
    """Create pipeline states with the archive's machine code, or by compiling it.

    No defect of the file is an error: without one, the archive begins empty.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._metal, self._device = context.metal, context.device
        self._handle: Any = None
        self._changed = False
        """Whether the archive has machine code that the file lacks."""
        folder = directory()
        if folder is None:
            return
        self._path = folder / _file_name(context.adapter)
        try:  # Metal may read the copy during the archive's lifetime.
            self._copies = tempfile.mkdtemp(prefix="gridlane-metal-")
        except OSError:
            return
        # tempfile deletes its own directories before the device ends.
        at_end(shutil.rmtree, self._copies, ignore_errors=True)
        with context.pool():
            self._handle = self._opened(driver_cache.load(self._path, _MAGIC)) or self._opened(b"")

    def _opened(self, data: bytes) -> Any:
        """The MTLBinaryArchive of these bytes, or None if Metal refuses them."""
        described = self._metal.MTLBinaryArchiveDescriptor.new()
        if data:
            copy = Path(self._copies, "old")
            try:
                copy.write_bytes(data)
            except OSError:
                return None
            described.setUrl_(self._url(copy))
        return self._device.newBinaryArchiveWithDescriptor_error_(described, None)[0]

    def state(self, function: Any) -> tuple[Any, Any]:
        """(MTLComputePipelineState, None) of an MTLFunction, or (None, NSError)."""
        metal = self._metal
        described = metal.MTLComputePipelineDescriptor.new()
        described.setComputeFunction_(function)
        make = self._device.newComputePipelineStateWithDescriptor_options_reflection_error_
        if self._handle is None:
            return make(described, metal.MTLPipelineOptionNone, None, None)
        described.setBinaryArchives_([self._handle])
        state, _ = make(described, metal.MTLPipelineOptionFailOnBinaryArchiveMiss, None, None)
        if state is not None:
            return state, None
        # A function that cannot be added can still be compiled, or Metal says why not.
        added, _ = self._handle.addComputePipelineFunctionsWithDescriptor_error_(described, None)
        self._changed |= bool(added)
        return make(described, metal.MTLPipelineOptionNone, None, None)

    def end(self) -> None:
        """Write the file, if the archive has changed, and release the archive."""
        if self._handle is None:
            return
        if self._changed:
            with suppress(OSError):
                self._save()
        self._handle = None
        shutil.rmtree(self._copies, ignore_errors=True)

    def _save(self) -> None:
        copy = Path(self._copies, "new")
        written, _ = self._handle.serializeToURL_error_(self._url(copy), None)
        if written and copy.stat().st_size <= driver_cache.LARGEST:
            driver_cache.store(self._path, _MAGIC, copy.read_bytes())

    def _url(self, path: Path) -> Any:
        return self._context.adapter.provider.foundation.NSURL.fileURLWithPath_(str(path))


def _file_name(adapter: Adapter) -> str:
    """A name that differs wherever machine code may differ."""
    facts = f"{adapter.name} {adapter.provider.macos} {platform.version()}"
    return f"{sha256(facts.encode()).hexdigest()[:32]}.pipelines"
