"""Float ops that only some instruction sets have: each expands into ``ir.ops.arith``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gridlane.core.dtypes import DType, f16, f32, u16, u32
from gridlane.ir.op import REGISTRY, FastMath, Op, operation
from gridlane.ir.ops import arith, math
from gridlane.ir.ops.integer import Listed
from gridlane.ir.values import Value

if TYPE_CHECKING:
    from gridlane.ir.builder import Builder


@operation("flush")
class Flush(Listed):
    """The value, but 0 of its sign for a subnormal number. PTX: ``.ftz`` of an operand."""

    value: Value
    signatures = ((f16,), (f32,))

    def expand(self, b: Builder) -> tuple[Value, ...]:
        kind = self.value.type
        assert isinstance(kind, DType)
        word, exponent = (u16, 0x7C00) if kind is f16 else (u32, 0x7F800000)
        bits = b.bitcast(self.value, word)
        sign = b.bitcast(b.and_(bits, b.const(1 << kind.bits - 1, word)), kind)
        is_small = b.eq(b.and_(bits, b.const(exponent, word)), b.zero(word))
        return (b.select(is_small, sign, self.value),)


def flushes(op: Op) -> bool:
    """Whether an op takes and gives 0 for subnormal numbers."""
    fast = getattr(op, "fast", FastMath.NONE)
    return fast is not FastMath.NONE and bool(fast & FastMath.FTZ)


FLUSHING: frozenset[type[Op]] = frozenset((
    *(arith.Add, arith.Sub, arith.Mul, arith.Div, arith.Fma, math.Sqrt),
    *(cls for cls in REGISTRY.values() if issubclass(cls, math.Approximate)),
))  # fmt: skip
"""The ops that may have ``FastMath.FTZ``. Others take operands that ``flush`` made."""
