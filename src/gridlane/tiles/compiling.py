"""``triton.compiler`` and ``triton.backends.compiler``: what programs import of them."""

from __future__ import annotations

from typing import Any, NoReturn

from gridlane.tiles.driver import GPUTarget
from gridlane.tiles.errors import CompilationError, UnsupportedLanguageConstruct
from gridlane.tiles.programs import CompiledKernel

__all__ = [
    "CompilationError",
    "CompiledKernel",
    "GPUTarget",
    "NullAllocator",
    "UnsupportedLanguageConstruct",
    "compile",
    "set_allocator",
]


def compile(*args: Any, **keywords: Any) -> NoReturn:
    """Refused: a program compiles at its launch, or by ``warmup``."""
    raise NotImplementedError(
        "triton.compile: gridlane compiles a program at its launch, by kernel.warmup(...), or by "
        "`gridlane compile`"
    )


class NullAllocator:
    """The allocator of programs that have set none."""


def set_allocator(allocator: Any) -> None:
    """Accepted: descriptors that programs make need no memory beside the arrays, so the allocator
    is never called."""
