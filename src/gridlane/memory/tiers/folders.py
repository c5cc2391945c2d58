"""The folders of a store: their quotas, locks, and block files."""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from gridlane.core.errors import StoreCorrupt, StoreFull, StoreUnavailable
from gridlane.memory.tiers.segments import KEPT, SPILLED, Segment, failure, sync_folder

WRITERS = {KEPT: ".keeps", SPILLED: ".spills"}
"""The endings of writers' locks, by those of their block files."""
MANIFEST = "store.json"
_FORM = 1


class Folder:
    """A folder of a store.

    Attributes:
        path: of the folder.
        quota: the most bytes of block files in it; None for the disk's space.
        lock: held by appends.
        own: the files of this store by name.
        unsynced: whether names in the folder may not be on disk.
    """

    def __init__(self, path: Path, quota: int | None) -> None:
        self.path, self.quota = path, quota
        self.lock = threading.RLock()
        self.own: dict[str, Segment] = {}
        self.active: Segment | None = None
        self.unsynced = False
        self._others = 0

    def names(self) -> dict[str, int]:
        """The block files, with their sizes.

        Raises:
            StoreUnavailable: the folder cannot be read.
        """
        found: dict[str, int] = {}
        try:
            with os.scandir(self.path) as entries:
                for each in entries:
                    if each.name.endswith((KEPT, SPILLED)):
                        with suppress(FileNotFoundError):  # another process removes files
                            found[each.name] = each.stat().st_size
        except OSError as error:
            raise failure(error, self.path, "reading the folder") from error
        return found

    def measure(self) -> None:
        """Note the sizes of others' files, which count for the quota."""
        self._others = sum(size for name, size in self.names().items() if name not in self.own)

    @property
    def used(self) -> int:
        """Bytes of block files: those of others when they were last measured."""
        return self._others + sum(each.end for each in list(self.own.values()))

    def append(
        self,
        size: int,
        begin: Callable[[Path], Segment],
        write: Callable[[Segment], object],
        most: int,
        spare: int | None,
    ) -> None:
        """Append a record to the folder's current file.

        Args:
            size: of the record in bytes.
            begin: opens a new file in the folder.
            write: appends to a file, and notes the new length.
            most: bytes of a file, after which another is begun.
            spare: bytes of the quota that are left; None to go beyond it.

        Raises:
            StoreFull: the quota or the disk does not allow it.
            StoreUnavailable: the folder does not take files.
        """
        with self.lock:
            try:
                if self.active is None or (self.active.end and self.active.end + size > most):
                    self.measure()
                    self._check(size, spare)
                    self.active = begin(self.path)
                    self.own[self.active.name] = self.active
                    self.unsynced = True
                self._check(size, spare)
                write(self.active)
            except OSError as error:
                if isinstance(error, StoreFull | StoreUnavailable):
                    raise
                if self.active is not None and not self.active.exists():
                    self.active = None
                raise failure(error, self.path, "writing") from error

    def _check(self, size: int, spare: int | None) -> None:
        if spare is None or self.quota is None:
            return
        used = self.used
        if used + size > self.quota - spare:
            raise StoreFull(
                f"{self.path}: {used} of the quota of {self.quota} bytes are used, {spare} are "
                f"for compaction, {size} more are needed"
            )

    def sync(self) -> None:
        """Wait until the names are on disk."""
        if self.unsynced:
            self.unsynced = False
            try:
                sync_folder(self.path)
            except BaseException:
                self.unsynced = True
                raise

    def remove(self, segment: Segment) -> None:
        """Remove a block file."""
        with self.lock:
            with suppress(FileNotFoundError):
                os.unlink(segment.path)
            self.own.pop(segment.name, None)
            if self.active is segment:
                self.active = None
            self.unsynced = True


@contextmanager
def locked(folders: Sequence[Folder]) -> Generator[None]:
    """Hold the folders' locks, which no two processes do at once: while writers start and end, and
    during compaction.

    Raises:
        StoreUnavailable: a folder cannot be opened.
    """
    with ExitStack() as stack:
        for each in sorted(folders, key=lambda folder: os.path.realpath(folder.path)):
            number = take_lock(each.path, os.O_RDONLY | os.O_DIRECTORY, wait=True)
            stack.callback(os.close, number)
        yield


