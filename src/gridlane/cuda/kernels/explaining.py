"""``kernel.explain()``: what the compiler made of a kernel, by the lines of its source."""

from __future__ import annotations

import linecache
from collections.abc import Iterable
from os.path import basename
from typing import TYPE_CHECKING

from gridlane.backends import backend
from gridlane.core.decisions import Decision, users_place
from gridlane.core.options import KernelOptions, Target
from gridlane.launch.dimensions import Dim3
from gridlane.runtime.protocol import Device

if TYPE_CHECKING:
    from gridlane.ir.values import Module

_WIDTH = 72
NOTHING = "no line is vectorised, gathered, masked, narrowed or coarsened"
"""What is said where no decision was made: of a kernel that touches no memory, and on Metal, whose
code has integers of 64 bits as they are."""


def target_of(device: Device, block: Dim3) -> Target:
    """What code of a device is explained for: the CPU's in place of the interpreter's."""
    target = device.target(block)
    other = backend(target.name).reads_as
    return Target(other, block=block) if other else target


def explained(
    title: str,
    block: Dim3,
    module: Module,
    target: Target,
    options: KernelOptions,
    more: Iterable[Decision] = (),
) -> str:
    """What a target's compiler decides about the lines of a module, and what is slow about them.

    Args:
        title: the kernel with its types.
        more: further decisions.
    """
    from gridlane.compiler.advice import explanation

    decided = [*explanation(module, target, options), *more]
    files = {each.loc.file for each in module.functions.values() if not each.is_library}
    x, y, z = block
    return told(f"{title} on {target.name}, blocks of {x}x{y}x{z}:", decided, files)


def told(title: str, decisions: Iterable[Decision], files: set[str]) -> str:
    """Decisions by line, in the order of the lines; repeated decisions of a line are printed once.

    Args:
        files: of the user's: decisions about other code are left out.
    """
    lines: dict[tuple[str, int], dict[str, dict[str, None]]] = {}
    for each in decisions:
        loc = users_place(each.loc, files)
        if loc is not None:
            by_decision = lines.setdefault((loc.file, loc.line), {})
            by_decision.setdefault(each.what, {})[each.how] = None
    parts = [title]
    for (file, line), about in sorted(lines.items()):
        text = linecache.getline(file, line).strip()
        shown = text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."
        parts.append(f"{basename(file)}:{line}: {shown}")
        parts += [f"    {what}: {'; '.join(ways)}" for what, ways in about.items()]
    if not lines:
        parts.append(NOTHING)
    return "\n".join(parts)
