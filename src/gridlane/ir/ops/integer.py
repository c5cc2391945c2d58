"""Integer ops that only some instruction sets have: each expands into ``ir.ops.arith``."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from gridlane.core.dtypes import INTEGERS, DType, b1, i32, i64, u32, u64
from gridlane.ir.op import Op, Scope, family, operation
from gridlane.ir.ops.arith import Binary, Const, Min, Ne, Shl, Shr, Xor
from gridlane.ir.types import Type
from gridlane.ir.values import Value

if TYPE_CHECKING:
    from gridlane.ir.builder import Builder


def integer(value: Value) -> DType:
    """The type of an operand that ``check`` has verified to be an integer."""
    assert isinstance(value.type, DType), value
    return value.type


def past_the_end(b: Builder, value: Value) -> Value:
    """The minimum of a signed type where ``value`` is negative, else the maximum."""
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
    """Types as an error message shows them."""
    return f"({', '.join(map(str, types))})"


@operation("add_sat")
class AddSat(Binary):
    """lhs + rhs; saturates. PTX: ``add.sat.s32``."""

    accepts = "integers"
    commutative = True
    exact = True

    def expand(self, b: Builder) -> tuple[Value, ...]:
        lhs, rhs, dtype = self.lhs, self.rhs, integer(self.lhs)
        total = b.add(lhs, rhs)
        if not dtype.is_signed:
            return (b.select(b.lt(total, lhs), b.const(dtype.max, dtype), total),)
        # The sum wraps where its sign differs from that of both operands.
        wrong = b.and_(b.binary(Xor, lhs, total), b.binary(Xor, rhs, total))
        return (b.select(b.lt(wrong, b.zero(dtype)), past_the_end(b, lhs), total),)


@operation("sub_sat")
class SubSat(Binary):
    """lhs - rhs; saturates. PTX: ``sub.sat.s32``."""

    accepts = "integers"

    def expand(self, b: Builder) -> tuple[Value, ...]:
        lhs, rhs, dtype = self.lhs, self.rhs, integer(self.lhs)
        rest = b.sub(lhs, rhs)
        if not dtype.is_signed:
            return (b.select(b.lt(lhs, rhs), b.zero(dtype), rest),)
        # It wraps where the signs differ and the difference has not lhs's sign.
        wrong = b.and_(b.binary(Xor, lhs, rhs), b.binary(Xor, lhs, rest))
        return (b.select(b.lt(wrong, b.zero(dtype)), past_the_end(b, lhs), rest),)


@family
class Carrying(Listed):
    """A step of a multiword sum or difference. Words are read as unsigned, whatever their type; the
    second result is the carry."""

    lhs: Value
    rhs: Value
    carry: Value
    signatures = tuple([(dtype, dtype, b1) for dtype in INTEGERS])
    produces = ("lhs", b1)

    def unsigned(self, b: Builder) -> tuple[Value, Value, Value]:
        """The operands as unsigned integers."""
        word = integer(self.lhs).unsigned
        return b.cast(self.lhs, word), b.cast(self.rhs, word), b.cast(self.carry, word)


@operation("add_carry")
class AddCarry(Carrying):
    """lhs + rhs + carry, and whether the exact sum carries out. PTX: ``add.cc`` (the carry is
    false), ``addc.cc``."""

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

    def expand(self, b: Builder) -> tuple[Value, ...]:
        lhs, rhs, carry = self.unsigned(b)
        some = b.sub(lhs, rhs)
        borrows = b.or_(b.lt(lhs, rhs), b.lt(some, carry))
        return b.cast(b.sub(some, carry), integer(self.lhs)), borrows


class PermuteMode(Enum):
    """How the selector of ``prmt`` picks bytes. Modes other than GENERIC read its low two bits."""

    GENERIC = "generic"
    F4E = "f4e"
    B4E = "b4e"
    RC8 = "rc8"
    ECL = "ecl"
    ECR = "ecr"
    RC16 = "rc16"


SELECTORS: dict[PermuteMode, tuple[int, int, int, int]] = {
    PermuteMode.F4E: (0x3210, 0x4321, 0x5432, 0x6543),
    PermuteMode.B4E: (0x5670, 0x6701, 0x7012, 0x0123),
    PermuteMode.RC8: (0x0000, 0x1111, 0x2222, 0x3333),
    PermuteMode.ECL: (0x3210, 0x3211, 0x3222, 0x3333),
    PermuteMode.ECR: (0x0000, 0x1110, 0x2210, 0x3210),
    PermuteMode.RC16: (0x1010, 0x3232, 0x1010, 0x3232),
}
"""The generic selectors of a mode for the low two bits 0, 1, 2 and 3."""


@operation("prmt")
class Prmt(Listed):
    """Four of the eight bytes of ``low`` (0 to 3) and ``high`` (4 to 7). PTX: ``prmt.b32``.

    Of a generic selector, bits 4n to 4n+2 number the byte that becomes byte n; where bit 4n+3 is
    set, byte n is that byte's sign bit in all eight bits. Bits above 15 are ignored.
    """

    low: Value
    high: Value
    selector: Value
    mode: PermuteMode = PermuteMode.GENERIC
    signatures = ((u32, u32, u32),)

    def expand(self, b: Builder) -> tuple[Value, ...]:
        known = constant_of(self.selector)
        if known is not None:
            table = SELECTORS.get(self.mode)
            control = table[known & 3] if table else known
            results = [self.known_byte(b, control >> 4 * place & 15) for place in range(4)]
        else:
            chosen = self.control(b)
            results = [self.byte(b, shifted(b, Shr, chosen, 4 * place)) for place in range(4)]
        first, *others = results
        for place, byte in enumerate(others, 1):
            first = b.or_(first, shifted(b, Shl, byte, 8 * place))
        return (first,)

    def known_byte(self, b: Builder, nibble: int) -> Value:
        """The byte that four known bits select."""
        source = self.high if nibble & 4 else self.low
        byte = masked(b, shifted(b, Shr, source, 8 * (nibble & 3)), 0xFF)
        return signs(b, byte) if nibble & 8 else byte

    def byte(self, b: Builder, nibble: Value) -> Value:
        """The byte that the low four bits of a value select."""
        source = b.select(has_bit(b, nibble, 4), self.high, self.low)
        amount = shifted(b, Shl, masked(b, nibble, 3), 3)
        byte = masked(b, b.binary(Shr, source, amount), 0xFF)
        if self.mode is not PermuteMode.GENERIC:
            return byte
        return b.select(has_bit(b, nibble, 8), signs(b, byte), byte)

    def control(self, b: Builder) -> Value:
        """The generic selector."""
        if self.mode is PermuteMode.GENERIC:
            return self.selector
        zero, one, two, three = [b.const(each, u32) for each in SELECTORS[self.mode]]
        odd, large = has_bit(b, self.selector, 1), has_bit(b, self.selector, 2)
        return b.select(large, b.select(odd, three, two), b.select(odd, one, zero))


@operation("bfe")
class Bfe(Listed):
    """The ``length`` bits of ``value`` from ``position`` on, extended to its type. PTX: ``bfe``.

    Both numbers are taken modulo 256, as the PTX ISA specifies (for constants above that, ptxas 13
    does so for 32 bits, and not for 64). A field of no bits is 0. A field that reaches or starts
    past the end of the value is truncated there: a signed one is extended by the value's sign.
    """

    value: Value
    position: Value
    length: Value
    signatures = tuple([(dtype, u32, u32) for dtype in (i32, u32, i64, u64)])

    def expand(self, b: Builder) -> tuple[Value, ...]:
        dtype = integer(self.value)
        start, length = masked(b, self.position, 0xFF), masked(b, self.length, 0xFF)
        if not dtype.is_signed:
            return (b.and_(b.binary(Shr, self.value, start), low_bits(b, length, dtype)),)
        width = b.const(dtype.bits, u32)
        above = b.sub(width, b.binary(Min, b.add(start, length), width))
        field = b.binary(Shr, b.binary(Shl, self.value, above), b.add(above, start))
        return (b.select(b.eq(length, b.zero(u32)), b.zero(dtype), field),)


@operation("bfi")
class Bfi(Listed):
    """``base`` with its ``length`` bits from ``position`` on replaced by the low bits of ``field``.
    PTX: ``bfi``.

    Both numbers are taken modulo 256. Bits past the end of the type are truncated.
    """

    field: Value
    base: Value
    position: Value
    length: Value
    signatures = tuple([(dtype, dtype, u32, u32) for dtype in (i32, u32, i64, u64)])

    def expand(self, b: Builder) -> tuple[Value, ...]:
        start, length = masked(b, self.position, 0xFF), masked(b, self.length, 0xFF)
        mask = b.binary(Shl, low_bits(b, length, integer(self.base)), start)
        placed = b.and_(b.binary(Shl, self.field, start), mask)
        return (b.or_(b.and_(self.base, b.not_(mask)), placed),)


def low_bits(b: Builder, count: Value, dtype: DType) -> Value:
    """A mask of that many low bits, at most all: a shift past the width is 0, and 0 minus 1 has all
    bits set."""
    one = b.const(1, dtype)
    return b.sub(b.binary(Shl, one, count), one)


def constant_of(value: Value) -> int | None:
    """The integer value of a constant operand."""
    return int(value.op.value) if isinstance(value.op, Const) else None


def shifted(b: Builder, op: type[Op], value: Value, amount: int) -> Value:
    """A value shifted by a known amount."""
    return b.binary(op, value, b.const(amount, u32)) if amount else value


def masked(b: Builder, value: Value, mask: int) -> Value:
    """The bitwise and of a value and a mask."""
    return b.and_(value, b.const(mask, integer(value)))


def has_bit(b: Builder, value: Value, bit: int) -> Value:
    """Whether a bit of a value is set."""
    return b.binary(Ne, masked(b, value, bit), b.zero(value.type))


def signs(b: Builder, byte: Value) -> Value:
    """The sign bit of a byte in all eight bits."""
    return b.mul(shifted(b, Shr, byte, 7), b.const(0xFF, integer(byte)))
