"""Which loops and scopes a ``leave`` jumps out of on its way to the scope that it leaves."""

from __future__ import annotations

from collections.abc import Iterator

from gridlane.ir.op import Op
from gridlane.ir.ops import control
from gridlane.ir.values import Region


class Crossings:
    """For languages that leave the innermost construct alone.

    Attributes:
        of: for each loop and scope that is crossed, the scopes around it that a ``leave`` inside it
            leaves, in the order of these.
        scopes: all of these scopes.
        left: the scopes that some ``leave`` leaves.
    """

    def __init__(self, body: Region | None = None) -> None:
        self.of: dict[Op, dict[control.ScopeOp, None]] = {}
        self.left: set[control.ScopeOp] = set()
        stack: list[tuple[Iterator[Op], Op | None]] = [(iter(body or ()), None)]
        while stack:
            for op in stack[-1][0]:
                if isinstance(op, control.Leave):
                    self._cross(op, (outer for _, outer in reversed(stack)))
                if op.REGION_FIELDS:
                    stack += [(iter(inner.ops), op) for inner in op.regions()]
                    break
            else:
                stack.pop()
        self.scopes = {scope for found in self.of.values() for scope in found}

    def _cross(self, leave: control.Leave, around: Iterator[Op | None]) -> None:
        """Note the constructs that a ``leave`` crosses, from those around it, innermost first."""
        crossed: dict[Op, None] = {}
        for outer in around:
            if isinstance(outer, control.ScopeOp) and is_left_by(outer, leave):
                self.left.add(outer)
                for op in crossed:
                    crossed_by_op = self.of.setdefault(op, {})
                    if outer in crossed_by_op:  # then those around it have it, too
                        break
                    crossed_by_op[outer] = None
                return
            if isinstance(outer, control.Loop | control.ScopeOp):
                crossed[outer] = None


def is_left_by(scope: control.ScopeOp, leave: control.Leave) -> bool:
    """Whether a ``leave`` leaves a scope around it, if it leaves none inside of that."""
    return leave.target in (0, scope.label)
