"""Replaces returns behind the last barrier, and those of whole blocks in front of it, by branches
around the rest of the kernel, and those of a loop at its end by breaks; in one with barriers those
of whole blocks.

Compilers write ``if not c: work`` as ``if c: return`` in front of the work; the branch has a copy
without masks. Moreover, a kernel with a return must track at each barrier which threads run.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from gridlane.analysis.uniformity import BlockUniformity, Kind
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, control
from gridlane.ir.values import Module, Region, Value

DEEPEST = 16
"""Branches in each other that take the place of returns; behind these, returns stay."""

MOST_COPIED = 2000
"""The ops of a kernel without barriers that is rewritten: a copy of more is not worth compiling."""


def return_last(module: Module) -> None:
    """Turn returns behind the kernel's last barrier into branches around the rest."""
    body = module.kernel.body
    if any(map(_meets, body.ops)):
        body.ops = _behind(body.ops, cache(lambda: BlockUniformity(module.kernel)), 0)
    elif sum(1 for _ in body.walk()) <= MOST_COPIED:
        body.ops = _end(body.ops, 0)


def _behind(ops: list[Op], shapes: Callable[[], BlockUniformity], depth: int) -> list[Op]:
    """The ops at the end of a kernel with barriers. Where a whole block returns the rest is a side
    of its branch, with the barriers."""
    for number, op in enumerate(ops):
        side = _returning(op) if isinstance(op, control.If) and depth < DEEPEST else None
        if side is None:
            continue
        assert isinstance(op, control.If)
        if shapes().of(op.condition) is Kind.BLOCK:
            other = op.orelse if side is op.then else op.then
            side.ops.pop()
            other.ops = _behind([*other.ops, *ops[number + 1 :]], shapes, depth + 1)
            return [*ops[:number], *_sides(op)]
    meetings = [n for n, op in enumerate(ops) if _meets(op)]
    start = meetings[-1] + 1 if meetings else 0
    if meetings and start == len(ops) and isinstance(ops[-1], control.Loop):
        _break_off(ops[-1].body, lambda value: shapes().of(value) is Kind.BLOCK)
    return [*ops[:start], *_end(ops[start:], 0)]


def _meets(op: Op) -> bool:
    """Whether threads wait for each other in an op."""
    return any(inner.barrier or inner.cross_lane for inner in Region([op]).walk())


def _end(ops: list[Op], depth: int) -> list[Op]:
    """The ops at the end of the kernel, without returns of their own: what follows a branch that
    returns is on its other side."""
    new_ops = list(ops)
    for number, op in enumerate(ops):
        side = _returning(op) if isinstance(op, control.If) and depth < DEEPEST else None
        if side is not None:
            assert isinstance(op, control.If)
            other = op.orelse if side is op.then else op.then
            new_ops[number:] = [op]
            other.ops = [*other.ops, *ops[number + 1 :]]
            side.ops.pop()
            break
    if new_ops and isinstance(new_ops[-1], control.Return):
        new_ops.pop()
    last = new_ops[-1] if new_ops and depth < DEEPEST else None
    if isinstance(last, control.If):
        new_ops[-1:] = _branch(last, depth + 1)
    elif isinstance(last, control.Loop):
        _break_off(last.body)
    return new_ops


def _break_off(region: Region, agrees: Callable[[Value], bool] = lambda value: True) -> None:
    """Leave a loop at the end of the kernel by breaks, which cross neither loops nor scopes, on
    conditions that agree."""
    if region.ops and isinstance(region.ops[-1], control.Return):
        region.ops[-1] = control.Break(loc=region.ops[-1].loc)
    for op in region.ops:
        if isinstance(op, control.If) and agrees(op.condition):
            for inner in op.regions():
                _break_off(inner, agrees)


def _branch(op: control.If, depth: int) -> list[Op]:
    """A branch at the end of the kernel, whose first side is not empty."""
    then, orelse = [Region(_end(side.ops, depth)) for side in (op.then, op.orelse)]
    return _sides(control.If(op.condition, then, orelse, loc=op.loc))


def _sides(op: control.If) -> list[Op]:
    """A branch whose first side is not empty; nothing if both are."""
    if op.then.ops:
        return [op]
    if not op.orelse.ops:
        return []
    negated = arith.Not(op.condition, loc=op.loc)
    return [negated, control.If(negated.result, op.orelse, Region(), loc=op.loc)]


def _returning(op: control.If) -> Region | None:
    """The side of a branch that returns at its end, where the other one has no exit there."""
    for side, other in ((op.then, op.orelse), (op.orelse, op.then)):
        ends = bool(other.ops) and other.ops[-1].terminator
        if side.ops and isinstance(side.ops[-1], control.Return) and not ends:
            return side
    return None