def take_lock(path: Path, flags: int, wait: bool) -> int:
    """Lock a file or folder until its descriptor, the result, is closed, or this process ends.

    Raises:
        BlockingIOError: another has it, and ``wait`` is false.
        StoreUnavailable: it cannot be opened.
    """
    try:
        number = os.open(path, flags | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise failure(error, path, "opening") from error
    try:
        fcntl.flock(number, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BaseException:
        os.close(number)
        raise
    return number


def dead_writers(folder: Folder, ending: str) -> Generator[tuple[str, int]]:
    """The writers of files with an ending whose processes have ended without removing their locks:
    their names, and a descriptor that holds the lock. The caller holds the folder's lock."""
    for path in sorted(folder.path.glob("*" + WRITERS[ending])):
        try:
            number = take_lock(path, os.O_RDONLY, wait=False)
        except BlockingIOError:
            continue
        except StoreUnavailable as error:
            # It is another user's, or another process has just removed it.
            if isinstance(error.__cause__, PermissionError | FileNotFoundError):
                continue
            raise
        try:
            yield path.stem, number
        finally:
            os.close(number)


def remove_leftovers(folder: Folder) -> None:
    """Remove the files of temporary stores whose processes are dead. The caller holds the folder's
    lock."""
    try:
        for writer, _ in dead_writers(folder, SPILLED):
            remove_files(folder.path, writer)
        for name in folder.names():
            writer = name.partition("-")[0]
            lock = folder.path / (writer + WRITERS[SPILLED])
            if name.endswith(SPILLED) and not lock.exists():
                with suppress(PermissionError):  # another user's
                    os.unlink(folder.path / name)
    except OSError as error:
        if isinstance(error, StoreUnavailable):
            raise
        raise failure(error, folder.path, "removing files of ended processes") from error


def remove_files(path: Path, writer: str) -> None:
    """Remove the files of a temporary store, and its lock at last, so that a next start finds what
    an interrupted removal left."""
    for each in path.glob(f"{writer}-*{SPILLED}"):
        each.unlink(missing_ok=True)
    (path / (writer + WRITERS[SPILLED])).unlink(missing_ok=True)


def check_manifests(folders: Sequence[Folder], write: bool, accept: bool, store: str) -> None:
    """Compare which store each folder is of, and of how many: a folder whose disk is not there is
    empty, and blocks in it would seem never to have been stored.

    Args:
        write: note the folders, and those that are new.
        accept: note that folders are missing.
        store: the name of a new store.

    Raises:
        StoreUnavailable: a folder is missing, or of another store.
        StoreCorrupt: a note is not readable.
    """
    found = {each.path: _manifest(each.path / MANIFEST) for each in folders}
    known = {path: note for path, note in found.items() if note is not None}
    stores = {note[0] for note in known.values()}
    if len(stores) > 1:
        names = ", ".join(map(str, known))
        raise StoreUnavailable(f"the folders are of different stores: {names}")
    most = max((count for _, count in known.values()), default=0)
    if len(known) < most and not accept:
        empty = ", ".join(str(path) for path in found if path not in known) or "a path not named"
        raise StoreUnavailable(
            f"the store has {most} folders, and {len(known)} of them are here; missing: {empty}. "
            "Without its blocks it opens with accept_losses=True"
        )
    if not write or (len(known) == len(folders) == most):
        return
    text = json.dumps(
        {"form": _FORM, "store": stores.pop() if stores else store, "folders": len(folders)}
    )
    for each in folders:
        aside = each.path / (MANIFEST + ".new")
        try:
            with open(aside, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(aside, each.path / MANIFEST)
            sync_folder(each.path)
        except OSError as error:
            raise failure(error, each.path, "writing") from error


def _manifest(path: Path) -> tuple[str, int] | None:
    try:
        raw = json.loads(path.read_text("utf-8"))
        if raw["form"] != _FORM:
            raise StoreUnavailable(f"{path} is of form {raw['form']}; this version reads {_FORM}")
        return str(raw["store"]), int(raw["folders"])
    except FileNotFoundError:
        return None
    except OSError as error:
        if isinstance(error, StoreUnavailable):
            raise
        raise failure(error, path, "reading") from error
    except (ValueError, KeyError, TypeError) as error:
        raise StoreCorrupt(f"{path} does not describe a store: {error}") from error
