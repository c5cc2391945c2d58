"""Functions of numba.cuda that gridlane refuses, each with an alternative."""

from __future__ import annotations

from typing import Any, NoReturn

from gridlane.core.errors import UnsupportedError


def declare_device(name: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Refuse a device function from PTX or CUDA C++, which cannot be linked."""
    raise UnsupportedError(
        f"declare_device({name!r}): kernels cannot be linked with foreign code; write the function "
        "in Python with @cuda.jit(device=True)"
    )


def compile_all(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuse a kernel that links several inputs."""
    raise UnsupportedError(
        "compile_all: kernels are compiled in one piece; cuda.compile_ptx gives a kernel's PTX"
    )
