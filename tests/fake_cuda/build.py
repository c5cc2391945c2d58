"""Builds the fake libcuda with the machine's C compiler."""

from __future__ import annotations

import atexit
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

SOURCES = Path(__file__).with_name("src")
NAME = "libcuda.so.1"
FLAGS = "-std=gnu11 -O1 -g -Wall -Wextra -Werror -Wno-format-zero-length -fPIC -pthread".split()


class NoCompiler(Exception):
    """There is no gcc here."""


def built() -> Path:
    """The library, in a folder that goes with this process.

    Raises:
        NoCompiler: gcc is not on the PATH.
        RuntimeError: it does not build; each call says so again, the compiler runs once.
    """
    library, complaint = _built()
    if complaint:
        raise RuntimeError(f"the fake libcuda does not build:\n{complaint}")
    return library


@cache
def _built() -> tuple[Path, str]:
    """The library, and what the compiler said if it made none."""
    compiler = shutil.which("gcc")
    if compiler is None:
        raise NoCompiler("the fake libcuda needs gcc and libc6-dev")
    folder = Path(tempfile.mkdtemp(prefix="fake-cuda-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    library = folder / NAME
    link = ["-shared", f"-Wl,-soname,{NAME}", "-Wl,-z,defs", "-o", str(library)]
    command = [compiler, *FLAGS, *link, *map(str, sorted(SOURCES.glob("*.c")))]
    done = subprocess.run(command, capture_output=True, text=True)
    return library, done.stderr or "gcc failed" if done.returncode else ""
