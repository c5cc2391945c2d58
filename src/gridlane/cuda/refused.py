"""Functions of numba.cuda that are not part of gridlane, each with what to do instead."""

from __future__ import annotations

from typing import Any, NoReturn

from gridlane.core.errors import UnsupportedError


def declare_device(name: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Functions from PTX or CUDA C++ cannot be linked."""
    raise UnsupportedError(
        f"declare_device({name!r}): kernels cannot be linked with foreign code; write the function "
        "in Python with @cuda.jit(device=True)"
    )


def _no_ptx(*args: Any, **kwargs: Any) -> NoReturn:
    raise UnsupportedError(
        "compiling to PTX is not part of this device; Dispatcher.inspect_llvm() and inspect_asm() "
        "show its code"
    )


compile = compile_ptx = compile_for_current_device = compile_ptx_for_current_device = _no_ptx
compile_all = _no_ptx
