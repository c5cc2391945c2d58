"""Integer arithmetic. PTX ISA 9.0, section "Integer Arithmetic Instructions"."""

from __future__ import annotations

from gridlane.core.dtypes import DType, b1, i32, u32
from gridlane.frontends.ptx.forms.table import Match, form, rows
from gridlane.frontends.ptx.operands import Operand
from gridlane.frontends.ptx.types import signed, unsigned
from gridlane.frontends.ptx.values import Values
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, integer
from gridlane.ir.values import Value

Operands = tuple[Operand, ...]


def binary(t: Values, m: Match, o: Operands, op: type[Op]) -> None:
    """Two operands of the type."""
    t.write(o[0], t.b.binary(op, t.read(o[1], m.type), t.read(o[2], m.type)))


def unary(t: Values, m: Match, o: Operands, op: type[Op]) -> None:
    """One operand of the type."""
    t.write(o[0], t.b.unary(op, t.read(o[1], m.type)))


@form("add .<int>", "d, a, b")
def add(t: Values, m: Match, o: Operands) -> None:
    """The sum; of a pointer and an integer a pointer."""
    if m.type.bits >= 32:
        first, second = t.pointer_in(o[1]), t.pointer_in(o[2])
        if (first is None) != (second is None) and t.wants_pointer(o[0], m.type.bits):
            base, index = (first, o[2]) if first is not None else (second, o[1])
            assert base is not None
            t.write(o[0], t.b.offset(base, t.read(index, signed(m.type.bits))))
            return
    binary(t, m, o, arith.Add)


@form("sub .<int>", "d, a, b")
def sub(t: Values, m: Match, o: Operands) -> None:
    """The difference; of a pointer and an integer a pointer."""
    base = t.pointer_in(o[1]) if m.type.bits >= 32 else None
    if base is not None and t.pointer_in(o[2]) is None and t.wants_pointer(o[0], m.type.bits):
        t.write(o[0], t.b.offset(base, t.b.neg(t.read(o[2], signed(m.type.bits)))))
        return
    binary(t, m, o, arith.Sub)


rows(
    ("add .sat .s32", "d, a, b", integer.AddSat),
    ("sub .sat .s32", "d, a, b", integer.SubSat),
    # By zero the ISA leaves it open; it is all ones.
    ("div .<int>", "d, a, b", arith.Div),
    ("rem .<int>", "d, a, b", arith.Rem),
    ("abs .<signed>", "d, a", arith.Abs),
    ("neg .<signed>", "d, a", arith.Neg),
    ("min .<int>", "d, a, b", arith.Min),
    ("max .<int>", "d, a, b", arith.Max),
)


@form("add .cc .u32|s32|u64|s64", "d, a, b")
@form("addc [.cc] .u32|s32|u64|s64", "d, a, b")
def add_carry(t: Values, m: Match, o: Operands) -> None:
    """A step of a sum of several words."""
    carry = t.carry() if m.form.root == "addc" else t.b.const(False, b1)
    op = integer.AddCarry(t.read(o[1], m.type), t.read(o[2], m.type), carry)
    total, after = t.b.emit(op).results
    t.write(o[0], total)
    if m.has("cc"):
        t.set_carry(after)


@form("sub .cc .u32|s32|u64|s64", "d, a, b")
@form("subc [.cc] .u32|s32|u64|s64", "d, a, b")
def sub_borrow(t: Values, m: Match, o: Operands) -> None:
    """A step of a difference of several words. The flag is the carry of the sum with the
    complement, which is set where nothing is borrowed: NVIDIA's division of 128 bits reads it by
    ``addc`` after ``subc.cc``."""
    borrow = t.b.not_(t.carry()) if m.form.root == "subc" else t.b.const(False, b1)
    op = integer.SubBorrow(t.read(o[1], m.type), t.read(o[2], m.type), borrow)
    total, after = t.b.emit(op).results
    t.write(o[0], total)
    if m.has("cc"):
        t.set_carry(t.b.not_(after))


@form("mad .lo|hi .cc .u32|s32|u64|s64", "d, a, b, c")
@form("madc .lo|hi [.cc] .u32|s32|u64|s64", "d, a, b, c")
def mad_carry(t: Values, m: Match, o: Operands) -> None:
    """A half of a product, added in a sum of several words."""
    carry = t.carry() if m.form.root == "madc" else t.b.const(False, b1)
    half = product(t, m, o)
    total, after = t.b.emit(integer.AddCarry(half, t.read(o[3], m.type), carry)).results
    t.write(o[0], total)
    if m.has("cc"):
        t.set_carry(after)


def product(t: Values, m: Match, o: Operands) -> Value:
    """The lower or upper half of a product, or all of it."""
    first, second = t.read(o[1], m.type), t.read(o[2], m.type)
    if m.has("hi"):
        return t.b.binary(arith.MulHi, first, second)
    if m.has("wide"):
        wide = wider(m.type)
        return t.b.binary(arith.Mul, t.b.cast(first, wide), t.b.cast(second, wide))
    return t.b.binary(arith.Mul, first, second)


