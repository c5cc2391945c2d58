"""Integer ops of instruction sets that no target has all of: each expands into ``ir.ops.arith``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gridlane.core.dtypes import INTEGERS, DType, b1
from gridlane.ir.op import Op, Scope, operation
from gridlane.ir.ops.arith import Binary, Xor
from gridlane.ir.types import Type
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


class Listed(Op):
    """An op whose operands have the types of one of ``signatures``; the result has the type of the
    first."""

    __slots__ = ()
    pure = True
    elementwise = True

    def result_types(self) -> tuple[Type, ...]:
        return (next(self.operands()).type,)

    def check(self, scope: Scope) -> None:
        types = tuple([value.type for value in self.operands()])
        known = ", ".join(map(shown, self.signatures))
        self.require(types in self.signatures, f"takes operands {known}, not {shown(types)}")


def shown(types: tuple[Type, ...]) -> str:
    """Types as a message has them."""
    return f"({', '.join(map(str, types))})"


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


class Carrying(Listed):
    """A step of a sum or difference of integers of several words. Words are read as unsigned,
    whatever their type; the second result is the carry."""

    __slots__ = ()
    lhs: Value
    rhs: Value
    carry: Value
    signatures = tuple([(dtype, dtype, b1) for dtype in INTEGERS])

    def result_types(self) -> tuple[Type, ...]:
        return self.lhs.type, b1

    def unsigned(self, b: Builder) -> tuple[Value, Value, Value]:
        """The operands as unsigned integers."""
        word = integer(self.lhs).unsigned
        return b.cast(self.lhs, word), b.cast(self.rhs, word), b.cast(self.carry, word)


@operation("add_carry")
class AddCarry(Carrying):
    """lhs + rhs + carry, and whether the exact sum has one bit more. PTX: ``add.cc`` (the carry is
    false), ``addc.cc``."""

    lhs: Value
    rhs: Value
    carry: Value
    commutative = True

    def expand(self, b: Builder) -> tuple[Value, ...]:
        lhs, rhs, carry = self.unsigned(b)
        some = b.add(lhs, rhs)
        total = b.add(some, carry)
        # Only one of the two sums can wrap.
        carries = b.or_(b.lt(some, lhs), b.lt(total, some))
        return b.cast(total, integer(self.lhs)), carries


@operation("sub_borrow")
class SubBorrow(Carrying):
    """lhs - rhs - carry, and whether the exact difference is below 0. PTX: ``sub.cc`` (the carry is
    false), ``subc.cc``."""

    lhs: Value
    rhs: Value
    carry: Value

    def expand(self, b: Builder) -> tuple[Value, ...]:
        lhs, rhs, carry = self.unsigned(b)
        some = b.sub(lhs, rhs)
        borrows = b.or_(b.lt(lhs, rhs), b.lt(some, carry))
        return b.cast(b.sub(some, carry), integer(self.lhs)), borrows
