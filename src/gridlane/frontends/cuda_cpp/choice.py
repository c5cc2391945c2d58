"""Which compiler of CUDA C++ is used: the one that the user names, else the first that is here."""

from __future__ import annotations

from collections.abc import Callable

from gridlane.core.errors import ArgumentError, CompileError
from gridlane.frontends.cuda_cpp.clang import OLDEST, find_clang
from gridlane.frontends.cuda_cpp.compiled import CppCompiler
from gridlane.frontends.cuda_cpp.nvcc import find_nvcc
from gridlane.frontends.cuda_cpp.nvrtc import find_nvrtc

_FIND: dict[str, Callable[[], CppCompiler | None]] = {
    "clang": find_clang,
    "nvcc": find_nvcc,
    "nvrtc": find_nvrtc,
}
"""The compilers in the order of choice."""
INSTALL = {
    "clang": f"`pip install ziglang`, or a clang of the system from {OLDEST} on in PATH",
    "nvcc": "a CUDA toolkit, whose nvcc is in PATH or below CUDA_HOME",
    "nvrtc": "`pip install nvidia-cuda-nvrtc nvidia-cuda-runtime`, or a CUDA toolkit",
}
"""What to install for each."""


def choose(backend: str = "") -> CppCompiler:
    """The compiler of a name, or the first that is installed.

    Raises:
        ArgumentError: there is no such name.
        CompileError: it is not installed; or none is. The message says what to install.
    """
    if backend and backend not in _FIND:
        raise ArgumentError(f"backend={backend!r}: one of {', '.join(_FIND)}")
    for name in (backend,) if backend else _FIND:
        cpp_compiler = _FIND[name]()
        if cpp_compiler is not None:
            return cpp_compiler
    if backend:
        raise CompileError(f"the compiler {backend} is not here; install {INSTALL[backend]}")
    each = "; or ".join(INSTALL.values())
    raise CompileError(
        f"there is no compiler of CUDA C++ here: install {each}; or compile elsewhere, and pass "
        "the PTX"
    )
