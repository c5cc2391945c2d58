"""Integer ops of instruction sets that no target has all of: each expands into ``ir.ops.arith``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gridlane.core.dtypes import DType
from gridlane.ir.op import operation
from gridlane.ir.ops.arith import Binary, Xor
from gridlane.ir.values import Value

if TYPE_CHECKING:
    from gridlane.ir.builder import Builder


def integer(value: Value) -> DType:
    """The type of an operand that ``check`` has found to be an integer."""
    assert isinstance(value.type, DType), value
    return value.type


def past_the_end(b: Builder, value: Value) -> Value:
    """The end of a signed type that lies on the side of ``value``: the least number where it is
    negative, else the largest."""
    dtype = integer(value)
    return b.select(
        b.lt(value, b.zero(dtype)), b.const(dtype.min, dtype), b.const(dtype.max, dtype)
    )


@operation("add_sat")
class AddSat(Binary):
    """lhs + rhs, or the end of the type that is nearest to it. PTX: ``add.sat.s32``."""

    lhs: Value
    rhs: Value
    accepts = "integers"
    commutative = True
    exact = True

    def expand(self, b: Builder) -> tuple[Value, ...]:
        lhs, rhs, dtype = self.lhs, self.rhs, integer(self.lhs)
        total = b.add(lhs, rhs)
        if not dtype.is_signed:
            return (b.select(b.lt(total, lhs), b.const(dtype.max, dtype), total),)
        # It wraps where the sign of both operands is not that of the sum.
        wrong = b.and_(b.binary(Xor, lhs, total), b.binary(Xor, rhs, total))
        return (b.select(b.lt(wrong, b.zero(dtype)), past_the_end(b, lhs), total),)


@operation("sub_sat")
class SubSat(Binary):
    """lhs - rhs, or the end of the type that is nearest to it. PTX: ``sub.sat.s32``."""

    lhs: Value
    rhs: Value
    accepts = "integers"
    exact = True

    def expand(self, b: Builder) -> tuple[Value, ...]:
        lhs, rhs, dtype = self.lhs, self.rhs, integer(self.lhs)
        rest = b.sub(lhs, rhs)
        if not dtype.is_signed:
            return (b.select(b.lt(lhs, rhs), b.zero(dtype), rest),)
        # It wraps where the signs differ and that of the difference is not lhs's.
        wrong = b.and_(b.binary(Xor, lhs, rhs), b.binary(Xor, lhs, rest))
        return (b.select(b.lt(wrong, b.zero(dtype)), past_the_end(b, lhs), rest),)
