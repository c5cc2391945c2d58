"""Video instructions, on words and on two or four lanes of a word.

PTX ISA 9.0, "Scalar Video Instructions", "SIMD Video Instructions". Operands are registers, bytes
or halves of them, as in ``%r1.b0``, or lanes of both sources, as in ``%r1.h20``.
"""

from __future__ import annotations

from collections.abc import Callable

from gridlane.core.dtypes import DType, i32, i64, u32, u64
from gridlane.frontends.ptx.forms.logic import compared
from gridlane.frontends.ptx.forms.table import Build, Match, form
from gridlane.frontends.ptx.operands import Operand, Part, Reg
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


_ONE_PART = ("", "b0", "b1", "b2", "b3", "h0", "h1")


def _part(t: Values, operand: Operand) -> tuple[str, int, int]:
    """The name of a part of a word, its lowest bit and its width."""
    chosen = operand.chosen if isinstance(operand, Part) else ""
    if chosen not in _ONE_PART:
        t.fail(f".{chosen} is no byte or half of a word")
    width = {"": 32, "b": 8, "h": 16}[chosen[:1]]
    return chosen, width * int(chosen[1:] or 0), width


def _word_of(t: Values, operand: Operand) -> Value:
    """The whole register of an operand."""
    if isinstance(operand, Part) and operand.register.type.bits != 32:
        t.fail("video instructions take registers of 32 bits")
    return t.read(Reg(operand.register) if isinstance(operand, Part) else operand, u32)


def _source(t: Values, operand: Operand, kind: DType, may_negate: bool = False) -> Value:
    """A source, or a byte or half of it, wide."""
    if isinstance(operand, Part) and operand.negated and not may_negate:
        t.fail("only vmad takes negated operands")
    _, low, width = _part(t, operand)
    up = t.b.binary(arith.Shl, _word_of(t, operand), t.b.const(32 - width - low, u32))
    lowered = t.b.binary(arith.Shr, t.b.cast(up, kind), t.b.const(32 - width, u32))
    return t.b.cast(lowered, i64)


def _words(t: Values, m: Match, o: Operands) -> tuple[Value, Value]:
    """The sources, wide."""
    first, second = (_source(t, *pair) for pair in zip(o[1:3], m.types[-2:], strict=True))
    return first, second


def _finish(t: Values, m: Match, o: Operands, computed: Value, kind: DType) -> None:
    """Saturate; then combine with the third source, as GPUs do, or replace a part of it. Sums and
    differences are cut to the result's type before. Others have 34 bits and its sign: where that is
    unsigned, a negative number is larger than all words."""
    b = t.b
    chosen, low, width = _part(t, o[0])
    ops = {"add": arith.Add, "min": arith.Min, "max": arith.Max}
    then = m.one_of(*ops)
    if bool(chosen) != (len(o) == 4 and not then):
        t.fail("a third source goes with a part of the result, or with .add, .min or .max")
    if m.has("sat"):
        computed = _limited(t, computed, width, kind.is_signed)
    elif m.form.root in ("vadd", "vsub"):
        computed = b.cast(b.cast(_low(t, computed), kind), i64)
    elif not kind.is_signed:
        computed = b.and_(computed, b.const((1 << 34) - 1, i64))
    if then:
        computed = b.binary(ops[then], computed, b.cast(t.read(o[3], kind), i64))
    word = _low(t, computed)
    if isinstance(o[0], Part):
        mask = (1 << width) - 1 << low
        kept = b.and_(t.read(o[3], u32), b.const(~mask & 0xFFFFFFFF, u32))
        moved = b.binary(arith.Shl, word, b.const(low, u32))
        word = b.or_(kept, b.and_(moved, b.const(mask, u32)))
        t.write(Reg(o[0].register), word)
        return
    t.write(o[0], b.cast(word, kind))


def _rows(roots: str, types: str) -> Callable[[Build], Build]:
    """The rows of scalar instructions: alone, with a third source that a part of the result is
    replaced in, and with one that it is combined with."""

    def declare(build: Build) -> Build:
        for root in roots.split():
            form(f"{root} {types}", "d, a, b")(build)
            form(f"{root} {types}", "d, a, b, c")(build)
            form(f"{root} {types} .{_THEN}", "d, a, b, c")(build)
        return build

    return declare


