"""Find a program's libraries by the rules of Linux's loader.

Source: ld.so(8): the RPATH of the file that needs the library and of those that loaded it, where it
has no RUNPATH; LD_LIBRARY_PATH; the RUNPATH; the cache; the default folders. A library of another
machine is skipped.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gridlane.abi.library.elf import Elf
from gridlane.core.errors import ArgumentError

_DEFAULTS = {
    "x86-64": ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu"),
    "AArch64": ("/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu"),
}
_PLAIN = "/lib64", "/usr/lib64", "/lib", "/usr/lib"
_MOST = 1000
Cache = Mapping[str, tuple[Path, ...]]
"""The files of the loader's cache by their names."""


@dataclass(frozen=True, slots=True)
class Found:
    """A library of a program.

    Attributes:
        name: as it is requested.
        path: None if there is none.
        why: the rule of the loader that finds it.
        elf: its contents; None if they cannot be read.
        by: the file that needs it, None for the program itself.
    """

    name: str
    path: Path | None
    why: str
    elf: Elf | None = None
    by: Found | None = None


def cached() -> Cache:
    """The loader's cache, as ``ldconfig -p`` prints it; empty where there is no such program."""
    command = shutil.which("ldconfig") or "/sbin/ldconfig"
    try:
        output = subprocess.run([command, "-p"], capture_output=True, text=True, timeout=30).stdout
    except (OSError, subprocess.TimeoutExpired):
        return {}
    cache: dict[str, tuple[Path, ...]] = {}
    for line in output.splitlines():
        name, _, path = line.strip().partition(" => ")
        if path:
            title = name.partition(" (")[0]
            cache[title] = (*cache.get(title, ()), Path(path))
    return cache


@dataclass(frozen=True, slots=True)
class Search:
    """The loader's rules in an environment.

    Attributes:
        path: LD_LIBRARY_PATH.
        cache: see ``cached``.
    """

    path: str
    cache: Cache

    def libraries(self, program: Elf) -> list[Found]:
        """The libraries that a program is linked with and those that these need, in the loader's
        order of search. Each name occurs once."""
        loaded_libraries: list[Found] = []
        known: set[str] = set()
        waiting: list[tuple[Elf, Found | None]] = [(program, None)]
        while waiting and len(loaded_libraries) < _MOST:
            elf, owner = waiting.pop(0)
            for name in elf.needed:
                if name not in known:
                    known.add(name)
                    library = self.find(name, program, elf, owner)
                    loaded_libraries.append(library)
                    if library.elf is not None:
                        waiting.append((library.elf, library))
        return loaded_libraries

    def find(self, name: str, program: Elf, asks: Elf, by: Found | None = None) -> Found:
        """A library that ``asks`` needs, or opens by its name."""
        if "/" in name:
            path = Path(_expanded(name, asks))
            return Found(name, path if path.is_file() else None, "its path", _read(path), by)
        for path, why in self._places(name, program, asks, by):
            elf = _read(path)
            if elf is not None and elf.machine == program.machine:
                return Found(name, path, why, elf, by)
        return Found(name, None, "it is in no folder where the loader looks", None, by)

    def _places(
        self, name: str, program: Elf, asks: Elf, by: Found | None
    ) -> Iterator[tuple[Path, str]]:
        if not asks.runpath:
            for owner in _owners(program, asks, by):
                for folder in owner.rpath:
                    yield _in(folder, name, owner), f"the RPATH of {owner.path}"
        for folder in re.split("[:;]", self.path) if self.path else ():
            yield _in(folder or ".", name, program), "LD_LIBRARY_PATH"
        for folder in asks.runpath:
            yield _in(folder, name, asks), f"the RUNPATH of {asks.path}"
        for path in self.cache.get(name, ()):
            yield path, "the loader's cache (ldconfig -p)"
        for folder in (*_DEFAULTS.get(program.machine, ()), *_PLAIN):
            yield Path(folder, name), "the loader's default folders"


def _owners(program: Elf, asks: Elf, by: Found | None) -> list[Elf]:
    """The file that asks, the one that loaded it and so on, and the program at last."""
    owners = [asks]
    owner = by.by if by else None
    while owner is not None and owner.elf is not None:
        owners.append(owner.elf)
        owner = owner.by
    return list(dict.fromkeys([*owners, program]))


def _in(folder: str, name: str, owner: Elf) -> Path:
    return Path(_expanded(folder, owner), name)


def _expanded(text: str, owner: Elf) -> str:
    """A folder with the loader's own variables expanded."""
    origin = str(Path(os.path.abspath(owner.path)).resolve().parent)
    values = {"ORIGIN": origin, "LIB": "lib64", "PLATFORM": os.uname().machine}
    return re.sub(
        r"\$(?:\{(\w+)\}|(ORIGIN|LIB|PLATFORM))",
        lambda match: values.get(match[1] or match[2], match[0]),
        text,
    )


def _read(path: Path) -> Elf | None:
    try:
        return Elf(path) if path.is_file() else None
    except (ArgumentError, OSError):
        return None
