"""Replaces returns behind the last barrier by branches around the rest of the kernel.

``if c: return`` in front of the last stores is how compilers write ``if not c: store``. A kernel
with a return has to know at each barrier which threads run, even those that it passed long before.
"""

from __future__ import annotations

from gridlane.ir.op import Op
from gridlane.ir.ops import arith, control
from gridlane.ir.values import Module, Region


def return_last(module: Module) -> None:
    """Rewrite the kernel, if it has barriers."""
    body = module.kernel.body
    places = [n for n, op in enumerate(body.ops) if _meets(op)]
    if places:
        start = places[-1] + 1
        body.ops[start:] = _wrapped(body.ops[start:])


def _meets(op: Op) -> bool:
    """Whether threads wait for each other in an op."""
    return any(inner.barrier or inner.cross_lane for inner in Region([op]).walk())


def _wrapped(ops: list[Op]) -> list[Op]:
    """Ops without returns of their own: what follows a return's branch is on its other side."""
    made: list[Op] = []
    for op in reversed(ops):
        side = _returning(op) if isinstance(op, control.If) else None
        if side is None:
            made.append(op)
            continue
        assert isinstance(op, control.If)
        rest = [*(op.orelse if side is op.then else op.then).ops, *reversed(made)]
        made = []
        if not rest:
            continue
        condition = op.condition
        if side is op.then:
            negated = arith.Not(condition, loc=op.loc)
            made.append(control.If(negated.result, Region(rest), Region(), loc=op.loc))
            made.append(negated)
        else:
            made.append(control.If(condition, Region(rest), Region(), loc=op.loc))
    made.reverse()
    if made and isinstance(made[-1], control.Return):
        made.pop()
    return made


def _returning(op: control.If) -> Region | None:
    """The side of a branch that only returns, where the other one has no exit at its end."""
    for side, other in ((op.then, op.orelse), (op.orelse, op.then)):
        ends = bool(other.ops) and other.ops[-1].terminator
        if [type(inner) for inner in side.ops] == [control.Return] and not ends:
            return side
    return None
