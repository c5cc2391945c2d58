"""Files with what a driver made and gets back in another process, beside the compiler's cache.

As a driver believes what is in them, a file says what it is, a digest covers it, and nobody else
may be able to write it.

    magic (8)  digest (32)  |  the driver's bytes
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from gridlane.core.config import config

LARGEST = 256 << 20
"""Bytes that are read or written at most."""


def directory(name: str) -> Path | None:
    """Where a driver's files are; None where there is to be no cache."""
    settings = config()
    if not settings.cache:
        return None
    if settings.cache_dir is not None:
        return settings.cache_dir / name
    from platformdirs import user_cache_dir  # not needed where the directory is given

    return Path(user_cache_dir("gridlane", appauthor=False), name)


def load(path: Path, magic: bytes) -> bytes:
    """The driver's bytes, or none where the file is missing or not to be believed."""
    try:
        info = path.stat()
        if not stat.S_ISREG(info.st_mode) or info.st_size > LARGEST or not _trusted(path):
            return b""
        raw = path.read_bytes()
    except OSError:
        return b""
    start = len(magic) + 32
    data = raw[start:]
    return data if raw[:start] == _prefix(data, magic) else b""


def store(path: Path, magic: bytes, data: bytes) -> bool:
    """Write a file, whole or not at all; whether that worked."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _trusted(path):
            return False
        with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(_prefix(data, magic) + data)
        os.replace(aside, path)
    except OSError:
        with suppress(OSError):
            aside.unlink()
        return False
    return True


def _prefix(data: bytes, magic: bytes) -> bytes:
    return magic + sha256(data).digest()


def _trusted(path: Path) -> bool:
    """Whether nobody else can put bytes for our driver here."""
    if not hasattr(os, "getuid"):
        return True
    return all(
        info.st_uid == os.getuid() and not info.st_mode & stat.S_IWOTH
        for info in (each.stat() for each in (path.parent, path) if each.exists())
    )
