"""Find the values that LLVM may know as subnormal f32 constants, or as the bits of such constants.

LLVM knows more than the values that are computed from constants: it forwards stores to loads, the
numbers of lanes included, and learns from comparisons of branches (``compared_bits.py``).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gridlane.core.dtypes import f32
from gridlane.ir.builder import constant
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, copies, math, memory, warp
from gridlane.ir.ops.floating import flushes
from gridlane.ir.types import Space
from gridlane.ir.values import Value, Var
from gridlane.passes.legalise.compared_bits import compared_bits
from gridlane.passes.legalise.flushing import is_normal_constant

_OF_BITS = (
    arith.Bitcast, arith.Select, arith.Neg, arith.Abs, math.Copysign, memory.Pack, memory.Part,
    warp.Shuffle,
)  # fmt: skip
"""Ops that hand on the bits of a constant."""


def subnormal_constants(
    ops: Sequence[Op], flushed: Collection[Var], folded: tuple[type[Op], ...]
) -> set[Value]:
    """Find them among the results of the ops of a kernel.

    Args:
        flushed: variables of numbers that count as flushed.
        folded: ops that flush, whose results of constants LLVM computes without doing so.
    """
    subnormal, holders = compared_bits(ops), set[Var | Space]()
    holders.add(Space.CONSTANT)
    while True:
        before = len(subnormal), len(holders)
        unknown = set[Value]()
        for op in ops:
            if isinstance(op, memory.WriteVar):
                if op.value in subnormal and op.var not in flushed:
                    holders.add(op.var)
            elif isinstance(op, memory.Store):
                if op.value in subnormal:
                    holders.add(memory.space_of(op.pointer))
            elif isinstance(op, copies.AsyncCopy):
                if _may_hold(Space.GLOBAL, holders):
                    holders.add(Space.SHARED)
            elif _is_one(op, subnormal, holders, unknown, folded):
                subnormal.update(op.results)
        if (len(subnormal), len(holders)) == before:
            return subnormal


def _is_one(
    op: Op,
    subnormal: set[Value],
    holders: set[Var | Space],
    unknown: set[Value],
    folded: tuple[type[Op], ...],
) -> bool:
    """Whether an op's result is such a constant; notes the integers that LLVM cannot know."""
    if isinstance(op, arith.Const):
        return op.value != 0 and not is_normal_constant(op.results[0])
    if isinstance(op, memory.ReadVar):
        return op.var in holders
    if isinstance(op, memory.Load):
        if _may_hold(memory.space_of(op.pointer), holders):
            return True
    elif isinstance(op, _OF_BITS):
        if any(value in subnormal for value in op.operands()):
            return True
    elif flushes(op):
        return isinstance(op, folded) and all(
            value in subnormal or constant(value) is not None for value in op.operands()
        )
    elif op.pure and all(value.type is not f32 for value in op.results):
        known = not any(value.op is None or value in unknown for value in op.operands())
        unknown.update([] if known else op.results)
        return known
    unknown.update(op.results)
    return False


def _may_hold(space: Space, holders: set[Var | Space]) -> bool:
    """Whether memory may hold one. A generic address is one of any memory."""
    if space is Space.GENERIC:
        return any(isinstance(each, Space) for each in holders - {Space.CONSTANT})
    return space in holders or (space is not Space.CONSTANT and Space.GENERIC in holders)
