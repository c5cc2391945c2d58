"""``triton.compiler`` and ``triton.backends.compiler``: what programs import of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gridlane.core.errors import ArgumentError
from gridlane.core.version import VERSION
from gridlane.frontends.triton.functions import TileFunction
from gridlane.launch import current
from gridlane.tiles import errors
from gridlane.tiles.arguments import Described
from gridlane.tiles.driver import GPUTarget, current_target
from gridlane.tiles.errors import CompilationError, UnsupportedLanguageConstruct
from gridlane.tiles.option_values import options_of
from gridlane.tiles.programs import CompiledKernel, Program
from gridlane.tiles.signatures import described_of

__all__ = [
    "ASTSource",
    "CompilationError",
    "CompiledKernel",
    "GPUTarget",
    "NullAllocator",
    "UnsupportedLanguageConstruct",
    "backends",
    "compile",
    "errors",
    "set_allocator",
    "triton_key",
]

backends: dict[str, Any] = {}
"""Triton's own backends by name: there are none, so torch.compile takes its other code generators.
"""


class ASTSource:
    """A function with the types of its arguments, by names as ``*fp32`` and ``i32``, and its
    constants, by name or place."""

    def __init__(
        self,
        fn: TileFunction,
        signature: Mapping[str, str],
        constexprs: Mapping[Any, Any] | None = None,
        attrs: Any = None,
    ) -> None:
        self.fn, self.signature = fn, dict(signature)
        names = fn.arg_names
        self.constants = {
            names[key[0]] if isinstance(key, tuple) else key: value
            for key, value in (constexprs or {}).items()
        }


def _described(source: ASTSource, name: str) -> Described:
    if name in source.constants:
        return Described(None, source.constants[name])
    wanted = source.signature.get(name)
    if wanted is None:
        raise ArgumentError(f"{source.fn.__name__}: no type of {name} is given")
    return described_of(wanted)


def compile(src: Any, target: Any = None, options: Mapping[str, Any] | None = None) -> Any:
    """The code of a program for the current device.

    Raises:
        CompilationError: the program is outside the language; located.
        NotImplementedError: the source is not an ``ASTSource``, or the target another one.
    """
    if not isinstance(src, ASTSource):
        raise NotImplementedError("triton.compile takes an ASTSource: there is no other source")
    here = current_target()
    if target is not None and target != here:
        raise NotImplementedError(
            f"triton.compile: the target is the current device's, {here}; for another one write "
            "`gridlane compile --target`"
        )
    described = tuple([_described(src, name) for name in src.fn.arg_names])
    chosen = options_of({}, options or {})
    program = Program(src.fn, tuple(src.fn.arg_names), described, chosen)
    return CompiledKernel(program, program.plan(current.device()), here)


def triton_key() -> str:
    """A text that changes with the release, on which others' caches of code depend."""
    return f"gridlane-{VERSION}"


class NullAllocator:
    """The allocator of programs that have set none."""


def set_allocator(allocator: Any) -> None:
    """Accepted: descriptors that programs make need no memory beside the arrays, so the allocator
    is never called."""
