"""What all tests of a run share: the C libraries as they are installed, and programs."""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gridlane.abi.library import installing


def _room(factory: pytest.TempPathFactory) -> Path:
    room = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # whose folders are those of one worker
        room = room.parent
    (room / "gridlane").mkdir(exist_ok=True)
    return room / "gridlane"


def prefix(factory: pytest.TempPathFactory) -> Path:
    """Where the libraries, their headers and the static runtime are. Whoever is first builds them;
    nobody changes them."""
    if not shutil.which("cc"):
        pytest.skip("cc is not installed, and it compiles the libraries")
    made = _room(factory) / "prefix"
    installing.ensure(made)
    return made


def folder(factory: pytest.TempPathFactory, name: str) -> Path:
    """A folder of one's own with links to the libraries, and to the headers as ``include``."""
    made, own = prefix(factory), factory.mktemp(name)
    for each in (made / "lib").iterdir():
        (own / each.name).symlink_to(each)
    (own / "include").symlink_to(made / "include")
    return own


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A file that is made once in a run, by whoever asks first; the others wait for it."""
    made = _room(factory) / name
    with (made.parent / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            part = made.parent / f"{name}.part"
            make(part)
            part.rename(made)
    return made


def by_nvcc(factory: pytest.TempPathFactory, name: str, *words: str) -> Path:
    """What nvcc makes for compute capability 8.0, of sources and options."""
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("nvcc is not installed, and it builds the program")
    command = [nvcc, "-w", "-arch=sm_80", *words, "-o"]
    return once(factory, name, lambda made: subprocess.run([*command, made], check=True))
