"""Bits: counts, fields, permutations. PTX ISA 9.0, "Integer Arithmetic Instructions"."""

from __future__ import annotations

from gridlane.core.dtypes import b1, i32, u32
from gridlane.frontends.ptx.forms.table import Match, form, rows
from gridlane.frontends.ptx.operands import Number, Operand, Pair
from gridlane.frontends.ptx.types import unsigned
from gridlane.frontends.ptx.values import Values
from gridlane.ir.ops import arith, integer
from gridlane.ir.ops.integer import PermuteMode
from gridlane.ir.values import Value

Operands = tuple[Operand, ...]


rows(
    ("popc .b32|b64", "d u32, a", arith.Popcount),
    ("clz .b32|b64", "d u32, a", arith.Clz),
    ("brev .b32|b64", "d, a", arith.Brev),
    ("bfe .u32|s32|u64|s64", "d, a, b u32, c u32", integer.Bfe),
    ("bfi .b32|b64", "d, a, b, c u32, e u32", integer.Bfi),
)


@form("bfind [.shiftamt] .u32|s32|u64|s64", "d, a")
def bfind(t: Values, m: Match, o: Operands) -> None:
    """The place of the most significant bit that is no sign; all ones if there is none."""
    b, value = t.b, t.read(o[1], m.type)
    if m.type.is_signed:
        value = b.select(b.lt(value, b.zero(m.type)), b.not_(value), value)
    word = t.as_type(value, unsigned(m.type.bits))
    zeros = b.cast(b.unary(arith.Clz, word), u32)
    bit_number = zeros if m.has("shiftamt") else b.sub(b.const(m.type.bits - 1, u32), zeros)
    t.write(o[0], b.select(b.eq(word, b.zero(word.type)), b.const(u32.max, u32), bit_number))


@form("bmsk .clamp|wrap .b32", "d, a, b")
def bmsk(t: Values, m: Match, o: Operands) -> None:
    """A mask of some bits from a place on."""
    b, start, width = t.b, t.read(o[1], u32), t.read(o[2], u32)
    if m.has("wrap"):
        start, width = (b.and_(each, b.const(31, u32)) for each in (start, width))
    ones = b.sub(b.binary(arith.Shl, b.const(1, u32), width), b.const(1, u32))
    t.write(o[0], b.binary(arith.Shl, ones, start))


@form("szext .clamp|wrap .u32|s32", "d, a, b")
def szext(t: Values, m: Match, o: Operands) -> None:
    """The lower bits, extended."""
    b, value, width = t.b, t.read(o[1], m.type), t.read(o[2], u32)
    if m.has("wrap"):
        width = b.and_(width, b.const(31, u32))
    narrow = b.lt(width, b.const(32, u32))
    away = b.sub(b.const(32, u32), width)
    # No bit is 0: a shift by 32 gives the sign on the way back.
    extended = b.binary(arith.Shr, b.binary(arith.Shl, value, away), away)
    t.write(o[0], b.select(narrow, extended, value))


@form("fns .b32", "d, a, b, c")
def fns(t: Values, m: Match, o: Operands) -> None:
    """The place of the n-th one bit from a place on; below it for a negative n."""
    b, mask, base, number = t.b, t.read(o[1], u32), t.read(o[2], u32), t.read(o[3], i32)
    zero, one = b.const(0, i32), b.const(1, u32)
    backwards = b.lt(number, zero)
    # Downwards is upwards in the reversed word; n = 0 asks for the bit at the place itself.
    word = b.select(backwards, b.unary(arith.Brev, mask), mask)
    start = b.select(backwards, b.sub(b.const(31, u32), base), base)
    count = b.cast(b.unary(arith.Abs, number), u32)  # the least number has one as well
    ones = b.const(u32.max, u32)
    word = b.and_(word, b.binary(arith.Shl, ones, start))
    own = b.binary(arith.Shl, b.const(1, u32), start)
    word = b.select(b.eq(number, zero), b.and_(word, own), word)
    left = b.sub(b.binary(arith.Max, count, one), one)
    # Drop as many of the lowest ones as come before, by halves: 16, 8, 4, 2, 1 places.
    place, rest = b.const(0, u32), left
    for step in (16, 8, 4, 2, 1):
        window = b.binary(arith.Shr, word, place)
        low = b.and_(window, b.const((1 << step) - 1, u32))
        inside = b.cast(b.unary(arith.Popcount, low), u32)
        later = b.binary(arith.Ge, rest, inside)
        rest = b.select(later, b.sub(rest, inside), rest)
        place = b.select(later, b.add(place, b.const(step, u32)), place)
    there = b.and_(b.binary(arith.Shr, word, place), b.const(1, u32))
    is_nth = b.and_(b.eq(there, one), b.eq(rest, b.zero(u32)))
    inside_word = b.and_(is_nth, b.lt(base, b.const(32, u32)))
    place = b.select(backwards, b.sub(b.const(31, u32), place), place)
    t.write(o[0], b.select(inside_word, place, ones))


_MODES = {mode.value: mode for mode in PermuteMode if mode is not PermuteMode.GENERIC}


@form("prmt .b32 [.f4e|b4e|rc8|ecl|ecr|rc16]", "d, a, b, c")
def prmt(t: Values, m: Match, o: Operands) -> None:
    """Four of eight bytes."""
    mode = _MODES.get(m.one_of(*_MODES), PermuteMode.GENERIC)
    low, high, selector = (t.read(each, u32) for each in o[1:])
    t.write(o[0], t.emit(integer.Prmt(low, high, selector, mode)))


@form("lop3 .b32", "d, a, b, c, table")
@form("lop3 .or|and .b32", "d, a, b, c, table, q")
def lop3(t: Values, m: Match, o: Operands) -> None:
    """Any function of three bits, by its table of eight: the low bits of a constant."""
    if not isinstance(o[4], Number) or o[4].is_float:
        t.fail("the table is an integer constant")
    table = int(o[4].value) & 255
    result_word = logical(t, [t.read(each, u32) for each in o[1:4]], table)
    if len(o) == 6:
        if not isinstance(o[0], Pair):
            t.fail("the results are a word and a predicate, as %r1|%p1")
        first, second = t.both(o[0])
        is_set = t.b.binary(arith.Ne, result_word, t.b.zero(u32))
        other = t.read(o[5], b1)
        both = t.b.or_(is_set, other) if m.has("or") else t.b.and_(is_set, other)
        t.write(first, result_word)
        t.write(second, both)
        return
    t.write(o[0], result_word)


def logical(t: Values, words: list[Value], table: int) -> Value:
    """A function of bits by its table, by Shannon's expansion over the first word: what the others
    give where its bit is 0, and where it is 1."""
    b = t.b
    if not words:
        return b.const(u32.max if table & 1 else 0, u32)
    half = 1 << len(words) - 1
    low, high = table & (1 << half) - 1, table >> half
    first, *others = words
    if low == high:
        return logical(t, others, low)
    full = (1 << half) - 1
    if low == full ^ high:
        return b.binary(arith.Xor, first, logical(t, others, low))
    if low in (0, full) and high in (0, full):
        return first if high else b.not_(first)
    if low == 0:
        return b.and_(first, logical(t, others, high))
    if high == full:
        return b.or_(first, logical(t, others, low))
    if high == 0:
        return b.and_(b.not_(first), logical(t, others, low))
    if low == full:
        return b.or_(b.not_(first), logical(t, others, high))
    zero, one = logical(t, others, low), logical(t, others, high)
    return b.or_(b.and_(first, one), b.and_(b.not_(first), zero))
