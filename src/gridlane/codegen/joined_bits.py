"""Finds ops that a compiler may fold into a bit select by constants, ``(x & k) | (y & ~k)``.

Compilers fold such a select into one op, and fold that op with a select that follows. The result is
hidden on devices whose compiler does the latter wrongly (``swaps_selects``).
"""

from __future__ import annotations

from gridlane.core.dtypes import DType
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, atomic, grid, memory, warp
from gridlane.ir.types import PointerType, Space
from gridlane.ir.values import Value

_JOINS = (arith.Or, arith.Xor, arith.Add, arith.Sub)
"""Ops that join disjoint bits."""
_LEAVES = (
    arith.Const, arith.MulHi, arith.Popcount, arith.Clz, atomic.Atomic, atomic.AtomicCas,
    grid.GridQuery, grid.LaneId, warp.Shuffle,
)  # fmt: skip
"""Ops that no compiler folds into an ``and`` with a constant."""
_SCALED = (arith.Mul, arith.Div, arith.Shl, arith.Shr)
_DEPTH = 4


def may_select_bits(op: Op) -> bool:
    """Whether a compiler may know that an op takes some bits from one operand and the rest from the
    other: both operands may be masked, as far as their ops show."""
    if not isinstance(op, _JOINS):
        return False
    dtype = op.lhs.type
    if not isinstance(dtype, DType) or not dtype.is_integer:
        return False
    return not _is_unmasked(op.lhs, _DEPTH) and not _is_unmasked(op.rhs, _DEPTH)


def _is_unmasked(value: Value, depth: int) -> bool:
    """Whether no compiler can know that a value is masked by a constant. A sum of unmasked values
    is unmasked; a value shifted, multiplied or divided twice may be masked."""
    op = value.op
    if op is None or depth == 0:
        return False
    if _is_leaf(value):
        return True
    if isinstance(op, arith.Add | arith.Sub):
        return _is_unmasked(op.lhs, depth - 1) and _is_unmasked(op.rhs, depth - 1)
    return isinstance(op, _SCALED) and all(map(_is_leaf, op.operands()))


def _is_leaf(value: Value) -> bool:
    """Whether a value is a grid query, an op that is never a mask, or a load from memory other
    than the thread's arrays, which become registers."""
    op = value.op
    if isinstance(op, memory.Load):
        assert isinstance(op.pointer.type, PointerType)
        return op.pointer.type.space is not Space.LOCAL
    if isinstance(op, arith.Bitcast | arith.Cast):
        source = op.value.type
        return isinstance(source, DType) and source.is_float and _is_computed(op.value)
    return isinstance(op, _LEAVES)


def _is_computed(value: Value) -> bool:
    """Whether a float is loaded or computed, not made of bits."""
    return isinstance(value.op, arith.Add | arith.Sub | arith.Mul | arith.Div | arith.Fma) or (
        isinstance(value.op, memory.Load) and _is_leaf(value)
    )
