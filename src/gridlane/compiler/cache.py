"""The disk cache of compiled kernels: one file an artifact, named after the key.

Anything may have happened to a file since it was written (a full disk, a crash, another program),
and its bytes are going to be executed. So a file says what it is, and a digest covers the key and
all that follows; what does not fit is removed and compiled again. Files appear whole or not at all
(written aside, then renamed), so any number of processes may share a directory without locks.

    magic (8)  version (u32)  digest (32)  |  metadata length (u32)  metadata (JSON)  code
                                           '- what the digest covers, after the key
"""

from __future__ import annotations

import os
import stat
import struct
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from gridlane.compiler import cache_codec
from gridlane.compiler.cache_key import make_key
from gridlane.core import trace
from gridlane.core.artifact import Artifact
from gridlane.core.config import config

__all__ = ["CacheStats", "DiskCache", "decode", "default_cache", "encode", "make_key"]

MAGIC = b"gridlane"
VERSION = 1
_HEADER = struct.Struct("<8sI32s")
_LENGTH = struct.Struct("<I")

SUFFIX = ".kernel"
DEFAULT_LIMIT = 512 * 2**20
"""Bytes that the cache may take."""
_LARGEST = 64 * 2**20  # bytes of an entry; no kernel comes near
_TOUCH_S = 3600.0  # an entry's time of use is this precise
_SWEEP_S = 3600.0  # between looks at the size of the directory
_SWEPT = ".swept"  # its time is that of the last look, by any process


@dataclass(frozen=True, slots=True)
class CacheStats:
    """What a cache holds: files, their bytes, and how many bytes it may take."""

    entries: int
    bytes: int
    limit: int


class DiskCache:
    """Artifacts in a directory, at most ``limit`` bytes of them, the oldest used going first.

    The directory is made at the first ``put``. Its methods may be called from any thread and never
    raise for what is on the disk: without a usable directory nothing is found and nothing is kept.
    """

    def __init__(self, root: Path | str, limit: int = DEFAULT_LIMIT) -> None:
        self.root = Path(root)
        self.limit = limit
        self._prefix = os.path.join(root, "")
        self._trusted: bool | None = None
        self._writable = True
        self._unswept = 0  # bytes written since this process looked at the size

    # --- entries ---

    def get(self, key: str) -> Artifact | None:
        """The artifact kept under ``key``, or None. A damaged entry is removed."""
        path = self._path(key)
        if self._trusted is None:
            self._trusted = self._trust()
        if not self._trusted:
            return None
        try:
            info = os.stat(path)
            if not stat.S_ISREG(info.st_mode) or info.st_size > _LARGEST:
                raise ValueError("not an entry")
            with open(path, "rb", buffering=0) as file:
                data = file.read()
            artifact = decode(key, data)
        except FileNotFoundError:
            return None
        except OSError as error:
            _report("cache-unreadable", path=path, error=error)
            return None
        except ValueError as error:
            _report("cache-corrupt", path=path, error=error)
            _remove(path)
            return None
        if time.time() - info.st_mtime > _TOUCH_S:
            with suppress(OSError):
                os.utime(path)
        return artifact

    def put(self, key: str, artifact: Artifact) -> None:
        """Keep an artifact under ``key``; where that fails, it fails once and silently."""
        path = self._path(key)
        if not self._writable:
            return
        data = encode(key, artifact)
        if len(data) > _LARGEST:
            return
        aside = f"{self._prefix}.{key}.{os.getpid()}.{threading.get_ident()}.tmp"
        try:
            os.makedirs(self.root, mode=0o700, exist_ok=True)
            if not self._trusted:
                self._trusted = self._trust()
                if not self._trusted:
                    raise PermissionError(self.problem())
            _write_new(aside, data)
            os.replace(aside, path)
        except OSError as error:
            self._writable = False
            _remove(aside)
            _report("cache-off", directory=self.root, error=error)
            return
        self._unswept += len(data)
        if self._unswept > self.limit // 16 or self._sweep_is_due():
            self.sweep()

    def _path(self, key: str) -> str:
        if not key.isalnum():
            raise ValueError(f"a cache key is made of letters and digits, not {key!r}")
        return self._prefix + key + SUFFIX

    # --- the directory ---

    def clear(self) -> int:
        """Remove every entry; the number of them."""
        paths = [path for _, _, path in self._entries()]
        for path in paths:
            _remove(path)
        self._remove_leftovers(0.0)
        return len(paths)

    def stats(self) -> CacheStats:
        """How much there is."""
        sizes = [size for _, size, _ in self._entries()]
        return CacheStats(len(sizes), sum(sizes), self.limit)

    def problem(self) -> str:
        """Why the directory cannot be used, or "" when it can."""
        place = self.root
        while not place.exists() and place != place.parent:
            place = place.parent  # makedirs would start here
        if not place.is_dir():
            return f"{place} is not a directory"
        if not os.access(place, os.W_OK | os.X_OK):
            return f"{place} is not writable"
        if place == self.root and not self._trust():
            return f"{place} belongs to someone else, or everyone may write to it"
        return ""

    def sweep(self) -> None:
        """Remove the entries longest unused until the cache is well below its limit."""
        self._unswept = 0
        with suppress(OSError):
            Path(self._prefix + _SWEPT).touch(mode=0o600)
        self._remove_leftovers(_SWEEP_S)
        entries = sorted(self._entries())
        total = sum(size for _, size, _ in entries)
        if total <= self.limit:
            return
        for _, size, path in entries:
            _remove(path)
            total -= size
            if total <= self.limit * 3 // 4:
                break
        _report("cache-swept", directory=self.root, bytes=total)

    def _trust(self) -> bool:
        """Whether nobody else can put code for us to run here; also while it does not exist."""
        if not hasattr(os, "getuid"):
            return True
        try:
            info = os.stat(self.root)
        except OSError:
            return True
        return info.st_uid == os.getuid() and not info.st_mode & stat.S_IWOTH

    def _sweep_is_due(self) -> bool:
        try:
            return time.time() - os.stat(self._prefix + _SWEPT).st_mtime > _SWEEP_S
        except OSError:
            return True

    def _files(self) -> list[tuple[float, int, str]]:
        """Time of last use, size and path of each file; other processes may remove them."""
        found = []
        with suppress(OSError), os.scandir(self.root) as items:
            for item in items:
                with suppress(OSError):
                    info = item.stat(follow_symlinks=False)
                    found.append((info.st_mtime, info.st_size, item.path))
        return found

    def _entries(self) -> list[tuple[float, int, str]]:
        return [file for file in self._files() if file[2].endswith(SUFFIX)]

    def _remove_leftovers(self, age: float) -> None:
        """Remove what processes that died while writing left behind."""
        for used, _, path in self._files():
            if path.endswith(".tmp") and time.time() - used >= age:
                _remove(path)


def _write_new(path: str, data: bytes) -> None:
    """Write a file that only its owner may use; it must not exist."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


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
        ValueError: this is not what ``encode`` made for this key.
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
    # With the key, so that a file under another's name is not taken for it.
    digest = sha256(key.encode() + b"\0")
    digest.update(payload)
    return digest.digest()


@cache
def default_cache() -> DiskCache | None:
    """The cache of this process, or None when GRIDLANE_CACHE=0 turned it off."""
    settings = config()
    if not settings.cache:
        return None
    if settings.cache_dir is not None:
        return DiskCache(settings.cache_dir)
    from platformdirs import user_cache_dir  # not needed where the directory is given

    return DiskCache(user_cache_dir("gridlane", appauthor=False))
