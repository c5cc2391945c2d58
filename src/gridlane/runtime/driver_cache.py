"""Cache files of a driver's compiled code, kept for later processes beside the compiler's cache.

A driver trusts these bytes. So a file has a magic number, a digest covers it, and no other user may
write it (core/private_files.py).

    magic (8)  digest (32)  |  the driver's bytes
"""

from __future__ import annotations

import platform
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from gridlane.core.config import cache_folder
from gridlane.core.private_files import Folder
from gridlane.core.processors import available_processors
from gridlane.core.version import VERSION
from gridlane.runtime.protocol import Device

LARGEST = 256 << 20
"""The largest file that is read or written, in bytes."""


PEAKS, VERIFIED, TUNED = OTHERS = ("peaks", "verified", "tuned")
"""The directories of the profiler's peaks, of verifications of devices, and of what autotuning has
measured."""


def directory(name: str) -> Path | None:
    """The directory of a driver's files, by the name of its devices, or one of OTHERS; None when
    the cache is off."""
    return cache_folder(name)


def identity_of(device: Device) -> str:
    """A text that differs for devices of other speed: of the device, its machine and driver."""
    facts = {k: v for k, v in device.describe().items() if "memory" not in k}
    machine = platform.node(), processor_name(), available_processors()
    return repr((device.name, sorted(map(str, facts.items())), machine, VERSION))


def processor_name() -> str:
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def clear(drivers: Iterable[str]) -> None:
    """Remove the files of drivers, by the names of their devices, and the others."""
    for folder in filter(None, map(directory, (*drivers, *OTHERS))):
        with suppress(OSError), Folder(folder) as opened:
            for file in opened.files():
                opened.remove(file.name)


def load(path: Path, magic: bytes) -> bytes:
    """The driver's bytes, or none when the file is missing or invalid."""
    try:
        with Folder(path.parent) as folder:
            raw, _ = folder.read(path.name, LARGEST + len(magic) + 32)
    except (OSError, ValueError):
        return b""
    start = len(magic) + 32
    data = raw[start:]
    return data if raw[:start] == _prefix(data, magic) else b""


def store(path: Path, magic: bytes, data: bytes) -> bool:
    """Write a file atomically; return whether that succeeded."""
    try:
        with Folder(path.parent, make=True) as folder:
            folder.write(path.name, _prefix(data, magic) + data)
    except OSError:
        return False
    return True


def _prefix(data: bytes, magic: bytes) -> bytes:
    return magic + sha256(data).digest()
