"""Blocks of bytes on disk, by name."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterable, Iterator, MutableMapping
from contextlib import suppress
from types import TracebackType
from typing import Any
from zlib import crc32

from gridlane.core.errors import StoreCorrupt, StoreError, StoreFull, StoreUnavailable
from gridlane.core.frozen import frozen
from gridlane.memory.tiers.arguments import Location, flat, name_of, opened
from gridlane.memory.tiers.codecs import NUMBERS, RAW, WORTH, decode, encoder, shuffle, unshuffle
from gridlane.memory.tiers.compaction import compact
from gridlane.memory.tiers.index import Place
from gridlane.memory.tiers.log import Log
from gridlane.memory.tiers.records import BLOCK, DELETED
from gridlane.memory.tiers.segments import KEPT, SPILLED

_SMALLEST = 64
"""Bytes of a block below which compression is not tried."""
_OFTEN = 64
"""Changes after which dead bytes are counted."""


@frozen
class StoreStatistics:
    """Bytes and counts of a store.

    Attributes:
        blocks: their number.
        bytes: of all blocks.
        stored: bytes of them as they are stored.
        files: block files, those of other writers included.
        disk: bytes of these files.
        dead: bytes of them that no block needs.
        compactions: of this object.
        torn: bytes of unfinished records that its start has removed.
        lost: ranges of files of which nothing is known.
    """

    blocks: int
    bytes: int
    stored: int
    files: int
    disk: int
    dead: int
    compactions: int
    torn: int
    lost: int


class BlockStore(MutableMapping[str, Any]):
    """Blocks of bytes in files of one or several folders, a mapping of names to bytes.

    All methods may be called from any thread. Several processes may write to the same folders, each
    by an object of its own; ``refresh`` finds what others have stored. Of two blocks of one name
    the one that was stored later counts.

    After ``flush`` the blocks survive the end of the process and of the system; before, that of the
    process alone.

    Args:
        paths: a folder, or several; each may be a tuple with a quota, the most bytes of block files
            in the folder, a sixteenth of which is left for compaction. Others' files count as they
            were when a file was begun last. Folders are made, in folders that exist.
        codec: ``lz4`` (default), ``zstd`` or ``raw``. A block that it would not make smaller by 5 %
            is stored as it is.
        level: of the codec; None for its usual one.
        mode: ``w`` to read and write, ``r`` to read a store that is there.
        temporary: whether the blocks are this object's alone and end with it. Files of processes
            that were killed are removed when a store is opened there.
        segment_bytes: the size of a block file, after which another is begun.
        accept_losses: open a store of which folders or parts of files are missing, and read older
            blocks of a name where newer ones may have been there.

    Raises:
        ValueError: no folder, no such mode, codec or level.
        CodecMissing: the codec's package is not installed; it has the command that does.
        StoreUnavailable: a folder cannot be used.
        StoreCorrupt: the note of a folder, what store it is of, is not readable.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, BlockStore((folder, 1 << 20)) as store:
    ...     store.put("a", bytes(1000))
    ...     store.flush()
    ...     len(store.read("a")), store.statistics().stored < 100, list(store)
    (1000, True, ['a'])
    """

    def __init__(
        self,
        paths: Location | Iterable[Location],
        codec: str = "lz4",
        level: int | None = None,
        *,
        mode: str = "w",
        temporary: bool = False,
        segment_bytes: int = 256 << 20,
        accept_losses: bool = False,
    ) -> None:
        if mode not in ("r", "w"):
            raise ValueError(f"modes are r and w, not {mode!r}")
        if temporary and mode == "r":
            raise ValueError("a temporary store has no blocks to read at its start")
        if segment_bytes < 1:
            raise ValueError(f"segment_bytes={segment_bytes} is no size of a file")
        self._encode = encoder(codec, level)
        self._codec = NUMBERS[codec]
        folders = opened(paths, make=mode == "w")
        self._ended = ""
        self._temporary = temporary
        self._deleting = threading.Lock()
        self._compactions = self._changes = 0
        ending = SPILLED if temporary else KEPT
        self._log = Log(folders, ending, mode == "w", segment_bytes, accept_losses)
        self._end = weakref.finalize(self, _finish, self._log, os.getpid())
        _open.add(self)

    # --- blocks ----------------------------------------------------------------------------------

    def put(self, key: str, data: Any, itemsize: int | None = None) -> None:
        """Store a block; one of this name is replaced.

        Args:
            key: its name, at most 4096 bytes of UTF-8.
            data: its bytes, in anything with a buffer, at most 1 GiB, contiguous.
            itemsize: bytes of its elements, whose bytes are shuffled before compression; None for
                what ``data`` says of itself.

        Raises:
            TypeError: ``data`` has no bytes, or ``key`` is no str.
            ValueError: it is not contiguous, or it or ``key`` is too long.
            StoreFull: quotas or disks have no room. The block of this name is as before.
            StoreUnavailable: no folder can be written to, or the store is closed or read only.
        """
        name = name_of(key)
        view, own = flat(data)
        if itemsize is not None and itemsize < 1:
            raise ValueError(f"itemsize={itemsize} is no size of an element")
        self._check(writes=True)
        codec, size, stored = self._encoded(view, own if itemsize is None else itemsize)
        self._append(name, BLOCK, stored, codec, size, len(view), crc32(stored))
        self._tidy()

    def read(self, key: str, into: Any = None) -> Any:
        """The bytes of a block.

        Args:
            key: its name.
            into: a writable buffer of the block's length, which the bytes are written to; it has
                any bytes after an error.

        Returns:
            A new bytearray, or ``into``.

        Raises:
            KeyError: there is no block of this name.
            ValueError: ``into`` has another length, or is read only.
            CodecMissing: the codec of the block is not installed.
            StoreCorrupt: its bytes are not what was stored, or it may be in a lost part of a file.
            StoreUnavailable: the system does not read it, or the store is closed.
        """
        place = self._find(key)
        header = place.header
        result = bytearray(header.length) if into is None else into
        view, _ = flat(result)
        if view.readonly or len(view) != header.length:
            raise ValueError(
                f"block {key!r} has {header.length} bytes, and into "
                + ("is read only" if view.readonly else f"has {len(view)}")
            )
        if header.codec == RAW and header.itemsize == 1:
            place.segment.read(header, view)
            return result
        stored = memoryview(bytearray(header.stored))
        place.segment.read(header, stored)
        try:
            data = decode(header.codec, stored, header.length)
        except ValueError as error:
            raise place.segment.corrupt(header, str(error)) from error
        if header.itemsize > 1:
            unshuffle(data, header.itemsize, view)
        else:
            view[:] = data
        return result

    def delete(self, key: str) -> None:
        """Delete a block.

        Raises:
            KeyError: there is none of this name.
            StoreFull: the disk has no room for the record of the deletion.
            StoreUnavailable: no folder can be written to, or the store is closed or read only.
        """
        self._check(writes=True)
        with self._deleting:
            if not isinstance(key, str) or (name := name_of(key)) not in self._log.index.blocks:
                raise self._missing(key)
            if self._temporary:
                with self._log.lock:
                    self._log.index.drop(name)
            else:
                self._append(name, DELETED)
        self._tidy()

    def length(self, key: str) -> int:
        """The bytes of a block.

        Raises:
            KeyError, StoreCorrupt, StoreUnavailable: as ``read``, without a look at its bytes.
        """
        return self._find(key).header.length

    def __getitem__(self, key: str) -> bytearray:
        return self.read(key)

    def __setitem__(self, key: str, data: Any) -> None:
        self.put(key, data)

    def __delitem__(self, key: str) -> None:
        self.delete(key)

    def __contains__(self, key: object) -> bool:
        try:
            self._find(key)  # pyright: ignore[reportArgumentType]
        except KeyError:
            return False
        return True

    def __iter__(self) -> Iterator[str]:
        self._check()
        with self._log.lock:
            names = list(self._log.index.blocks)
        return (each.decode() for each in names)

    def __len__(self) -> int:
        self._check()
        return len(self._log.index.blocks)

    def __bool__(self) -> bool:
        return len(self) > 0

    def clear(self) -> None:
        """Delete all blocks."""
        for key in list(self):
            with suppress(KeyError):  # another thread has
                self.delete(key)

    # --- the store -------------------------------------------------------------------------------

    def flush(self) -> None:
        """Wait until all blocks are on disk. A temporary store has nothing to keep.

        Raises:
            StoreFull, StoreUnavailable: blocks are not, and may be lost with this process.
        """
        self._check(writes=True)
        if not self._temporary:
            self._log.flush()

    def refresh(self) -> None:
        """Find what other processes have stored and deleted.

        Raises:
            StoreUnavailable: a folder cannot be read.
        """
        self._check()
        self._log.refresh()

    def compact(self, least: float = 0.0) -> int:
        """Free the bytes of replaced and deleted blocks. It happens by itself when more than half
        of the bytes are dead, and before a store is full.

        Args:
            least: the part of a file that must be dead for it to be rewritten, 0 to 1.

        Returns:
            How many bytes of files are free now.

        Raises:
            StoreUnavailable: a file cannot be written or removed.
        """
        self._check(writes=True)
        self._compactions += 1
        return compact(self._log, max(least, 1e-9))

    def statistics(self) -> StoreStatistics:
        """Bytes and counts of the store, as of the last ``refresh``."""
        self._check()
        log = self._log
        with log.lock:
            segments = list(log.segments.values())
            return StoreStatistics(
                blocks=len(log.index.blocks),
                bytes=log.index.length,
                stored=log.index.stored,
                files=len(segments),
                disk=sum(each.end for each in segments),
                dead=sum(each.dead for each in segments),
                compactions=self._compactions,
                torn=log.torn,
                lost=len(log.lost),
            )

    def close(self) -> None:
        """Flush, and let go of the folders; a temporary store removes its files. Closing again does
        nothing.

        Raises:
            StoreFull, StoreUnavailable: as ``flush``; or files cannot be removed.
        """
        if self._ended:
            return
        self._ended = "the store is closed"
        _open.discard(self)
        self._end.detach()
        log = self._log
        try:
            if log.writes and not self._temporary:
                log.flush()
            log.close()
        finally:
            log.forget()

    def __enter__(self) -> BlockStore:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        paths = ", ".join(str(each.path) for each in self._log.folders)
        return f"<BlockStore {paths}{': ' + self._ended if self._ended else ''}>"

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    # --- within ----------------------------------------------------------------------------------

    def _check(self, writes: bool = False) -> None:
        if self._ended:
            raise StoreUnavailable(self._ended)
        if writes and not self._log.writes:
            raise StoreUnavailable("the store was opened to read")

    def _find(self, key: str) -> Place:
        self._check()
        if not isinstance(key, str):
            raise KeyError(key)
        place = self._log.index.blocks.get(name_of(key))
        if place is None:
            raise self._missing(key)
        if place.header.sequence <= self._log.doubtful:
            raise self._doubt(f"a newer block {key!r} may have been there")
        return place

    def _missing(self, key: str) -> KeyError | StoreCorrupt:
        if self._log.lost:
            return self._doubt(f"block {key!r} may have been there")
        return KeyError(key)

    def _doubt(self, reason: str) -> StoreCorrupt:
        path, start, end = self._log.lost[0]
        more = f" (and {len(self._log.lost) - 1} more)" if len(self._log.lost) > 1 else ""
        return StoreCorrupt(
            f"{path}: bytes {start} to {end}{more} are no records any more, and {reason}; "
            "accept_losses=True opens the store without them"
        )

    def _encoded(self, view: memoryview, itemsize: int) -> tuple[int, int, bytes | memoryview]:
        """The codec, the size of shuffled elements, and the stored bytes of a block."""
        if self._encode is None or len(view) < _SMALLEST:
            return RAW, 1, view
        itemsize = itemsize if itemsize <= 255 else 1
        shuffled = shuffle(view, itemsize) if itemsize > 1 else view
        packed = self._encode(shuffled)
        return (
            (self._codec, itemsize, packed) if len(packed) <= WORTH * len(view) else (RAW, 1, view)
        )

    def _append(self, *record: Any) -> None:
        try:
            return self._log.append(*record)
        except StoreFull as error:
            full = error
        for least in (0.5, 0.05):
            if self.compact(least) > 0:
                with suppress(StoreFull):
                    return self._log.append(*record)
        raise full

    def _tidy(self) -> None:
        """Compact if most of the bytes are dead, once in a number of changes."""
        self._changes += 1
        if self._changes % _OFTEN:
            return
        log = self._log
        with log.lock:
            dead = sum(each.dead for each in log.segments.values())
            live = sum(each.live for each in log.segments.values())
        if dead > max(live, log.segment_bytes):
            self.compact(0.5)


_open: weakref.WeakSet[BlockStore] = weakref.WeakSet()


def _finish(log: Log, process: int) -> None:
    """End a store that was not closed; a finaliser raises nothing. What others find of it is what a
    killed process leaves."""
    if os.getpid() == process:
        with suppress(StoreError):
            if log.ending == SPILLED:
                log.close()
        log.release()


def _after_fork() -> None:
    """A child must not append to its parent's files, nor keep its locks."""
    for store in list(_open):
        store._ended = "the store was opened before a fork: open it in the child"  # pyright: ignore[reportPrivateUsage]
        store._log.release()  # pyright: ignore[reportPrivateUsage]


os.register_at_fork(after_in_child=_after_fork)
