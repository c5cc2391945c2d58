"""The host's compiler and linker: the C++ library that programs are made with.

Clang compiles the host's part of CUDA C++, as only it knows the language; with g++ it does so on
g++'s headers, so that its objects link with g++'s.
"""

from __future__ import annotations

import platform
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from gridlane.core.errors import ArgumentError, CompileError
from gridlane.core.extras import install
from gridlane.frontends.cuda_cpp.clang import (
    GLIBC,
    Clang,
    find_clang,
    headers_of,
    program_of,
    ziglang,
)
from gridlane.frontends.cuda_cpp.process import run_compiler


@dataclass(frozen=True, slots=True)
class Host:
    """A host.

    Attributes:
        name: ``g++`` or ``zig``.
        clang: with the headers of its C and C++ libraries, for both sides of CUDA C++.
        plain: the command that compiles C++; ``c``: that compiles C.
        link: the command that links; ``patience``: how many times the limit of a compiler it may
            take.
    """

    name: str
    clang: Clang
    plain: tuple[str, ...]
    c: tuple[str, ...]
    link: tuple[str, ...]
    patience: float = 1


def choose(asked: str) -> Host:
    """The host of a name, a path of a g++, or the first that is here.

    Raises:
        ArgumentError: the machine is no supported host, or there is no host of that name.
        CompileError: it is not installed; the message says what to install.
    """
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        raise ArgumentError(
            f"gridlane cc makes programs for Linux on x86-64, and this is {platform.system()} on "
            f"{platform.machine()}"
        )
    if asked == "zig":
        return _zig()
    if asked and Path(asked).is_dir():
        asked = str(Path(asked, "g++"))
    if asked and not re.fullmatch(r"(?:.*/)?[\w-]*(?:g\+\+|gcc)(?:-[\d.]+)?", asked):
        raise ArgumentError(f"--host {asked}: zig, or g++ by its name or path")
    path = shutil.which(asked or "g++")
    if path is None:
        if asked:
            raise CompileError(f"there is no {asked}: install it, or leave out --host {asked}")
        return _zig()
    return _gnu(re.sub(r"gcc(?=[^/]*$)", "g++", path))


def _clang(host: tuple[str, ...]) -> Clang:
    """Clang with other headers for the host."""
    clang = find_clang()
    if clang is None:
        raise CompileError(f"there is no clang: {install('cpp')}")
    return Clang(clang.words, clang.release, clang.label, host)


def _zig() -> Host:
    package = ziglang()
    if package is None:
        raise CompileError(f"there is no ziglang, whose clang compiles programs: {install('cpp')}")
    host = headers_of(package, "gnu")
    clang = _clang(host)
    link = (str(program_of(package)), "c++", "-target", f"x86_64-linux-gnu.{GLIBC}")
    plain = (*clang.words, *host)
    # Its first link builds the C++ library.
    return Host("zig", clang, (*plain, "-x", "c++"), (*plain, "-x", "c"), link, patience=10)


_SEARCHED = re.compile(r"search starts here:\n(.*?)End of search list", re.DOTALL)


def _gnu(program: str) -> Host:
    status, output = run_compiler((program, "-E", "-x", "c++", "-v", "-o", "/dev/null", "-"))
    parts = _SEARCHED.findall(output)
    if status or not parts:
        raise CompileError(f"{program} does not say where its headers are:\n{output}")
    folders = [line.strip() for part in parts for line in part.splitlines() if line[:1] == " "]
    package = ziglang()
    host = ["--target=x86_64-linux-gnu"]
    if package is not None:  # without clang's own headers beside it, which g++'s do not replace
        host += ["-nostdinc", "-nostdinc++"]
        own = str(package / "lib" / "include")
        folders = [own if _OF_COMPILER.search(each) else each for each in folders]
    for each in dict.fromkeys(folders):
        host += ["-isystem", each]
    c = re.sub(r"g\+\+(?=[^/]*$)", "gcc", program)
    return Host("g++", _clang(tuple(host)), (program, "-x", "c++"), (c, "-x", "c"), (program,))


_OF_COMPILER = re.compile(r"/lib/gcc/[^/]*/[^/]*/include(?:-fixed)?$")
"""Folders of the headers that belong to g++ itself, such as stddef.h: clang has its own."""
