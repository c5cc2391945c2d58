"""What was measured, in files beside the disk cache.

A file is replaced as a whole, and a digest covers it: a process that is killed, and another one
that tunes the same kernel, leave a file that is valid. A file that is not is none.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gridlane.compiler.cache_key import make_key
from gridlane.runtime import driver_cache
from gridlane.runtime.protocol import Device

MAGIC = b"gl-tune2"


def place_of(device: Device, *parts: bytes) -> Path | None:
    """The file of what was measured on a device, by the bytes of what it depends on besides; None
    where the disk cache is off."""
    folder = driver_cache.directory(driver_cache.TUNED)
    if folder is None:
        return None
    return folder / make_key(driver_cache.identity_of(device), *parts)


def load(path: Path | None) -> Any:
    """What was kept; None where no file has it, or it is damaged."""
    if path is None:
        return None
    data = driver_cache.load(path, MAGIC)
    try:
        return json.loads(data) if data else None
    except ValueError:  # another version's
        return None


def keep(path: Path | None, data: Any) -> bool:
    """Keep what JSON can say, for later processes; return whether that succeeded."""
    return path is not None and driver_cache.store(path, MAGIC, json.dumps(data).encode())
