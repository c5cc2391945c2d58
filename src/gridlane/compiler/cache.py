"""The disk cache of compiled kernels: one file per artifact, named after the key.

Anything may have happened to a file since it was written (a full disk, a crash, another program),
and its bytes are executed. So a file states its format, and a digest covers the key and all later
fields; an invalid file is removed and its kernel compiled again. Files appear whole or not at all
(written aside, then renamed), so any number of processes may share a directory without locks.

    magic (8)  version (u32)  digest (32)  |  metadata length (u32)  metadata (JSON)  code
                                           '- what the digest covers, after the key
"""

from __future__ import annotations

import os
import struct
import time
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

from gridlane.compiler import cache_codec
from gridlane.compiler.cache_key import make_key
from gridlane.core import trace
from gridlane.core.artifact import Artifact
from gridlane.core.config import cache_folder
from gridlane.core.frozen import frozen
from gridlane.core.private_files import Folder, Found

__all__ = ["CacheStats", "DiskCache", "decode", "default_cache", "encode", "make_key"]

MAGIC = b"gridlane"
VERSION = 2
_HEADER = struct.Struct("<8sI32s")
_LENGTH = struct.Struct("<I")

SUFFIX = f".kernel{VERSION}"
READY_SUFFIX = ".ready1"
"""Of the files by which programs in C run without Python (``abi/library/ready.py``)."""
_OLDER = (".kernel",)  # files of earlier versions, whose keys are never looked up
DEFAULT_LIMIT = 512 * 2**20
"""The maximum size of the cache in bytes."""
_LARGEST = 64 * 2**20  # bytes of an entry; no kernel comes near
_TOUCH_S = 3600.0  # the precision in seconds of an entry's time of use
_SWEEP_S = 3600.0  # the interval in seconds between checks of the directory's size
_SWEPT = f".swept{VERSION}"  # its time is that of the last check, by any process


@frozen
class CacheStats:
    """The contents of a cache: files, their bytes, and the limit of the bytes."""

    entries: int
    bytes: int
    limit: int


class DiskCache:
    """Artifacts in a directory of at most ``limit`` bytes, from which the least recently used are
    removed.

    The first ``put`` makes the directory. Its methods may be called from any thread and never raise
    for the state of the disk: without a usable directory, lookups miss and nothing is kept.
    """

    def __init__(self, root: Path | str, limit: int = DEFAULT_LIMIT) -> None:
        self.root = Path(root)
        self.limit = limit
        self._writable = True
        self._unswept = 0  # bytes written since this process checked the size

    # --- entries ---

    def get(self, key: str) -> Artifact | None:
        """The artifact kept under ``key``, or None. A damaged entry is removed."""
        name = _name(key)
        try:
            with Folder(self.root) as folder:
                return self._read(folder, name, key)
        except FileNotFoundError:
            return None
        except OSError as error:
            _report("cache-unreadable", name=name, error=error)
            return None

    def _read(self, folder: Folder, name: str, key: str) -> Artifact | None:
        try:
            data, used = folder.read(name, _LARGEST)
            artifact = decode(key, data)
        except ValueError as error:
            _report("cache-corrupt", path=self.root / name, error=error)
            folder.remove(name)
            return None
        if time.time() - used > _TOUCH_S:
            folder.touch(name)
        return artifact

    def put(self, key: str, artifact: Artifact) -> None:
        """Keep an artifact under ``key``; the first failure silently ends writing."""
        name = _name(key)
        if not self._writable:
            return
        data = encode(key, artifact)
        if len(data) <= _LARGEST:
            self._write(name, data)

    def put_file(self, name: str, data: bytes) -> None:
        """Store a file that other programs read, unless it exists with this content."""
        with suppress(OSError, ValueError), Folder(self.root) as folder:
            if folder.read(name, len(data))[0] == data:
                return
        if self._writable:
            self._write(name, data)

    def _write(self, name: str, data: bytes) -> None:
        try:
            with Folder(self.root, make=True) as folder:
                folder.write(name, data)
                self._unswept += len(data)
                if self._unswept > self.limit // 16 or _sweep_is_due(folder):
                    self._sweep(folder)
        except OSError as error:
            self._writable = False
            _report("cache-off", directory=self.root, error=error)

    # --- the directory ---

    def clear(self) -> int:
        """Remove every entry; return the number of them."""
        with suppress(OSError), Folder(self.root) as folder:
            entries = [file.name for file in folder.files() if _is_entry(file)]
            for name in entries:
                folder.remove(name)
            _remove_leftovers(folder, 0.0)
            return len(entries)
        return 0

    def stats(self) -> CacheStats:
        """Statistics of the cache."""
        sizes: list[int] = []
        with suppress(OSError), Folder(self.root) as folder:
            sizes = [file.size for file in folder.files() if _is_entry(file)]
        return CacheStats(len(sizes), sum(sizes), self.limit)

    def problem(self) -> str:
        """Why the directory cannot be used, or "" when it can."""
        from tempfile import TemporaryDirectory  # not needed to keep or find kernels

        place = self.root
        while not place.exists() and place != place.parent:
            place = place.parent  # makedirs would start here
        if not place.is_dir():
            return f"{place} is not a directory"
        if not os.access(place, os.W_OK | os.X_OK):
            return f"{place} is not writable"
        try:
            if place == self.root:
                with Folder(place):
                    pass  # nobody else can write to it
            # Only an attempt tells: os.access() says yes to root of any directory.
            with TemporaryDirectory(prefix=".gridlane-", suffix=".tmp", dir=place):
                return ""
        except OSError as error:
            return str(error)

    def sweep(self) -> None:
        """Remove entries of older versions, then the least recently used until the cache is well
        below its limit."""
        with suppress(OSError), Folder(self.root) as folder:
            self._sweep(folder)

    def _sweep(self, folder: Folder) -> None:
        self._unswept = 0
        with suppress(OSError):
            folder.write(_SWEPT, b"")
        _remove_leftovers(folder, _SWEEP_S)
        entries = sorted(filter(_is_entry, folder.files()), key=lambda file: file.used)
        total = sum(file.size for file in entries)
        if total <= self.limit:
            return
        for file in entries:
            folder.remove(file.name)
            total -= file.size
            if total <= self.limit * 3 // 4:
                break
        _report("cache-swept", directory=self.root, bytes=total)


