"""The header in front of every source, read once by clang in a process and kept for the next ones.

Reading it is most of a small compilation: 0.4 s, against 0.05 s behind a precompiled one. Clang
checks that such a file is of itself, of the same options, and of headers that have not changed.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from gridlane.core.errors import CompileError
from gridlane.frontends.cuda_cpp.process import run_compiler

HEADER = "gridlane/runtime.h"
_MOST = 8
"""How many a process keeps: a file of each is 3 MB."""
_PLAIN = ("-D", "-U", "-std=", "-f", "-W", "-w", "-g", "-O")
_TO_PREPROCESSOR = "-Wp,"
"""Options that name no file, but for those that one hands on: folders and files of the user's may
stand in front of any header."""


class Headers:
    """The precompiled headers of a process, by the commands that they are of.

    A child that a process forks uses those that are there and makes none: such children end
    without removing files.
    """

    def __init__(self) -> None:
        self._made: OrderedDict[tuple[str, ...], Path | None] = OrderedDict()
        self._folder: Path | None = None
        self._owner = os.getpid()
        self._lock = threading.Lock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._unlocked)

    def _unlocked(self) -> None:
        """Have a lock that no thread of the parent holds."""
        self._lock = threading.Lock()

    def of(self, key: tuple[str, ...]) -> Path | None:
        """The file for a command without a source; None where clang or the machine makes none."""
        with self._lock:
            if key in self._made:
                self._made.move_to_end(key)
                header = self._made[key]
                if header is None or header.is_file():
                    return header
            if os.getpid() != self._owner:
                return None
            path = self._made[key] = self._make(key)
            while len(self._made) > _MOST:
                _, oldest = self._made.popitem(last=False)
                if oldest is not None:
                    oldest.unlink(missing_ok=True)
        return path

    def _make(self, command: tuple[str, ...]) -> Path | None:
        try:
            if self._folder is None or not self._folder.is_dir():
                self._folder = Path(tempfile.mkdtemp(prefix="gridlane-"))
                atexit.register(_remove, self._folder, self._owner)
            handle, name = tempfile.mkstemp(".pch", dir=self._folder)
            os.close(handle)
        except OSError:
            return None
        compiling = (*command, "-Xclang", "-emit-pch", "-o", name, "-")
        with suppress(CompileError):
            if run_compiler(compiling, f'#include "{HEADER}"\n')[0] == 0:
                return Path(name)
        Path(name).unlink(missing_ok=True)
        return None


def _remove(folder: Path, owner: int) -> None:
    """Remove a process's files at its end; those of a parent are its own."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


HEADERS = Headers()


def compile_behind(
    command: Sequence[str],
    given: Sequence[str],
    system: Sequence[str],
    rest: Sequence[str],
) -> tuple[int, str]:
    """Run clang on a file behind the header; its exit status and its messages.

    Messages of a failure are those of clang with the header as text, as are those of a machine
    whose headers change meanwhile.

    Args:
        command: the program and options of all sources.
        given: the user's options.
        system: options for the headers of the system.
        rest: options of this source, what is written, and its file.

    Raises:
        CompileError: clang does not start, or runs too long.
    """
    if all(word.startswith(_PLAIN) and not word.startswith(_TO_PREPROCESSOR) for word in given):
        header = HEADERS.of((*command, *given, *system))
        if header is not None:
            behind = ("-Xclang", "-include-pch", "-Xclang", str(header))
            status, messages = run_compiler((*command, *behind, *given, *system, *rest))
            if status == 0:
                return status, messages
    # The header is in front of what the user includes by options.
    return run_compiler((*command, "-include", HEADER, *given, *system, *rest))
