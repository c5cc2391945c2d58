"""The host's part of sources: objects, in which the fatbin of the device's part lies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gridlane.abi.library.installing import HOST
from gridlane.abi.toolchain.device import SDK, Unit
from gridlane.abi.toolchain.hosts import Host
from gridlane.abi.toolchain.options import Command
from gridlane.frontends.cuda_cpp.clang import own_folders, searched, textures
from gridlane.frontends.cuda_cpp.compiled import CppSource
from gridlane.frontends.cuda_cpp.options import for_clang
from gridlane.frontends.cuda_cpp.overlay import overlay
from gridlane.frontends.cuda_cpp.source_and_ptx import with_table

_CUDA = ("-x", "cuda", "-nocudainc", "-nocudalib", *SDK)
_MANAGED = (  # clang has managed variables for HIP alone; see managed.h
    "-x",
    "hip",
    "-nogpuinc",
    "-nogpulib",
    "-U__HIP__",
    "-U__HIPCC__",
    "-DGRIDLANE_MANAGED",
    "-Xclang",
    "-aux-triple",
    "-Xclang",
    "nvptx64-nvidia-cuda",
)
_HEADER = Path(__file__).with_name("managed.h")
_ALWAYS = (
    "--cuda-host-only",
    "--no-offload-new-driver",
    "-fno-color-diagnostics",
    # The device's compilation has said it.
    "-Wno-unknown-cuda-version",
    "-Wno-c++11-narrowing",
    "-Wno-register",
    "-Wno-reserved-user-defined-literal",
    "-fwrapv",  # g++, which nvcc calls, makes wrong programs that count on it do as they mean
)


PER_THREAD = "-DCUDA_API_PER_THREAD_DEFAULT_STREAM"
"""The macro by which headers name the functions for the default stream of a thread."""


def optimised(options: Sequence[str]) -> list[str]:
    """The host's options, with an optimisation unless they choose one or are for a debugger."""
    has = any(word.startswith("-O") or word == "-g" for word in options)
    return [*options] if has else ["-O2", *options]


def cuda(
    given: Unit,
    command: Command,
    host: Host,
    room: Path,
    fatbin: Path | None = None,
    has_managed: bool = False,
) -> list[str]:
    """The command that compiles the host's part of CUDA C++, without what it makes.

    Args:
        room: a folder for the text that is compiled, by a name that no other source has: clang
            names a part of relocatable code by it.
        fatbin: the file of the device's part; None where no object is made.
        has_managed: whether there are managed variables, which are refused in relocatable code.
    """
    language = _MANAGED if has_managed and not command.is_relocatable else _CUDA
    source = given.source
    text = room / f"{given.mark}.cu"
    text.write_bytes(with_table(source).encode(errors="surrogateescape"))
    return [
        *host.clang.words,
        *language,
        *_ALWAYS,
        "-std=c++17",
        f"-cuid={given.mark}",
        *(["-fgpu-rdc"] if command.is_relocatable else []),
        *(["-Xclang", "-fgpu-default-stream=per-thread", PER_THREAD] if command.per_thread else []),
        "-include",
        "gridlane/runtime.h",  # in front of the user's
        *(["-include", str(_HEADER)] if language is _MANAGED else []),
        *(word for word in source.options if word[:2] in ("-D", "-U", "-I")),
        *_other(command.both),
        *optimised(command.host),
        *_headers(source, host, room),
        *textures(source),
        *(["-Xclang", "-fcuda-include-gpubinary", "-Xclang", str(fatbin)] if fatbin else []),
        str(text),
    ]


def _headers(source: CppSource, host: Host, room: Path) -> list[str]:
    """The options for the headers of a source, in the order of the search."""
    beside = Path(source.name).parent
    translated = overlay(source.code, beside, for_clang(source.options).folders, room)
    return ["-iquote", str(beside), *translated, *searched(own_folders()), *host.clang.host]


def plain(path: Path, language: str, command: Command, host: Host, include: Path) -> list[str]:
    """The command that compiles C or C++, without what it makes."""
    options = [
        word for word in command.both if language == "c++" or not word.startswith("-std=c++")
    ]
    return [
        *(host.c if language == "c" else host.plain),
        *options,
        *optimised(command.host),
        *(["-fopenmp"] if command.is_parallel else []),
        *([PER_THREAD] if command.per_thread else []),
        f"-I{include}",
        f"-I{include / HOST}",
        str(path),
    ]


def _other(options: Sequence[str]) -> list[str]:
    """Options that are neither macros nor folders, and precede these in commands."""
    return [word for word in options if word[:2] not in ("-D", "-U", "-I")]