@_rows("vadd vsub vabsdiff vmin vmax", f"{_TYPES} [.sat]")
def scalar(t: Values, m: Match, o: Operands) -> None:
    """An operation, exact before it is saturated or cut to a word."""
    _finish(t, m, o, _OPS[m.form.root](t, *_words(t, m, o)), m.types[0])


_COMPARE = ".eq|ne|lt|le|gt|ge"


@_rows("vset", f".u32|s32 .u32|s32 {_COMPARE}")
def vset(t: Values, m: Match, o: Operands) -> None:
    """1 or 0 for a comparison, combined with the third source, which has the first one's sign."""
    b = t.b
    holds = compared(t, m.one_of("eq", "ne", "lt", "le", "gt", "ge"), *_words(t, m, o))
    _finish(t, m, o, b.select(holds, b.const(1, i64), b.const(0, i64)), m.types[0])


_SHIFT = ".u32|s32 .u32|s32 .u32"


@_rows("vshr", f"{_SHIFT} [.sat] .clamp|wrap")
@_rows("vshl", f"{_SHIFT} .sat .clamp|wrap")
@form(f"vshl {_SHIFT} .clamp|wrap", "d, a, b")
@form(f"vshl {_SHIFT} .clamp|wrap", "d, a, b, c")
@form(f"vshl {_SHIFT} .clamp|wrap .add", "d, a, b, c")
def shift(t: Values, m: Match, o: Operands) -> None:
    """A shift by at most 32 bits. The ISA does not say how many bits ``.min`` and ``.max`` compare
    of what is shifted to the left and not saturated."""
    b, is_left = t.b, m.form.root == "vshl"
    value, count = _words(t, m, o)
    if m.has("wrap"):
        count = b.and_(count, b.const(31, i64))
    else:
        count = b.binary(arith.Min, count, b.const(32, i64))
    if not is_left:
        _finish(t, m, o, b.binary(arith.Shr, value, _low(t, count)), m.types[0])
        return
    # In two steps, as 64 bits hold a word that moves by 31.
    step = b.binary(arith.Min, count, b.const(31, i64))
    shifted = b.binary(arith.Shl, value, _low(t, step))
    if m.has("sat"):
        shifted = _limited(t, shifted, 40, True)
    shifted = b.binary(arith.Shl, shifted, _low(t, b.sub(count, step)))
    _finish(t, m, o, shifted, m.types[0])


@form(f"vmad {_TYPES} [.po] [.sat] [.shr7|shr15]", "d, a, b, c")
def vmad(t: Values, m: Match, o: Operands) -> None:
    """A product and a sum of 64 bits, or plus one, moved down."""
    b = t.b
    negated = [isinstance(each, Part) and each.negated for each in o[1:]]
    is_signed = m.types[1].is_signed or m.types[2].is_signed
    if any(negated) and (not is_signed or m.has("po")):
        t.fail("an operand of a product of unsigned numbers, or with .po, is not negated")
    if (negated[0] != negated[1] and negated[2]) or isinstance(o[0], Part):
        t.fail("the result is a register, and the product or the third source is negated")
    if isinstance(o[3], Part) and o[3].chosen:
        t.fail("the third source is a whole register")
    first, second = (
        _source(t, each, kind, may_negate=True)
        for each, kind in zip(o[1:3], m.types[1:], strict=True)
    )
    product = b.mul(first, second)
    third = b.cast(b.cast(_word_of(t, o[3]), i32 if is_signed else u32), i64)
    if negated[0] != negated[1]:
        product = b.neg(product)
    total = b.sub(product, third) if negated[2] else b.add(product, third)
    if m.has("po"):
        total = b.add(total, b.const(1, i64))
    kind = i64 if is_signed else u64
    total = b.cast(total, kind)
    if scale := m.one_of("shr7", "shr15"):
        total = b.binary(arith.Shr, total, b.const(int(scale[3:]), u32))
    if m.has("sat"):
        limits = (-(1 << 31), (1 << 31) - 1) if is_signed else (0, (1 << 32) - 1)
        total = b.binary(arith.Max, total, b.const(limits[0], kind))
        total = b.binary(arith.Min, total, b.const(limits[1], kind))
    t.write(o[0], b.cast(_low(t, total), m.types[0]))


# --- lanes of a word


