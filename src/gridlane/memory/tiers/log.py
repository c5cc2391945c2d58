"""The records of a store in its block files: appended, found again, flushed."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from uuid import uuid4

from gridlane.core.errors import StoreCorrupt, StoreError, StoreFull, StoreUnavailable
from gridlane.memory.tiers.folders import (
    WRITERS,
    Folder,
    check_manifests,
    dead_writers,
    locked,
    remove_files,
    remove_leftovers,
    take_lock,
)
from gridlane.memory.tiers.index import Index, Place
from gridlane.memory.tiers.records import BEGIN, BLOCK, END, FLUSHED, Header
from gridlane.memory.tiers.scan import Scan, scan
from gridlane.memory.tiers.segments import KEPT, SPILLED, SYNC, Part, Segment, failure

_READ = 1 << 20


class Log:
    """The records of a store.

    Locks are taken in this order: ``compacting``, ``reading``, a folder's, ``lock``.

    Args:
        folders: of the store.
        ending: KEPT or SPILLED.
        writes: whether this process writes.
        segment_bytes: of a block file, after which another is begun.
        accept: whether lost folders and records are accepted.
    """

    def __init__(
        self,
        folders: Sequence[Folder],
        ending: str,
        writes: bool,
        segment_bytes: int,
        accept: bool,
    ) -> None:
        self.folders, self.ending, self.writes, self.accept = folders, ending, writes, accept
        self.segment_bytes = segment_bytes
        self.index = Index()
        self.segments: dict[Path, Segment] = {}
        self.compacting, self.reading = threading.RLock(), threading.RLock()
        self.lock = threading.RLock()
        self.lost: list[tuple[Path, int, int]] = []
        """Files and ranges in them of which nothing is known."""
        self.doubtful = -1
        """The highest number of a record that one in a lost range may have replaced."""
        self.torn = 0
        """Bytes of unfinished records that the start has removed."""
        self.writer = uuid4().hex[:16]
        self.locks: list[int] = []
        self._numbers, self._turn = count(), count()
        if not writes:
            check_manifests(folders, write=False, accept=accept, store="")
            self.refresh()
            return
        try:
            self._start()
        except BaseException:
            self.release()
            raise

    # --- start and end ---------------------------------------------------------------------------

    def _start(self) -> None:
        with locked(self.folders):
            for each in self.folders:
                remove_leftovers(each)
            if self.ending == KEPT:
                check_manifests(self.folders, True, self.accept, self.writer)
                self.refresh()
                for each in self.folders:
                    self._bury(each)
                self.index.settle()
            for each in self.folders:
                path = each.path / (self.writer + WRITERS[self.ending])
                self.locks.append(take_lock(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, wait=False))
                each.measure()

    def _bury(self, folder: Folder) -> None:
        """Cut what dead writers have not finished, so that their files are whole."""
        for writer, _ in dead_writers(folder, KEPT):
            self.refresh()  # it may have written until now
            for segment in list(self.segments.values()):
                if segment.path.parent != folder.path or segment.writer != writer:
                    continue
                rest = segment.size() - segment.end
                if rest:
                    try:
                        os.truncate(segment.path, segment.end)
                        with open(segment.path, "rb") as file:
                            os.fsync(file.fileno())
                    except OSError as error:
                        raise failure(error, segment.path, "cutting a torn record") from error
                    self.torn += rest
            try:
                (folder.path / (writer + WRITERS[KEPT])).unlink(missing_ok=True)
            except OSError as error:
                raise failure(error, folder.path, "removing a lock") from error

    def release(self) -> None:
        """Close the writer's locks: others may remove its leftovers."""
        while self.locks:
            os.close(self.locks.pop())

    def close(self) -> None:
        """Remove the writer's locks, and the files of a temporary store.

        Raises:
            StoreUnavailable: they cannot be removed.
        """
        for each in self.folders if self.locks else ():
            try:
                if self.ending == SPILLED:
                    remove_files(each.path, self.writer)
                (each.path / (self.writer + WRITERS[self.ending])).unlink(missing_ok=True)
            except OSError as error:
                self.release()
                raise failure(error, each.path, "removing files") from error
        self.release()

    def forget(self) -> None:
        """Let go of the files and what is known of them."""
        with self.lock:
            self.segments.clear()
            self.index = Index()
        for each in self.folders:
            each.own.clear()
            each.active = None

    # --- reading ---------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Find the records that others have stored.

        Raises:
            StoreUnavailable: a folder cannot be read.
        """
        if self.ending == SPILLED:
            return
        with self.reading:
            # Compaction of another process moves records to a new file before it removes the old
            # one. A listing may miss both; a second one, after the removal, finds the new file.
            if self._refresh():
                self._refresh()

    def _refresh(self) -> bool:
        """Read new records; return whether files with needed records are gone."""
        present: set[Path] = set()
        for folder in self.folders:
            for name in folder.names():
                path = folder.path / name
                if not name.endswith(KEPT) or name.startswith(self.writer):
                    continue
                if (segment := self._segment(path)) is not None:
                    present.add(path)
                    self._read_new(segment)
        again = False
        with self.lock:
            for path in self.segments.keys() - present:
                segment = self.segments[path]
                if segment.own:
                    continue
                if self.index.needs(segment):
                    again = True  # its blocks stay readable here, as the file is open
                    continue
                self.index.forget(segment, settle=False)
                del self.segments[path]
        return again

    def _segment(self, path: Path) -> Segment | None:
        segment = self.segments.get(path)
        if segment is None:
            try:
                segment = self.segments[path] = Segment(path)
            except FileNotFoundError:
                return None
            except OSError as error:
                raise failure(error, path, "opening") from error
        return segment

    def _read_new(self, segment: Segment) -> None:
        size = segment.size()
        if size <= segment.end:
            return
        try:
            found = scan(segment, size)
            if self.writes and self._unclosed(segment):
                found = _durable(segment, found)
        except OSError as error:
            if isinstance(error, StoreError):
                raise
            raise failure(error, segment.path, "reading") from error
        with self.lock:
            for each in found.intact:
                if each.kind != FLUSHED:
                    self.index.add(Place(segment, each))
                self.index.sequence = max(self.index.sequence, each.sequence)
            for each, reason in found.damaged:
                if each.kind != FLUSHED:
                    self.index.add(Place(segment, each, reason))
            segment.end, segment.flushed = found.end, found.flushed
            if found.lost and not self.accept:
                segment.damaged = True
                self.lost += [(segment.path, start, end) for start, end in found.lost]
                self.doubtful = max(self.doubtful, self.index.sequence)

    def _unclosed(self, segment: Segment) -> bool:
        """Whether a file that is found at the start has a writer that has not closed it."""
        if self.locks:
            return False
        return (segment.path.parent / (segment.writer + WRITERS[KEPT])).exists()

    # --- writing ---------------------------------------------------------------------------------

    def append(
        self,
        key: bytes,
        kind: int,
        stored: Part = b"",
        codec: int = 0,
        itemsize: int = 1,
        length: int = 0,
        checksum: int = 0,
    ) -> None:
        """Append a record of a key, with the next number.

        Raises:
            StoreFull: no folder has room.
            StoreUnavailable: no folder takes files, of which one or more are not full.
        """

        def write(segment: Segment) -> None:
            with self.lock:
                self.index.sequence = max(self.index.sequence + 1, time.time_ns())
                number = self.index.sequence
            header = Header(
                kind, codec, itemsize, key, number, length, len(stored), segment.end, checksum
            )
            append_record(segment, header, stored)
            with self.lock:
                self.index.add(Place(segment, header))

        size = Header(kind, 0, 1, key, 0, 0, len(stored), 0, 0).span
        self.place(size, write, spares=kind == BLOCK, limited=kind == BLOCK)

    def place(
        self, size: int, write: Callable[[Segment], object], spares: bool, limited: bool
    ) -> None:
        """Have a record appended in the first folder that takes it; each call begins with another.

        Args:
            size: of the record in bytes.
            write: appends it to a file.
            spares: whether room for compaction is left in quotas.
            limited: whether quotas apply.

        Raises:
            StoreFull: no folder has room.
            StoreUnavailable: no folder takes files, of which one or more are not full.
        """
        start = next(self._turn)
        errors: list[StoreFull | StoreUnavailable] = []
        for n in range(len(self.folders)):
            folder = self.folders[(start + n) % len(self.folders)]
            most = self._most(folder)
            spare = (most if spares else 0) if limited else None
            try:
                return folder.append(size, self._begin, write, most, spare)
            except (StoreFull, StoreUnavailable) as error:
                errors.append(error)
        kind = StoreFull if any(isinstance(each, StoreFull) for each in errors) else None
        raise (kind or StoreUnavailable)("; ".join(map(str, errors))) from errors[0]

    def _most(self, folder: Folder) -> int:
        """The size of a folder's files. The room of one is kept for compaction."""
        if folder.quota is None:
            return self.segment_bytes
        return min(self.segment_bytes, folder.quota // 16)

    def _begin(self, path: Path) -> Segment:
        segment = Segment(path / f"{self.writer}-{next(self._numbers)}{self.ending}", own=True)
        with self.lock:
            self.segments[segment.path] = segment
        return segment

    # --- on disk ---------------------------------------------------------------------------------

    def flush(self, others: bool = False) -> None:
        """Wait until all records are on disk.

        Args:
            others: those of other processes too.

        Raises:
            StoreUnavailable: a file with blocks is gone.
            StoreFull, StoreUnavailable: the system cannot write.
        """
        for segment in list(self.segments.values()):
            if not (segment.own or others):
                continue
            if not segment.exists():
                if segment.live and segment.own:
                    raise StoreUnavailable(f"{segment.path} with {segment.live} bytes was removed")
                continue
            end = segment.end
            if segment.flushed >= end:
                continue
            try:
                SYNC(segment.file)
            except OSError as error:
                raise failure(error, segment.path, "flushing") from error
            if segment.own:
                self._note_flush(segment, end)
        for each in self.folders:
            try:
                each.sync()
            except OSError as error:
                raise failure(error, each.path, "flushing the folder") from error

    def _note_flush(self, segment: Segment, end: int) -> None:
        """Note in a file how far it is on disk: damage before is an error at the next start."""
        folder = next(each for each in self.folders if each.path == segment.path.parent)
        with folder.lock:
            idle = segment.end == end
            header = Header(FLUSHED, 0, 1, b"", self.index.sequence, end, 0, segment.end, 0)
            # On a full disk there is no note: the next start checks more bytes then.
            with suppress(OSError):
                append_record(segment, header)
            segment.flushed = segment.end if idle else end


def append_record(segment: Segment, header: Header, stored: Part = b"") -> None:
    """Append a record.

    Raises:
        OSError: the file has none of it.
    """
    parts = header.pack(BEGIN, segment.salt), stored, header.pack(END, segment.salt)
    segment.append(parts)


def _durable(segment: Segment, found: Scan) -> Scan:
    """Of a file whose writer is dead what is whole: behind the last flush the first record with
    damage ends it, as after a loss of power."""
    ends = [each.offset for each, _ in found.damaged] + [start for start, _ in found.lost]
    for each in found.intact:
        if each.offset >= found.flushed and not _sound(segment, each):
            ends.append(each.offset)
            break
    end = min((each for each in ends if each >= found.flushed), default=found.end)
    return Scan(
        [each for each in found.intact if each.offset < end],
        [each for each in found.damaged if each[0].offset < end],
        [each for each in found.lost if each[0] < end],
        end,
        found.flushed,
    )


def _sound(segment: Segment, header: Header) -> bool:
    try:
        segment.read(header, memoryview(bytearray(header.stored)))
    except StoreCorrupt:
        return False
    return True
