"""Video instructions, on words and on two or four lanes of a word.

PTX ISA 9.0, "Scalar Video Instructions", "SIMD Video Instructions". Operands are whole registers:
selectors and masks, as in ``%r1.b0``, are refused.
"""

from __future__ import annotations

from collections.abc import Callable

from gridlane.core.dtypes import i32, i64, u32
from gridlane.frontends.ptx.forms.logic import compared
from gridlane.frontends.ptx.forms.table import Match, form
from gridlane.frontends.ptx.operands import Operand
from gridlane.frontends.ptx.values import Values
from gridlane.ir.ops import arith
from gridlane.ir.values import Value

Operands = tuple[Operand, ...]
_OP = Callable[[Values, Value, Value], Value]


def _difference(t: Values, first: Value, second: Value) -> Value:
    larger = t.b.binary(arith.Max, first, second)
    return t.b.sub(larger, t.b.binary(arith.Min, first, second))


def _average(t: Values, first: Value, second: Value) -> Value:
    """Half of the sum, halves away from minus infinity for positive sums."""
    b = t.b
    total = b.add(first, second)
    one, zero = (b.const(n, i64) for n in (1, 0))
    up = b.select(b.binary(arith.Ge, total, zero), one, zero)
    return b.binary(arith.Shr, b.add(total, up), b.const(1, u32))


_OPS: dict[str, _OP] = {
    "vadd": lambda t, a, b: t.b.add(a, b),
    "vsub": lambda t, a, b: t.b.sub(a, b),
    "vabsdiff": _difference,
    "vmin": lambda t, a, b: t.b.binary(arith.Min, a, b),
    "vmax": lambda t, a, b: t.b.binary(arith.Max, a, b),
    "vavrg": _average,
}


def _limited(t: Values, value: Value, bits: int, is_signed: bool) -> Value:
    """A number within an integer type of some bits."""
    b = t.b
    low = -(1 << bits - 1) if is_signed else 0
    high = low + (1 << bits) - 1
    value = b.binary(arith.Max, value, b.const(low, i64))
    return b.binary(arith.Min, value, b.const(high, i64))


def _low(t: Values, value: Value) -> Value:
    return t.b.cast(value, u32)


# --- words

_TYPES = ".u32|s32 .u32|s32 .u32|s32"
_THEN = "add|min|max"


def _words(t: Values, m: Match, o: Operands, first: int = -2) -> tuple[Value, Value]:
    """The sources, wide."""
    kinds = m.types[first:]
    made = [t.b.cast(t.read(each, kind), i64) for each, kind in zip(o[1:3], kinds, strict=True)]
    return made[0], made[1]


def _finish(t: Values, m: Match, o: Operands, made: Value) -> None:
    """Saturate, and combine with the third source."""
    b, kind = t.b, m.types[0]
    if m.has("sat"):
        made = _limited(t, made, 32, kind.is_signed)
    word = b.cast(_low(t, made), kind)
    if len(o) == 4:
        ops = {"add": arith.Add, "min": arith.Min, "max": arith.Max}
        word = b.binary(ops[m.one_of(*ops)], word, t.read(o[3], kind))
    t.write(o[0], word)


@form(f"vadd {_TYPES} [.sat]", "d, a, b")
@form(f"vsub {_TYPES} [.sat]", "d, a, b")
@form(f"vabsdiff {_TYPES} [.sat]", "d, a, b")
@form(f"vmin {_TYPES} [.sat]", "d, a, b")
@form(f"vmax {_TYPES} [.sat]", "d, a, b")
@form(f"vadd {_TYPES} [.sat] .{_THEN}", "d, a, b, c")
@form(f"vsub {_TYPES} [.sat] .{_THEN}", "d, a, b, c")
@form(f"vabsdiff {_TYPES} [.sat] .{_THEN}", "d, a, b, c")
@form(f"vmin {_TYPES} [.sat] .{_THEN}", "d, a, b, c")
@form(f"vmax {_TYPES} [.sat] .{_THEN}", "d, a, b, c")
def scalar(t: Values, m: Match, o: Operands) -> None:
    """An operation, exact before it is saturated or cut to a word."""
    _finish(t, m, o, _OPS[m.form.root](t, *_words(t, m, o)))


_COMPARE = ".eq|ne|lt|le|gt|ge"


