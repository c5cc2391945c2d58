"""The generated headers as files, written at their first use."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

from gridlane.core.config import cache_folder
from gridlane.core.cuda_table.forwards import forwards
from gridlane.core.cuda_table.headers import NAMES, headers, key
from gridlane.core.private_files import Folder


def folder() -> Path:
    """The folder of the headers, of this version of the table: in the cache, else of the process.

    Raises:
        OSError: no folder can be written.
    """
    kept = cache_folder(f"headers-{_key()}")
    if kept is not None:
        with suppress(OSError):
            return _filled(kept)
    return _filled(_own(os.getpid()))


_MET: set[Path] = set()
"""The folders that this process has found to have all headers, those that forward as well."""


def _filled(path: Path) -> Path:
    """A folder with the headers that only its owner can write to."""
    with Folder(path, make=True):
        names = NAMES if path in _MET else (*forwards(), *NAMES)
        is_whole = all((path / name).is_file() for name in names)
    if not is_whole:
        for name, text in (forwards() | headers()).items():
            file = path / name
            with Folder(file.parent, make=True) as room:
                room.write(file.name, text.encode())
    _MET.add(path)
    return path


@cache
def _key() -> str:
    return key()


@cache
def _own(process: int) -> Path:
    """A folder of a process, which removes it at its end."""
    path = Path(tempfile.mkdtemp(prefix="gridlane-"))
    atexit.register(_remove, path, process)
    return path


def _remove(path: Path, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)
