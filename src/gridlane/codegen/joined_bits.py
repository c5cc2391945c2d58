"""Which ops a compiler may take for a bit select by constants, ``(x & k) | (y & ~k)``.

Compilers make one op of such a select, and another of it and the choice that follows. For devices
whose compiler does the latter wrongly (``swaps_selects``) the result is hidden from it.
"""

from __future__ import annotations

from gridlane.core.dtypes import DType
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, atomic, grid, memory, warp
from gridlane.ir.types import PointerType, Space
from gridlane.ir.values import Value

_JOINS = (arith.Or, arith.Xor, arith.Add, arith.Sub)
"""What joins bits that do not meet."""
_LEAVES = (
    arith.Const, arith.MulHi, arith.Popcount, arith.Clz, atomic.Atomic, atomic.AtomicCas,
    grid.GridQuery, grid.LaneId, warp.Shuffle,
)  # fmt: skip
"""What no compiler takes for an ``and`` with a constant."""
_SCALED = (arith.Mul, arith.Div, arith.Shl, arith.Shr)
_DEPTH = 4


def may_select_bits(op: Op) -> bool:
    """Whether a compiler may find that an op takes some bits of one operand and the others of the
    other: both may be masked, as far as what made them tells."""
    if not isinstance(op, _JOINS):
        return False
    dtype = op.lhs.type
    if not isinstance(dtype, DType) or not dtype.is_integer:
        return False
    return not _is_unmasked(op.lhs, _DEPTH) and not _is_unmasked(op.rhs, _DEPTH)


def _is_unmasked(value: Value, depth: int) -> bool:
    """Whether no compiler finds a value to be masked by a constant. A sum of such values is not;
    what is shifted, multiplied or divided twice is."""
    op = value.op
    if op is None or depth == 0:
        return False
    if _is_leaf(value):
        return True
    if isinstance(op, arith.Add | arith.Sub):
        return _is_unmasked(op.lhs, depth - 1) and _is_unmasked(op.rhs, depth - 1)
    return isinstance(op, _SCALED) and all(map(_is_leaf, op.operands()))


def _is_leaf(value: Value) -> bool:
    """Whether a value is from memory, but for arrays of the thread, which become registers; a
    number of the launch, or computed as no mask is."""
    op = value.op
    if isinstance(op, memory.Load):
        assert isinstance(op.pointer.type, PointerType)
        return op.pointer.type.space is not Space.LOCAL
    if isinstance(op, arith.Bitcast | arith.Cast):
        source = op.value.type
        return isinstance(source, DType) and source.is_float and _is_computed(op.value)
    return isinstance(op, _LEAVES)


def _is_computed(value: Value) -> bool:
    """Whether a float comes from memory or arithmetic, not from its bits."""
    return isinstance(value.op, arith.Add | arith.Sub | arith.Mul | arith.Div | arith.Fma) or (
        isinstance(value.op, memory.Load) and _is_leaf(value)
    )
