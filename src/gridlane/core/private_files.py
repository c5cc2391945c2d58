"""Directories and files that only their owner can write to: code read from them is executed.

Each access opens the directory and checks the opened directory's owner and mode, and then those of
the file opened in it. Names may be redirected between two checks; an open descriptor is not.
Nothing is cached. A symbolic link to a directory may be followed, as its target is checked; one to
a file may not. Systems without owners of files (Windows) keep a user's cache directory private by
its location.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from contextlib import suppress
from errno import ELOOP
from types import TracebackType
from typing import Any, NamedTuple

_POSIX = hasattr(os, "geteuid")
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class NotPrivate(PermissionError):
    """Another user can write to a directory."""


class Found(NamedTuple):
    """A file of a folder: its name, bytes, and time of last use."""

    name: str
    size: int
    used: float


class Folder:
    """An open directory that only its owner can write to.

    Raises:
        NotPrivate: others can.
        OSError: it cannot be opened; FileNotFoundError where there is none.
    """

    __slots__ = ("_at", "path")

    def __init__(self, path: str | os.PathLike[str], make: bool = False) -> None:
        self.path = os.fspath(path)
        self._at: dict[str, int] = {}  # the argument by which os's functions resolve names in here
        if make:
            os.makedirs(self.path, mode=0o700, exist_ok=True)
        if not _POSIX:
            if not os.path.isdir(self.path):
                raise FileNotFoundError(self.path)
            return
        handle = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            reason = distrust(os.fstat(handle))
            if reason:
                raise NotPrivate(f"{self.path} {reason}")
        except BaseException:
            os.close(handle)
            raise
        self._at = {"dir_fd": handle}

    def __enter__(self) -> Folder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._at:
            os.close(self._at["dir_fd"])
            self._at = {}

    def _name(self, name: str) -> str:
        return name if self._at else os.path.join(self.path, name)

    def read(self, name: str, most: int) -> tuple[bytes, float]:
        """The bytes of a file and the time of its last use.

        Raises:
            ValueError: it is no regular file, others can write to it, or it is too large.
            OSError: it cannot be read; FileNotFoundError where there is none.
        """
        # Nonblocking, as opening a FIFO would block.
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        flags |= getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        try:
            handle = os.open(self._name(name), flags, **self._at)
        except OSError as error:
            if error.errno != ELOOP:
                raise
            raise ValueError(f"{name} is a symbolic link") from None
        with open(handle, "rb", buffering=0) as file:
            info = os.fstat(handle)
            reason = _distrust_file(info, most)
            if reason:
                raise ValueError(f"{name} {reason}")
            return file.read(), info.st_mtime

    def write(self, name: str, data: bytes) -> None:
        """Make or replace a file, whole or not at all. Only its owner can use it."""
        aside = f".{name}.{os.getpid()}.{threading.get_ident()}.tmp"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        try:
            with open(os.open(self._name(aside), flags, 0o600, **self._at), "wb") as file:
                file.write(data)
            ends: dict[str, Any] = {
                f"{end}_{at}": fd for end in ("src", "dst") for at, fd in self._at.items()
            }
            os.replace(self._name(aside), self._name(name), **ends)
        except OSError:
            self.remove(aside)
            raise

    def remove(self, name: str) -> None:
        """Remove a file, if that is possible."""
        with suppress(OSError):
            os.unlink(self._name(name), **self._at)

    def touch(self, name: str) -> None:
        """Record that a file was used now."""
        with suppress(OSError, NotImplementedError):
            if self._at:
                os.utime(name, follow_symlinks=False, dir_fd=self._at["dir_fd"])
            else:
                os.utime(self._name(name))

    def files(self) -> Iterator[Found]:
        """The files; other processes may remove them meanwhile."""
        with suppress(OSError), os.scandir(self._at.get("dir_fd", self.path)) as items:
            for item in items:
                with suppress(OSError):
                    info = item.stat(follow_symlinks=False)
                    yield Found(item.name, info.st_size, info.st_mtime)


def distrust(info: os.stat_result) -> str:
    """The reason why another user can write to a file with this ``stat``; "" if none can."""
    if not _POSIX:
        return ""
    if info.st_uid != os.geteuid():
        return f"belongs to someone else (user {info.st_uid})"
    if info.st_mode & _OTHERS_WRITE:
        who = "everyone" if info.st_mode & stat.S_IWOTH else "its group"
        return f"may be written to by {who}: chmod go-w it"
    return ""


def _distrust_file(info: os.stat_result, most: int) -> str:
    if not stat.S_ISREG(info.st_mode):
        return "is no plain file"
    if info.st_size > most:
        return f"has {info.st_size} bytes, more than {most}"
    return distrust(info)
