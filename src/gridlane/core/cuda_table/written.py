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


def _filled(path: Path) -> Path:
    """A folder with the headers that only its owner can write to."""
    with Folder(path, make=True) as room:
        if not all((path / name).is_file() for name in NAMES):
            for name, text in headers().items():
                room.write(name, text.encode())
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
