"""The file of a checkpoint: written whole or not at all, and read only if every byte is as written.

A header of 64 bytes: 8 bytes of magic, the version (uint32), 0 (uint32), the bytes of the table and
of the data (uint64 each), and the BLAKE2b digest, of 32 bytes, of all the file, with zeros in its
place. The table, JSON in UTF-8, follows, and then the data, which the table refers to. Numbers are
little-endian.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
import tempfile
from contextlib import suppress
from pathlib import Path

from gridlane.actors.errors import CheckpointError
from gridlane.actors.processes.identity import is_left, mark_of

MAGIC = b"GLACTORS"
VERSION = 1
_PART = ".part"
_HEADER = struct.Struct("<8sIIQQ32s")
assert _HEADER.size == 64


def write_file(path: str | os.PathLike[str], table: bytes, data: bytes) -> None:
    """Write a checkpoint. At each moment the path has the old file or the new one, also if the
    process is killed. That leaves a file ``.NAME.*.part`` beside it, which the next writer removes.
    Its mode is 0600.

    Raises:
        OSError: it cannot be written; the old file is unchanged.
    """
    target = Path(path)
    digest = _digest(_HEADER.pack(MAGIC, VERSION, 0, len(table), len(data), bytes(32)), table, data)
    header = _HEADER.pack(MAGIC, VERSION, 0, len(table), len(data), digest)
    _remove_left(target)
    prefix = f".{target.name}.{mark_of(os.getpid())}."
    number, part = tempfile.mkstemp(_PART, prefix, target.parent)
    try:
        with os.fdopen(number, "wb") as file:
            for each in (header, table, data):
                file.write(each)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(part)
        raise
    _sync_folder(target.parent)


def _remove_left(target: Path) -> None:
    """Remove the parts of killed writers of the same file."""
    prefix = f".{target.name}."
    for name in os.listdir(target.parent):
        if name.startswith(prefix) and name.endswith(_PART):
            mark = name.removeprefix(prefix).partition(".")[0]
            if is_left(mark):
                with suppress(OSError):
                    os.unlink(target.parent / name)


def read_file(path: str | os.PathLike[str]) -> tuple[bytes, memoryview]:
    """The table and the data of a checkpoint.

    Raises:
        OSError: there is no such file, or it may not be read.
        CheckpointError: it is no checkpoint, is truncated, was changed, or is of another version.
    """
    content = _content(path)
    if len(content) < _HEADER.size:
        raise CheckpointError(
            f"{path} is no checkpoint, or cut short: it has {len(content)} bytes, and a "
            f"checkpoint's header {_HEADER.size}"
        )
    magic, version, zero, table, data, digest = _HEADER.unpack_from(content)
    if magic != MAGIC:
        raise CheckpointError(f"{path} is no checkpoint: it begins with {magic!r}, not {MAGIC!r}")
    if version != VERSION or zero:
        raise CheckpointError(
            f"{path} is a checkpoint of version {version}, and this gridlane reads version "
            f"{VERSION}; restore it with the gridlane that wrote it"
        )
    whole = _HEADER.size + table + data
    if whole != len(content):
        what = "cut short" if len(content) < whole else "damaged"
        raise CheckpointError(
            f"{path} is {what}: it has {len(content)} bytes, and its header says {whole}"
        )
    text = content[_HEADER.size : _HEADER.size + table]
    rest = memoryview(content)[_HEADER.size + table :]
    blank = _HEADER.pack(magic, version, zero, table, data, bytes(32))
    if _digest(blank, text, rest) != digest:
        raise CheckpointError(f"{path} is damaged: its checksum is not that of its content")
    return text, rest


def _content(path: str | os.PathLike[str]) -> bytes:
    # Without O_NONBLOCK an open of a pipe would wait.
    number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise CheckpointError(f"{path} is no checkpoint: it is a folder or a device")
        with open(number, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(number)


def _digest(*parts: bytes | memoryview) -> bytes:
    digest = hashlib.blake2b(digest_size=32)
    for each in parts:
        digest.update(each)
    return digest.digest()


def _sync_folder(folder: Path) -> None:
    """Sync the folder, so that the new name survives a crash."""
    number = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        os.fsync(number)
    finally:
        os.close(number)
