"""What makes a kernel slow on every device, by line, and what to write instead."""

from __future__ import annotations

from collections.abc import Iterator
from os.path import basename

from gridlane.analysis.strides import Strided, strided
from gridlane.compiler.generation import copied, decisions
from gridlane.core.decisions import Decision, users_place
from gridlane.core.options import KernelOptions, Target
from gridlane.ir.ops.grid import Axis
from gridlane.ir.values import Module
from gridlane.passes.optimise.promote import promote_variables
from gridlane.passes.structure.inline import inline_calls

_WARP = 32
_LINE = 128
"""Bytes that a GPU moves at once for threads of a warp that are side by side."""


def explanation(module: Module, target: Target, options: KernelOptions) -> list[Decision]:
    """The decisions of a target about the lines of a module, and what is slow about them on any
    device.

    Raises:
        TargetError: the target is interp, which has no code, or cannot do what the kernel asks.
    """
    decided = decisions(module, target, options)
    if module.program_warps:  # the advice is about threads
        return decided
    return [*decided, *access_advice(module)]


def access_advice(module: Module) -> Iterator[Decision]:
    """Accesses of global memory whose neighbouring threads are far apart in memory.

    Args:
        module: of a frontend, at stage ``kernel``.
    """
    own = copied(module)
    inline_calls(own)
    promote_variables(own)
    accesses = list(strided(own.kernel))
    both = _is_transposition(own, accesses)
    for each in accesses:
        yield Decision(each.loc, each.what, _told(each, both))


def hints(module: Module) -> list[str]:
    """``access_advice`` as lines of text, each with its place, for a kernel with source lines."""
    files = {each.loc.file for each in module.functions.values() if not each.is_library}
    lines: dict[str, None] = {}
    for each in access_advice(module):
        place = users_place(each.loc, files)
        if place is not None:
            lines[f"{basename(place.file)}:{place.line}: {each.what}: {each.how}"] = None
    return list(lines)


def _is_transposition(module: Module, accesses: list[Strided]) -> bool:
    """Whether x and y are swapped between two accesses, so that a swap helps one and harms the
    other."""
    return any(each.swap for each in accesses) and any(
        each.swap for each in strided(module.kernel, Axis.Y, Axis.X)
    )


def _told(access: Strided, both: bool) -> str:
    if not isinstance(access.step, int):
        far, lines = "a row", _WARP
    else:
        far = f"{abs(access.step)} bytes"
        lines = min(_WARP, -(-_WARP * abs(access.step) // _LINE))
    text = f"threads next to each other along x are {far} apart: {lines} cache lines for a warp"
    if access.swap and both:
        return f"{text}; load and store by a tile in shared memory, as other accesses swap x and y"
    if access.swap:
        return f"{text}; swap x and y: along y they are side by side"
    return f"{text}; let x be the last index of an array, or keep fields in arrays of their own"
