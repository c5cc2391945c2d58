"""CUDA C++ to PTX by NVRTC, NVIDIA's compiler as a library. It needs no GPU.

The functions are those of nvrtc.h, CUDA 11.2 or newer.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gridlane.core.config import config
from gridlane.core.errors import CompileError
from gridlane.frontends.cuda_cpp.compiled import Compiled, CppSource
from gridlane.frontends.cuda_cpp.options import ARCH, for_clang


class Nvrtc:
    """NVRTC as a library of this process."""

    name = "nvrtc"

    def __init__(self, library: Any) -> None:
        self._library = library

    def identity(self) -> str:
        """Its version, and its headers' folders."""
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        return f"nvrtc {major.value}.{minor.value} {self._library._name} {_includes()}"

    def searched(self, source: CppSource) -> tuple[str, ...]:
        """The folders of the user's headers, then those of CUDA."""
        return (*for_clang(source.options).folders, *_includes())

    def compile(self, source: CppSource) -> Compiled:
        """The PTX of a source.

        Raises:
            CompileError: the compiler's own messages.
        """
        program = _Program(self._library, source.code, source.name)
        return program.compiled(source.options, source.expressions)


class _Program:
    def __init__(self, library: Any, code: str, name: str) -> None:
        self._lib, self._name = library, name
        self._handle = ctypes.c_void_p()
        self._check(
            library.nvrtcCreateProgram(
                ctypes.byref(self._handle), code.encode(), name.encode(), 0, None, None
            )
        )

    def compiled(self, options: Sequence[str], expressions: Sequence[str]) -> Compiled:
        """Compile, and destroy the program."""
        try:
            return self._compiled(options, expressions)
        finally:
            self._lib.nvrtcDestroyProgram(ctypes.byref(self._handle))

    def _compiled(self, options: Sequence[str], expressions: Sequence[str]) -> Compiled:
        lib, handle = self._lib, self._handle
        for each in expressions:
            self._check(lib.nvrtcAddNameExpression(handle, each.encode()))
        given = [*options, *(f"-I{folder}" for folder in _includes())]
        if not any("arch" in each for each in options):
            given.append(f"-arch=compute_{ARCH}")
        arguments = (ctypes.c_char_p * len(given))(*(each.encode() for each in given))
        status = lib.nvrtcCompileProgram(handle, len(given), arguments)
        log = self._text("ProgramLog")
        if status:
            reason = log.strip() or lib.nvrtcGetErrorString(status).decode()
            raise CompileError(f"NVRTC does not compile {self._name}:\n{reason}")
        return Compiled(self._text("PTX"), log, {each: self._lowered(each) for each in expressions})

    def _text(self, what: str) -> str:
        size = ctypes.c_size_t()
        self._check(getattr(self._lib, f"nvrtcGet{what}Size")(self._handle, ctypes.byref(size)))
        text = ctypes.create_string_buffer(max(1, size.value))
        self._check(getattr(self._lib, f"nvrtcGet{what}")(self._handle, text))
        return text.value.decode(errors="replace")

    def _lowered(self, expression: str) -> str:
        name = ctypes.c_char_p()
        lowered = self._lib.nvrtcGetLoweredName
        self._check(lowered(self._handle, expression.encode(), ctypes.byref(name)))
        return (name.value or b"").decode()

    def _check(self, status: int) -> None:
        if status:
            raise CompileError(f"NVRTC: {self._lib.nvrtcGetErrorString(status).decode()}")


@cache
def find_nvrtc() -> Nvrtc | None:
    """NVRTC, of a package or of the system; None if there is none."""
    for path in _candidates():
        try:
            library = ctypes.CDLL(path)
        except OSError:
            continue
        if hasattr(library, "gl_process"):
            continue  # gridlane's own library, which comes here
        library.nvrtcGetErrorString.restype = ctypes.c_char_p
        return Nvrtc(library)
    return None


def _folders() -> Iterator[Path]:
    """The folders of NVIDIA's packages and of a toolkit."""
    spec = find_spec("nvidia")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        yield from sorted(Path(place).glob("c*"), reverse=True)
    yield from config().toolkits
    yield Path("/usr/local/cuda")


def _candidates() -> Iterator[str]:
    for folder in _folders():
        for below in ("lib", "lib64", "bin"):
            for pattern in ("libnvrtc.so*", "nvrtc64_*.dll"):
                names = sorted((folder / below).glob(pattern), reverse=True)
                yield from (str(each) for each in names if "alt" not in each.name)
    system = ctypes.util.find_library("nvrtc")
    if system:
        yield system


def _includes() -> list[str]:
    """The folders of CUDA's headers."""
    results: list[str] = []
    for folder in _folders():
        include = folder / "include"
        if (include / "cuda_fp16.h").exists() or (include / "cuda_runtime.h").exists():
            results.append(str(include))
            if (include / "cccl").is_dir():
                results.append(str(include / "cccl"))
            break
    return results
