"""The folder of shared inboxes: their names and their processes.

Each inbox is memory without a name (``memfd_create``), which is freed with the last process that
maps it, and which no process can shrink. A small file in the user's runtime folder names the
process that has it. A killed process leaves only that file, and the next process that reads the
folder removes it.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any

from gridlane.actors.errors import ActorError
from gridlane.actors.processes.user_folder import user_folder, verified_folder
from gridlane.core.forks import fork_waits

SUFFIX = ".inbox"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", re.ASCII)
_LARGEST = 4096
"""Bytes of a file that describes an inbox."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The location of an inbox.

    Attributes:
        process: the number of the process that has it.
        start: when that process started, in ticks of its boot.
        space: the namespace that numbers of processes are of.
        file: its descriptor there.
    """

    process: int
    start: int
    space: int
    file: int

    def lives(self) -> bool:
        """Whether the process runs, and still has it if it is this one. The state of another
        namespace's processes is unknown."""
        from gridlane.actors._engine import start_of

        if self.process == os.getpid() and self.space == own_space():
            return self in own_entries
        return self.space != own_space() or start_of(self.process) == self.start


own_entries: set[Entry] = set()
"""The inboxes that this process shares now."""


def require_shared_memory() -> None:
    """Raise ActorError where processes cannot share inboxes."""
    if not hasattr(import_module("gridlane.actors._engine"), "Gate") or not hasattr(
        os, "pidfd_open"
    ):
        raise ActorError(
            f"shared inboxes need Linux 5.3 or newer (this is {sys.platform}); post from this "
            "process, or over a socket to a thread of it"
        )


def own_space() -> int:
    """The number of the namespace that this process's number is of."""
    return os.stat("/proc/self/ns/pid").st_ino


def verify_name(name: str) -> str:
    """Return the name of an inbox; ValueError where it is none.

    >>> verify_name("orders.eur")
    'orders.eur'
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(
            f"{name!r} is no name of an inbox: 1 to 64 ASCII letters, digits, _, - and dots, a "
            "letter or digit first"
        )
    return name


def remove_left_inboxes() -> None:
    """Remove files of killed processes, if there is a usable folder."""
    with suppress(ActorError, OSError):
        if sys.platform == "linux" and user_folder().is_dir():
            with Folder() as folder, folder.locked(0.1):
                folder.sweep()


class Folder:
    """The user's folder of inboxes, open.

    Raises:
        ActorError: it is another user's, or others may write to it.
    """

    def __init__(self) -> None:
        try:
            self.path = verified_folder()
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            self._folder = os.open(self.path, flags)
        except OSError as error:
            raise ActorError(f"the folder of shared inboxes cannot be used: {error}") from None

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self._folder)

    @contextmanager
    def locked(self, seconds: float = 5.0) -> Generator[None]:
        """Lock the folder against other processes.

        Raises:
            ActorError: another process keeps it locked for longer than some seconds.
        """
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        until = time.monotonic() + seconds
        with fork_waits():  # the child of a fork would share the lock
            try:
                lock = os.open("lock", flags, 0o600, dir_fd=self._folder)
            except OSError as error:
                raise ActorError(f"the lock of {self.path} cannot be opened: {error}") from None
            try:
                while not _try_lock(lock):
                    if time.monotonic() > until:
                        raise ActorError(f"another process keeps {self.path}/lock locked: end it")
                    time.sleep(0.001)
                yield
            finally:
                os.close(lock)

    def sweep(self) -> list[str]:
        """Remove files of ended processes; return the remaining names. The folder is locked."""
        gone: list[str] = []
        for file in os.listdir(self._folder):
            if not file.endswith(SUFFIX):
                continue
            try:
                keep = not file.startswith(".") and self._read(file).lives()
            except (ActorError, OSError):
                keep = False  # no process can connect by it
            if not keep:
                with suppress(OSError):
                    os.unlink(file, dir_fd=self._folder)
                    gone.append(file.removesuffix(SUFFIX))
        return gone

    def add(self, name: str, entry: Entry) -> None:
        """Publish an inbox. The folder is locked, and swept.

        Raises:
            ActorError: there is one of the name.
        """
        file = verify_name(name) + SUFFIX
        new = f".{secrets.token_hex(8)}{SUFFIX}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(new, flags, 0o600, dir_fd=self._folder)
        try:
            os.fchmod(descriptor, 0o600)
            os.write(descriptor, json.dumps(asdict(entry)).encode())
            os.link(new, file, src_dir_fd=self._folder, dst_dir_fd=self._folder)
            own_entries.add(entry)
        except FileExistsError:
            raise ActorError(
                f"there is a shared inbox {name!r} already, of the process "
                f"{self._read(file).process}"
            ) from None
        finally:
            os.close(descriptor)
            os.unlink(new, dir_fd=self._folder)

    def find(self, name: str) -> Entry:
        """Find an inbox.

        Raises:
            ActorError: there is none, it is not this user's, or its process has ended.
        """
        file = verify_name(name) + SUFFIX
        try:
            entry = self._read(file)
        except FileNotFoundError:
            raise ActorError(f"there is no shared inbox {name!r} in {self.path}") from None
        except OSError as error:
            raise ActorError(f"the shared inbox {name!r} cannot be read: {error}") from None
        if entry.space != own_space():
            raise ActorError(
                f"the shared inbox {name!r} is a process's of another namespace (a container); "
                "connect from there"
            )
        if not entry.lives():
            with self.locked():
                self.remove(name, entry)
            raise ActorError(
                f"the process {entry.process} that shared the inbox {name!r} has ended or closed "
                "it; what it left is removed"
            )
        return entry

    def remove(self, name: str, entry: Entry) -> None:
        """Remove an inbox's file if it still belongs to the entry. The folder is locked."""
        file = name + SUFFIX
        with suppress(OSError, ActorError):
            if self._read(file) == entry:
                os.unlink(file, dir_fd=self._folder)

    def _read(self, file: str) -> Entry:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        there = os.open(file, flags, dir_fd=self._folder)
        try:
            verify_own(os.fstat(there), file)
            return _entry(os.read(there, _LARGEST), file)
        finally:
            os.close(there)


def _try_lock(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _entry(data: bytes, file: str) -> Entry:
    try:
        fields: Any = json.loads(data)
        entry = Entry(*[fields[name] for name in Entry.__slots__])
    except (ValueError, KeyError, TypeError):
        raise ActorError(f"{file} describes no inbox: it is cut short or overwritten") from None
    numbers = [getattr(entry, name) for name in Entry.__slots__]
    if not all(type(each) is int and 0 <= each < 1 << 63 for each in numbers):
        raise ActorError(f"{file} describes no inbox: its numbers are none")
    return entry


def verify_own(facts: os.stat_result, what: str) -> None:
    """Raise ActorError unless a file is a plain one, this user's, that no other user may open."""
    if not stat.S_ISREG(facts.st_mode):
        raise ActorError(f"{what} is no plain file")
    if facts.st_uid != os.geteuid():
        raise ActorError(f"{what} is of the user {facts.st_uid}, not of this one")
    if stat.S_IMODE(facts.st_mode) & 0o077:
        raise ActorError(f"{what} has the mode {stat.S_IMODE(facts.st_mode):o}; 600 is required")
