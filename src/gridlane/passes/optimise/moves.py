"""Ops that a pass moves together, and what they compute of together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from gridlane.ir.builder import Builder
from gridlane.ir.op import Op
from gridlane.ir.ops import arith
from gridlane.ir.values import Region, Value

T = TypeVar("T", bound=Op)


def movable(
    region: Region, ops: Sequence[tuple[T, Value]], new: dict[Value, Value]
) -> tuple[list[Op], list[T]]:
    """The ops of a region, each with an operand, that may take place where the first does, and the
    ops of their operands that move there. ``new`` has what values are replaced by."""
    begin = region.ops.index(ops[0][0])
    place = {op: number for number, op in enumerate(region.ops[begin:])}
    own = type(ops[0][0])
    moved: dict[Op, None] = {}
    ready: list[T] = []
    for op, operand in ops:
        needed: dict[Op, None] = {}
        if _gather(operand, own, place, moved, needed, new):
            moved |= needed
            ready.append(op)
    return sorted(moved, key=place.__getitem__), ready


def _gather(
    value: Value,
    own: type[Op],
    place: dict[Op, int],
    moved: dict[Op, None],
    needed: dict[Op, None],
    new: dict[Value, Value],
) -> bool:
    """Whether a value exists in front of the ops of ``place``, or may: ``needed`` gets its ops."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        op = new.get(value, value).op
        if op is None or op not in place or op in moved or op in needed:
            continue
        if not op.pure or op.REGION_FIELDS or isinstance(op, own):
            return False
        needed[op] = None
        waiting += op.operands()
    return True


def folded(b: Builder, op: type[arith.Binary], values: list[Value]) -> Value:
    """Combine values in pairs, and the results again, so that few wait for each other."""
    while len(values) > 1:
        pairs = [b.binary(op, *values[n : n + 2]) for n in range(0, len(values) - 1, 2)]
        values = [*pairs, *values[2 * len(pairs) :]]
    return values[0]
