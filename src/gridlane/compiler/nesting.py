"""Check the nesting depth of branches and loops, for devices that limit it."""

from __future__ import annotations

from gridlane.core.errors import UnsupportedError
from gridlane.core.source import UNKNOWN, Loc
from gridlane.ir.op import Op
from gridlane.ir.ops.control import Call, If, Loop, ScopeOp
from gridlane.ir.values import Module, Region

MOST_LEVELS = 64
"""Mesa's llvmpipe has a stack of 80 masks, and runs both sides of deeper branches; the branches
that code generators add around the kernel's own need the rest."""


def check_nesting(module: Module) -> None:
    """Refuse a kernel whose branches or loops nest deeper than llvmpipe supports.

    Raises:
        UnsupportedError: at the first that is too deep.
    """
    for kind, noun in ((If, "branches"), ((Loop, ScopeOp), "loops")):
        depth, loc = _deepest(module, module.kernel.body, kind, {})
        if depth > MOST_LEVELS:
            raise UnsupportedError(
                f"{module.kernel.name} has {noun} {depth} deep in each other, and this device's "
                f"compiler, Mesa's llvmpipe, takes {MOST_LEVELS}: of a long chain of elif, make "
                "several statements, or look the result up in an array",
                loc,
            )


Kinds = type[Op] | tuple[type[Op], ...]


def _deepest(
    module: Module, region: Region, kind: Kinds, known: dict[str, tuple[int, Loc]]
) -> tuple[int, Loc]:
    """The nesting depth of a kind of op in a region and its callees; the deepest one's location."""
    best: tuple[int, Loc] = 0, UNKNOWN
    for op in region.ops:
        if not op.REGION_FIELDS and not isinstance(op, Call):
            continue
        nested: list[tuple[int, Loc]] = []
        if isinstance(op, Call):
            if op.callee not in known:
                known[op.callee] = 0, op.loc
                body = module.functions[op.callee].body
                known[op.callee] = _deepest(module, body, kind, known)
            nested.append(known[op.callee])
        for inner in op.regions():
            levels, loc = _deepest(module, inner, kind, known)
            nested.append((levels + isinstance(op, kind), loc if levels else op.loc))
        best = max([best, *nested], key=lambda each: each[0])
    return best