def _name(key: str) -> str:
    if not key.isalnum():
        raise ValueError(f"a cache key is made of letters and digits, not {key!r}")
    return key + SUFFIX


def _is_entry(file: Found) -> bool:
    return file.name.endswith((SUFFIX, READY_SUFFIX))


def _sweep_is_due(folder: Folder) -> bool:
    try:
        return time.time() - folder.read(_SWEPT, 0)[1] > _SWEEP_S
    except (OSError, ValueError):
        return True


def _remove_leftovers(folder: Folder, age: float) -> None:
    """Remove temporary files of processes that died while writing, and files of older versions."""
    now = time.time()
    for file in folder.files():
        unfinished = file.name.endswith(".tmp") and now - file.used >= age
        if unfinished or file.name.endswith(_OLDER) or file.name == ".swept":
            folder.remove(file.name)


def _report(kind: str, **details: object) -> None:
    if trace.enabled():
        trace.event(kind, **details)


# --- the file ---


def encode(key: str, artifact: Artifact) -> bytes:
    """The bytes of an entry."""
    metadata = cache_codec.to_json(artifact)
    payload = b"".join((_LENGTH.pack(len(metadata)), metadata, artifact.code))
    return _HEADER.pack(MAGIC, VERSION, _digest(key, payload)) + payload


def decode(key: str, data: bytes) -> Artifact:
    """The artifact of an entry's bytes.

    Raises:
        ValueError: the bytes are not an entry that ``encode`` made for this key.
    """
    payload = data[_HEADER.size :]
    if len(payload) < _LENGTH.size:
        raise ValueError("cut short")
    magic, version, digest = _HEADER.unpack_from(data)
    if magic != MAGIC or version != VERSION:
        raise ValueError("not an entry of this version")
    if digest != _digest(key, payload):
        raise ValueError("the digest does not fit")
    (length,) = _LENGTH.unpack_from(payload)
    end = _LENGTH.size + length
    if end > len(payload):
        raise ValueError("metadata longer than the file")
    return cache_codec.from_json(payload[_LENGTH.size : end], payload[end:])


def _digest(key: str, payload: bytes) -> bytes:
    # The digest covers the key, so that a file under another's name is refused.
    digest = sha256(key.encode() + b"\0")
    digest.update(payload)
    return digest.digest()


@cache
def default_cache() -> DiskCache | None:
    """The cache of this process, or None when GRIDLANE_CACHE=0 turned it off."""
    folder = cache_folder()
    return None if folder is None else DiskCache(folder)