def wider(dtype: DType) -> DType:
    """The integer of twice the width."""
    return (signed if dtype.is_signed else unsigned)(2 * dtype.bits)


@form("mul .lo|hi .<int>", "d, a, b")
@form("mul .wide .u16|s16|u32|s32", "d, a, b")
def mul(t: Values, m: Match, o: Operands) -> None:
    """A product."""
    t.write(o[0], product(t, m, o))


@form("mad .lo|hi .<int>", "d, a, b, c")
@form("mad .wide .u16|s16|u32|s32", "d, a, b, c")
def mad(t: Values, m: Match, o: Operands) -> None:
    """A product and a sum."""
    multiplied = product(t, m, o)
    base = t.pointer_in(o[3])
    if base is not None and t.wants_pointer(o[0], m.type.bits):
        assert isinstance(multiplied.type, DType)
        t.write(o[0], t.b.offset(base, t.as_type(multiplied, signed(multiplied.type.bits))))
        return
    assert isinstance(multiplied.type, DType)
    t.write(o[0], t.b.add(multiplied, t.read(o[3], multiplied.type)))


@form("mad .hi .sat .s32", "d, a, b, c")
def mad_sat(t: Values, m: Match, o: Operands) -> None:
    """The upper half of a product, and a saturated sum."""
    t.write(o[0], t.b.binary(integer.AddSat, product(t, m, o), t.read(o[3], m.type)))


@form("mul24 .lo|hi .u32|s32", "d, a, b")
@form("mad24 .lo|hi .u32|s32", "d, a, b, c")
@form("mad24 .hi .sat .s32", "d, a, b, c")
def mul24(t: Values, m: Match, o: Operands) -> None:
    """The lower 32 bits, or bits 16 to 47, of the product of the lower 24 bits."""
    kind = m.type
    wide = wider(kind)

    def low(operand: Operand) -> Value:
        eight = t.b.const(8, i32)
        moved = t.b.binary(arith.Shl, t.read(operand, kind), eight)
        return t.b.cast(t.b.binary(arith.Shr, moved, eight), wide)

    total = t.b.mul(low(o[1]), low(o[2]))
    if m.has("hi"):
        total = t.b.binary(arith.Shr, total, t.b.const(16, i32))
    products_bits = t.b.cast(total, kind)
    if len(o) == 4:
        op = integer.AddSat if m.has("sat") else arith.Add
        products_bits = t.b.binary(op, products_bits, t.read(o[3], kind))
    t.write(o[0], products_bits)


@form("min .relu .s32", "d, a, b")
@form("max .relu .s32", "d, a, b")
def min_relu(t: Values, m: Match, o: Operands) -> None:
    """The smaller or larger, at least 0."""
    op = arith.Min if m.form.root == "min" else arith.Max
    bound = t.b.binary(op, t.read(o[1], m.type), t.read(o[2], m.type))
    t.write(o[0], t.b.binary(arith.Max, bound, t.b.zero(m.type)))


@form("sad .<int>", "d, a, b, c")
def sad(t: Values, m: Match, o: Operands) -> None:
    """The absolute difference, and a sum."""
    first, second = t.read(o[1], m.type), t.read(o[2], m.type)
    larger, smaller = t.b.binary(arith.Max, first, second), t.b.binary(arith.Min, first, second)
    t.write(o[0], t.b.add(t.b.sub(larger, smaller), t.read(o[3], m.type)))


@form("dp4a .u32|s32 .u32|s32", "d, a, b, c")
def dp4a(t: Values, m: Match, o: Operands) -> None:
    """The dot product of four bytes, and a sum."""
    _dot(t, m, o, 8, 8, 0)


@form("dp2a .lo|hi .u32|s32 .u32|s32", "d, a, b, c")
def dp2a(t: Values, m: Match, o: Operands) -> None:
    """The dot product of two halves and the lower or upper two bytes, and a sum."""
    _dot(t, m, o, 16, 8, 2 if m.has("hi") else 0)


def _dot(t: Values, m: Match, o: Operands, first: int, second: int, skip: int) -> None:
    kinds = m.types
    total = t.read(o[3], i32 if i32 in kinds else u32)
    kind = total.type
    assert isinstance(kind, DType)
    left, right = t.read(o[1], u32), t.read(o[2], u32)
    for place in range(32 // first):
        a = _field(t, left, first * place, first, kinds[0].is_signed)
        b = _field(t, right, second * (place + skip), second, kinds[1].is_signed)
        total = t.b.add(total, t.b.mul(t.b.cast(a, kind), t.b.cast(b, kind)))
    t.write(o[0], total)


def _field(t: Values, value: Value, first_bit: int, width: int, is_signed: bool) -> Value:
    """Some bits of a word."""
    b = t.b
    moved = b.binary(arith.Shl, value, b.const(32 - width - first_bit, i32))
    return b.binary(arith.Shr, b.cast(moved, i32 if is_signed else u32), b.const(32 - width, i32))
