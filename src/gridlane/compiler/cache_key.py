"""The key of a compiled kernel: a digest of everything its code depends on."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path

from gridlane.core.config import config
from gridlane.core.version import VERSION

# The packages whose source decides the compiled code of a kernel.
COMPILER_HALF = (
    "core", "ir", "analysis", "passes", "frontends", "codegen", "backends", "compiler",
)  # fmt: skip


def make_key(*parts: bytes | str) -> str:
    """A key from the dependencies of a caller's kernel: source, constants, types, options, and the
    target with its processor. The compiler itself is part of every key.

    >>> make_key("a", "b") == make_key("ab")
    False
    """
    digest = sha256(_fixed())
    for part in parts:
        data = part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass")
        # Kind and length in front keep ("a", "b"), ("ab",) and (b"ab",) apart.
        digest.update(b"%c%d:" % (b"bs"[isinstance(part, str)], len(data)))
        digest.update(data)
    return digest.hexdigest()


@cache
def _fixed() -> bytes:
    # Its version only; code generation loads the library.
    versions = f"{VERSION} {import_module('llvmlite').__version__} "
    versions += f"{config().spin_limit} {config().stack} {__debug__} "
    return versions.encode() + compiler_digest(Path(__file__).parents[1])


def compiler_digest(package: Path) -> bytes:
    """A digest that changes when the compiler's source does."""
    return source_digest(package, COMPILER_HALF)


def source_digest(package: Path, rooms: Iterable[str]) -> bytes:
    """A digest that changes when the source of rooms does: names, sizes and times of files."""
    digest = sha256()
    for room in rooms:
        for line in _sources(str(package / room)):
            digest.update(line.encode())
    return digest.digest()


def _sources(folder: str) -> Iterator[str]:
    try:
        with os.scandir(folder) as items:
            entries = sorted(items, key=lambda item: item.name)
    except OSError:  # inside a zip file; only the version is known
        return
    for item in entries:
        if item.name.endswith((".py", ".c", ".h", ".txt")):
            info = item.stat()
            yield f"{item.path}\0{info.st_size}\0{info.st_mtime_ns}\0"
        elif item.is_dir() and item.name != "__pycache__":
            yield from _sources(item.path)
