"""Block files: files to which records are only appended."""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

from gridlane.core.errors import StoreCorrupt, StoreFull, StoreUnavailable
from gridlane.memory.tiers.records import BEGIN, END, Header, parse, salt_of

Part = bytes | bytearray | memoryview

KEPT, SPILLED = ".blocks", ".spill"
"""The endings of the names of block files: of stores that are kept, and of temporary ones."""
SYNC = getattr(os, "fdatasync", os.fsync)
"""Waits until the bytes of an open file are on disk; macOS has no call for these alone."""
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def failure(error: OSError, path: Path, action: str) -> StoreFull | StoreUnavailable:
    """The error of the store for one of the system."""
    reason = f"{path}: {action}: {error.strerror or error}"
    return StoreFull(reason) if error.errno in _FULL else StoreUnavailable(reason)


class Segment:
    """An open block file.

    Attributes:
        writer: the name of the store that wrote it, the part of its name before the dash.
        own: whether this store appends to it.
        end: the offset behind the last whole record.
        live: bytes of records that are still the newest of their key.
        counts: how many records each key has here.
        flushed: the offset up to which the file is known to be on disk.
        damaged: whether nothing is known of a part of it, so that it is kept as it is.
    """

    def __init__(self, path: Path, own: bool = False) -> None:
        self.path, self.own = path, own
        self.name = path.name
        self.writer = path.name.partition("-")[0]
        self.salt = salt_of(path.name)
        self.end = self.live = self.flushed = 0
        self.counts: Counter[bytes] = Counter()
        self.damaged = False
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL if own else os.O_RDONLY
        self.file = os.open(path, flags | os.O_CLOEXEC, 0o600)

    def __del__(self) -> None:
        # A read in another thread has a reference, so the file stays open for it.
        if hasattr(self, "file"):
            os.close(self.file)

    @property
    def dead(self) -> int:
        """Bytes that no block needs."""
        return self.end - self.live

    def size(self) -> int:
        """Bytes of the file."""
        return os.fstat(self.file).st_size

    def changed(self) -> int:
        """When the file was written to last, in nanoseconds."""
        return os.fstat(self.file).st_mtime_ns

    def exists(self) -> bool:
        """Whether the file still has a name: one that has none is gone with this process."""
        return os.fstat(self.file).st_nlink > 0

    def append(self, parts: Sequence[Part]) -> None:
        """Append the bytes of a record.

        Raises:
            OSError: the file has none of it.
        """
        if not self.exists():
            raise FileNotFoundError(errno.ENOENT, "the file was removed")
        left = [memoryview(each) for each in parts if len(each)]
        place = self.end
        try:
            while left:
                written = os.pwritev(self.file, left, place)
                if not written:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                place += written
                while left and written >= len(left[0]):
                    written -= len(left.pop(0))
                if left:
                    left[0] = left[0][written:]
        except BaseException:
            os.ftruncate(self.file, self.end)
            raise
        self.end = place

    def read(self, header: Header, into: memoryview) -> None:
        """Read a record, and check each byte of it.

        Args:
            header: of the record.
            into: the stored bytes are written here.

        Raises:
            StoreCorrupt: a byte is not what was written.
            StoreUnavailable: the system does not read it.
        """
        first, last = bytearray(header.size), bytearray(header.size)
        left = [memoryview(each) for each in (first, into, last)]
        place = header.offset
        try:
            while left:
                count = os.preadv(self.file, left, place)
                if not count:
                    raise self.corrupt(header, f"the file ends at byte {place}")
                place += count
                while left and count >= len(left[0]):
                    count -= len(left.pop(0))
                if left:
                    left[0] = left[0][count:]
        except OSError as error:
            if isinstance(error, StoreCorrupt):
                raise
            raise failure(error, self.path, "reading") from error
        if parse(first, BEGIN, self.salt) != header:
            raise self.corrupt(header, "its header has other bytes")
        if parse(last, END, self.salt) != header:
            raise self.corrupt(header, "the header at its end has other bytes")
        check_sum(self, header, into)

    def corrupt(self, header: Header, reason: str) -> StoreCorrupt:
        """The error of a damaged record."""
        key = header.key.decode(errors="backslashreplace")
        return StoreCorrupt(
            f"block {key!r} in {self.path}, bytes {header.offset} to {header.end}: {reason}"
        )


def check_sum(segment: Segment, header: Header, stored: memoryview) -> None:
    """Compare the stored bytes of a record with their checksum.

    Raises:
        StoreCorrupt: they differ.
    """
    if crc32(stored) != header.checksum:
        raise segment.corrupt(header, "its bytes do not have its checksum")


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on disk."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(number)
    finally:
        os.close(number)
