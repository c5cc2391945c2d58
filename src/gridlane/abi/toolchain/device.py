"""The device's part of a source: its PTX for each architecture, as a fatbin."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gridlane.abi.fatbin import writing
from gridlane.abi.toolchain.hosts import Host
from gridlane.abi.toolchain.options import Command
from gridlane.core.errors import ArgumentError
from gridlane.frontends.cuda_cpp.clang import INCLUDE, digest
from gridlane.frontends.cuda_cpp.compiled import Compiled, CppSource
from gridlane.frontends.cuda_cpp.options import ARCH

SDK = ("-Xclang", "-target-sdk-version=12.8")
"""The CUDA whose way of launches clang takes: the newest that it knows whole."""
DEFINED = ("-DGRIDLANE_PROGRAM", "-D__NVCC__")
"""Macros of programs that are compiled whole: the API is that of the libraries."""
_ARCH = re.compile(r"(?:compute|sm)_(\d+)[af]?$")


@dataclass(frozen=True, slots=True)
class Unit:
    """A source of CUDA C++.

    Attributes:
        source: its text, with the options of the device's compilation.
        mark: what is in the names of its static kernels and variables, on both sides.
    """

    source: CppSource
    mark: str


def unit(path: Path, command: Command, include: Path) -> Unit:
    """A file of CUDA C++ to compile.

    Args:
        include: the folder of the headers of the libraries.

    Raises:
        ArgumentError: there is no such file.
    """
    try:
        code = path.read_bytes().decode(errors="surrogateescape")  # comments in Latin-1
    except OSError as error:
        raise ArgumentError(f"{path}: {error.strerror}") from None
    known = CppSource(code, tuple(command.both), os.path.abspath(path))
    mark = digest(known)
    options = (
        f"-cuid={mark}",
        *DEFINED,
        *SDK,
        *command.both,
        *command.device,
        *([] if "-lineinfo" in command.device else ["-lineinfo"]),
        *(["-rdc=true"] if command.is_relocatable else []),
        *(["-DCUDA_API_PER_THREAD_DEFAULT_STREAM"] if command.per_thread else []),
        f"-I{include}",
    )
    return Unit(CppSource(code, options, str(path)), mark)


def compiled(given: Unit, command: Command, host: Host) -> dict[int, Compiled]:
    """The PTX for each requested architecture. The host's compilation repeats warnings.

    Raises:
        ArgumentError: a name is of no architecture.
        CompileError: the compiler's own messages.
    """
    products: dict[int, Compiled] = {}
    for arch in command.archs or [f"compute_{ARCH}"]:
        match = _ARCH.match(arch)
        if match is None:
            raise ArgumentError(f"{arch}: an architecture, such as compute_80 or sm_90")
        source = given.source
        options = (*source.options, f"-arch=compute_{match[1]}")
        products[int(match[1])] = host.clang.compile(CppSource(source.code, options, source.name))
    return products


def fatbin(products: Mapping[int, Compiled]) -> bytes:
    """The fatbin of what was compiled."""
    return writing.written({arch: each.ptx for arch, each in products.items()})


_MANAGED = re.compile(r"\b__managed__\b")


def has_managed(given: Unit, include: Path, headers: Iterable[str] = ()) -> bool:
    """Whether a source, or a header of the user's that it reads, has managed variables."""
    if _MANAGED.search(given.source.code):
        return True
    ours = str(INCLUDE), str(include)
    own = [Path(each) for each in headers if not each.startswith(ours)]
    return any(_MANAGED.search(each.read_text(errors="replace")) for each in own)