@form(f"vset .u32|s32 .u32|s32 {_COMPARE}", "d, a, b")
@form(f"vset .u32|s32 .u32|s32 {_COMPARE} .{_THEN}", "d, a, b, c")
def vset(t: Values, m: Match, o: Operands) -> None:
    """1 or 0 for a comparison, combined with the third source, which is unsigned."""
    b = t.b
    holds = compared(t, m.one_of("eq", "ne", "lt", "le", "gt", "ge"), *_words(t, m, o))
    word = b.select(holds, b.const(1, u32), b.const(0, u32))
    if len(o) == 4:
        ops = {"add": arith.Add, "min": arith.Min, "max": arith.Max}
        word = b.binary(ops[m.one_of(*ops)], word, t.read(o[3], u32))
    t.write(o[0], word)


# --- lanes of a word


def _lanes(t: Values, operand: Operand, count: int, is_signed: bool) -> list[Value]:
    """The lanes of a word, the lowest first, as wide numbers."""
    b, width = t.b, 32 // count
    word, made = t.read(operand, u32), list[Value]()
    for place in range(count):
        up = b.binary(arith.Shl, word, b.const(32 - width * (place + 1), u32))
        kind = i32 if is_signed else u32
        lane = b.binary(arith.Shr, b.cast(up, kind), b.const(32 - width, u32))
        made.append(b.cast(lane, i64))
    return made


def _joined(t: Values, m: Match, o: Operands, made: list[Value]) -> None:
    """Write the lanes; or with .add their sum and the third source's."""
    if not m.has("add"):
        t.write(o[0], _word(t, made))
        return
    total = t.read(o[3], u32)
    for lane in made:
        total = t.b.add(total, _low(t, lane))
    t.write(o[0], total)


def _word(t: Values, made: list[Value]) -> Value:
    """Lanes in a word, the first one lowest."""
    b, width = t.b, 32 // len(made)
    word = b.const(0, u32)
    for place, lane in enumerate(made):
        low = b.and_(_low(t, lane), b.const((1 << width) - 1, u32))
        word = b.or_(word, b.binary(arith.Shl, low, b.const(place * width, u32)))
    return word


def _simd(t: Values, m: Match, o: Operands) -> None:
    root, count = m.form.root[:-1], int(m.form.root[-1])
    kinds = m.types
    sources = [_lanes(t, o[n], count, kinds[n].is_signed) for n in (1, 2)]
    made = [_OPS[root](t, *pair) for pair in zip(*sources, strict=True)]
    if m.has("sat"):
        made = [_limited(t, each, 32 // count, kinds[0].is_signed) for each in made]
    _joined(t, m, o, made)


def _simd_set(t: Values, m: Match, o: Operands) -> None:
    count, kinds = int(m.form.root[-1]), m.types
    sources = [_lanes(t, o[n + 1], count, kinds[n].is_signed) for n in (0, 1)]
    name = m.one_of("eq", "ne", "lt", "le", "gt", "ge")
    one, zero = t.b.const(1, i64), t.b.const(0, i64)
    made = [t.b.select(compared(t, name, *pair), one, zero) for pair in zip(*sources, strict=True)]
    _joined(t, m, o, made)


for _count in (2, 4):
    for _root in _OPS:
        form(f"{_root}{_count} {_TYPES} [.sat]", "d, a, b, c")(_simd)
        form(f"{_root}{_count} {_TYPES} .add", "d, a, b, c")(_simd)
    form(f"vset{_count} .u32|s32 .u32|s32 {_COMPARE} [.add]", "d, a, b, c")(_simd_set)


# --- two integers of 16 bits


@form("add .u16x2|s16x2", "d, a, b")
@form("min .u16x2|s16x2", "d, a, b")
@form("max .u16x2|s16x2", "d, a, b")
@form("min .relu .s16x2", "d, a, b")
@form("max .relu .s16x2", "d, a, b")
def pairs(t: Values, m: Match, o: Operands) -> None:
    """An operation on each half of a word."""
    b, op = t.b, {"add": arith.Add, "min": arith.Min, "max": arith.Max}[m.form.root]
    sources = [_lanes(t, each, 2, m.has("s16x2")) for each in o[1:3]]
    made = [b.binary(op, *pair) for pair in zip(*sources, strict=True)]
    if m.has("relu"):
        made = [b.binary(arith.Max, each, b.const(0, i64)) for each in made]
    t.write(o[0], _word(t, made))