def _lanes(t: Values, operand: Operand, count: int, is_signed: bool) -> list[Value]:
    """The lanes of a word, the lowest first, as wide numbers."""
    b, width = t.b, 32 // count
    word, new_values = _word_of(t, operand), list[Value]()
    for place in range(count):
        up = b.binary(arith.Shl, word, b.const(32 - width * (place + 1), u32))
        kind = i32 if is_signed else u32
        lane = b.binary(arith.Shr, b.cast(up, kind), b.const(32 - width, u32))
        new_values.append(b.cast(lane, i64))
    return new_values


def _chosen_lanes(t: Values, o: Operands, which: int, count: int, is_signed: bool) -> list[Value]:
    """The lanes of a source, which a selector takes from both."""
    chosen = _digits(t, o[which], count, "")
    if not chosen:
        return _lanes(t, o[which], count, is_signed)
    if len(chosen) != count or max(chosen) >= 2 * count:
        t.fail(f"a selector names {count} of the lanes 0 to {2 * count - 1}")
    both = _lanes(t, o[1], count, is_signed) + _lanes(t, o[2], count, is_signed)
    return [both[number] for number in reversed(chosen)]


def _digits(t: Values, operand: Operand, count: int, usual: str) -> list[int]:
    """The lanes that an operand names, the highest first."""
    chosen = operand.chosen if isinstance(operand, Part) else usual
    if isinstance(operand, Part) and (operand.negated or chosen[:1] != {2: "h", 4: "b"}[count]):
        t.fail(f"lanes are named by .{ {2: 'h', 4: 'b'}[count] } and their numbers")
    return [int(digit) for digit in chosen[1:]]


def _joined(t: Values, m: Match, o: Operands, lanes: list[Value]) -> None:
    """Write the lanes that the mask names, and the third source's others; or with .add their sum
    and the third source."""
    count = len(lanes)
    usual = "h10" if count == 2 else "b3210"
    named = _digits(t, o[0], count, usual)
    if named != sorted(set(named), reverse=True) or named[0] >= count:
        t.fail("a mask names lanes from the highest to the lowest, each once")
    target = Reg(o[0].register) if isinstance(o[0], Part) else o[0]
    if any(isinstance(each, Part) for each in o[3:]):
        t.fail("the third source is a whole word")
    if not m.has("add"):
        if len(named) < count:
            others = _lanes(t, o[3], count, is_signed=False)
            lanes = [lanes[n] if n in named else others[n] for n in range(count)]
        t.write(target, _word(t, lanes))
        return
    total = t.read(o[3], u32)
    for place in named:
        total = t.b.add(total, _low(t, lanes[place]))
    t.write(target, total)


def _word(t: Values, lanes: list[Value]) -> Value:
    """Lanes in a word, the first one lowest."""
    b, width = t.b, 32 // len(lanes)
    word = b.const(0, u32)
    for place, lane in enumerate(lanes):
        low = b.and_(_low(t, lane), b.const((1 << width) - 1, u32))
        word = b.or_(word, b.binary(arith.Shl, low, b.const(place * width, u32)))
    return word


def _simd(t: Values, m: Match, o: Operands) -> None:
    root, count = m.form.root[:-1], int(m.form.root[-1])
    kinds = m.types
    sources = [_chosen_lanes(t, o, n, count, kinds[n].is_signed) for n in (1, 2)]
    results = [_OPS[root](t, *pair) for pair in zip(*sources, strict=True)]
    if m.has("sat"):
        results = [_limited(t, each, 32 // count, kinds[0].is_signed) for each in results]
    _joined(t, m, o, results)


def _simd_set(t: Values, m: Match, o: Operands) -> None:
    count, kinds = int(m.form.root[-1]), m.types
    sources = [_chosen_lanes(t, o, n, count, kinds[n - 1].is_signed) for n in (1, 2)]
    name = m.one_of("eq", "ne", "lt", "le", "gt", "ge")
    one, zero = t.b.const(1, i64), t.b.const(0, i64)
    results = [
        t.b.select(compared(t, name, *pair), one, zero) for pair in zip(*sources, strict=True)
    ]
    _joined(t, m, o, results)


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
    results = [b.binary(op, *pair) for pair in zip(*sources, strict=True)]
    if m.has("relu"):
        results = [b.binary(arith.Max, each, b.const(0, i64)) for each in results]
    t.write(o[0], _word(t, results))
