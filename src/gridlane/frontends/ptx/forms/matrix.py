"""Products of matrices, and matrices between memory and registers.

PTX ISA 9.0, "Warp Level Matrix Multiply-Accumulate Instructions". A matrix of ldmatrix has 8 rows
of 8 halves; lane ``4 r + w`` holds word ``w`` of row ``r``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby

from gridlane.core.dtypes import f32, f64, i32, u32
from gridlane.frontends.ptx.forms.table import Match, form
from gridlane.frontends.ptx.operands import Operand
from gridlane.frontends.ptx.types import SPACES
from gridlane.frontends.ptx.values import Values
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, memory, warp
from gridlane.ir.ops.grid import LaneId
from gridlane.ir.ops.matrix_instructions import INSTRUCTIONS
from gridlane.ir.ops.products import COLUMNS, Factor, Mma
from gridlane.ir.types import Space, vector
from gridlane.ir.values import Value

Operands = tuple[Operand, ...]

_MMA = "mma .sync .aligned"


def mma(t: Values, m: Match, o: Operands) -> None:
    """A product and a sum."""
    rows, _, depth = (int(part) for part in m.modifiers[2][1:].replace("n", "k").split("k"))
    left, right = Factor(m.modifiers[-3]), Factor(m.modifiers[-2])
    word = f64 if left is Factor.F64 else u32
    sums = {"f64": f64, "f32": f32, "s32": i32, "f16": u32}[m.modifiers[-1]]
    per_word = 32 * left.in_word
    counts = rows * depth // per_word, COLUMNS * depth // per_word, rows // 4
    counts = *counts[:2], counts[2] // 2 if sums is u32 else counts[2]
    a, b, c = (
        tuple(t.read(part, dtype) for part in t.parts(operand, count))
        for operand, count, dtype in zip(o[1:], counts, (word, word, sums), strict=True)
    )
    sums_of_products = t.b.emit(Mma(rows, depth, left, right, m.has("satfinite"), a, b, c)).results
    for target, value in zip(t.parts(o[0], counts[2]), sums_of_products, strict=True):
        t.write(target, value)


def _forms() -> Iterator[str]:
    """The forms of the instructions, by their elements."""
    for (factors, sums), rows in groupby(INSTRUCTIONS, lambda each: (each.factors, each.sums)):
        shapes, kinds = "|".join(each.shape for each in rows), "|".join(f.value for f in factors)
        how = {"f64": "[.rn] ", "s32": "[.satfinite] "}.get(sums, "")
        yield f"{_MMA} .{shapes} .row .col {how}.{sums} .{kinds} .{kinds} .{sums}"


for _text in _forms():
    form(_text, "d, a, b, c")(mma)


# --- matrices of 8 rows of 16 bytes


class Lanes:
    """The lanes of a warp, and words of others."""

    def __init__(self, t: Values) -> None:
        self.t = t
        self.own = t.b.cast(t.emit(LaneId()), u32)

    def row(self, count: int) -> Value:
        """The own lane divided by a power of two."""
        return self.t.b.binary(arith.Shr, self.own, self.const(count.bit_length() - 1))

    def rest(self, count: int) -> Value:
        """The own lane modulo a power of two."""
        return self.t.b.and_(self.own, self.const(count - 1))

    def const(self, value: int) -> Value:
        """A number."""
        return self.t.b.const(value, u32)

    def sum(self, *parts: tuple[Value, int] | int) -> Value:
        """A sum of numbers, and of values times a number."""
        b, total = self.t.b, self.const(sum(part for part in parts if isinstance(part, int)))
        for part in parts:
            if not isinstance(part, int):
                total = b.add(total, b.mul(part[0], self.const(part[1])))
        return total

    def word_of(self, value: Value, lane: Value) -> Value:
        """The value of another lane."""
        b = self.t.b
        whole, every = b.const(32, i32), b.const(0xFFFFFFFF, u32)
        index = b.cast(lane, i32)
        return b.emit(warp.Shuffle(warp.ShuffleMode.IDX, every, value, index, whole)).results[0]

    def chosen(self, values: list[Value], number: Value) -> Value:
        """One of some values, by its number."""
        b, result = self.t.b, values[0]
        for place, value in enumerate(values[1:], 1):
            result = b.select(b.eq(number, self.const(place)), value, result)
        return result

    def joined(self, low: Value, high: Value, odd: Value) -> Value:
        """A word of the lower or upper halves of two."""
        b, sixteen = self.t.b, self.const(16)
        lows = b.or_(b.and_(low, self.const(0xFFFF)), b.binary(arith.Shl, high, sixteen))
        highs = b.or_(b.binary(arith.Shr, low, sixteen), b.and_(high, self.const(0xFFFF0000)))
        return b.select(b.eq(odd, self.const(0)), lows, highs)


@form(
    f"{_MMA} .m8n8k128|m16n8k128|m16n8k256 .row .col .s32 .b1 .b1 .s32 .xor|and .popc",
    "d, a, b, c",
)
def mma_bits(t: Values, m: Match, o: Operands) -> None:
    """A product of matrices of bits: how many bits of a row and a column differ, or are both 1."""
    shape = m.modifiers[2]
    high, deep = 2 if shape.startswith("m16") else 1, 2 if shape.endswith("256") else 1
    first, second, sums = (
        [t.read(part, kind) for part in t.parts(operand, count)]
        for operand, kind, count in zip(
            o[1:], (u32, u32, i32), (high * deep, deep, 2 * high), strict=True
        )
    )
    new_sums = bit_sums(t, first, second, sums, arith.Xor if m.has("xor") else arith.And)
    for target, value in zip(t.parts(o[0], len(new_sums)), new_sums, strict=True):
        t.write(target, value)


def bit_sums(
    t: Values, first: list[Value], second: list[Value], sums: list[Value], join: type[Op]
) -> list[Value]:
    """The sums and the counts of bits. Lane ``4 g + w`` has word ``w`` of row ``g`` of A, and of
    column ``g`` of B; further words are of row ``g + 8``, and of the next 128 bits."""
    b, lanes, new_values = t.b, Lanes(t), list(sums)
    high = len(first) // len(second)
    row, column = lanes.row(4), lanes.rest(4)
    for word in range(4):
        above = lanes.sum((row, 4), word)
        rows = [lanes.word_of(each, above) for each in first]
        for side in range(2):
            beside = lanes.sum((column, 8), 4 * side + word)
            columns = [lanes.word_of(each, beside) for each in second]
            for number, each in enumerate(rows):
                index = number % high * 2 + side
                bits = b.binary(join, each, columns[number // high])
                new_values[index] = b.add(
                    new_values[index], b.cast(b.unary(arith.Popcount, bits), i32)
                )
    return new_values


_MATRICES = ".m8n8 .x1|x2|x4 [.trans] [.shared|shared::cta] .b16"


def _space(m: Match) -> Space:
    return SPACES.get(m.one_of("shared", "shared::cta"), Space.GENERIC)


@form(f"ldmatrix .sync .aligned {_MATRICES}", "d, a")
def ldmatrix(t: Values, m: Match, o: Operands) -> None:
    """Read matrices: each of the first lanes has the address of a row."""
    count, lanes, b = int(m.one_of("x1", "x2", "x4")[1]), Lanes(t), t.b
    kind = vector(u32, 4)
    where = t.pointer(o[1], kind, _space(m))
    held = [b.variable(f"row{n}", u32) for n in range(4)]
    for var in held:
        b.write(var, b.zero(u32))

    def load() -> None:
        line = b.load(where)
        for n, var in enumerate(held):
            b.write(var, t.emit(memory.Part(line, n)))

    if count == 4:
        load()
    else:  # the other lanes have no addresses
        with b.if_(b.lt(lanes.own, lanes.const(8 * count))):
            load()
    words = [b.read(var) for var in held]
    targets = t.parts(o[0], count)
    read: Callable[[Lanes, list[Value], int], Value] = _turned if m.has("trans") else _plain
    results = [read(lanes, words, number) for number in range(count)]
    for target, value in zip(targets, results, strict=True):
        t.write(target, value)


def _plain(lanes: Lanes, words: list[Value], number: int) -> Value:
    """The own word of a matrix whose rows lanes hold."""
    source = lanes.sum((lanes.row(4), 1), 8 * number)
    return lanes.chosen([lanes.word_of(word, source) for word in words], lanes.rest(4))


def _turned(lanes: Lanes, words: list[Value], number: int) -> Value:
    """The own word of its transpose: a half of two rows."""
    column = lanes.row(4)
    word = lanes.t.b.binary(arith.Shr, column, lanes.const(1))
    halves: list[Value] = []
    for next_ in (0, 1):
        source = lanes.sum((lanes.rest(4), 2), 8 * number + next_)
        halves.append(lanes.chosen([lanes.word_of(each, source) for each in words], word))
    return lanes.joined(halves[0], halves[1], lanes.t.b.and_(column, lanes.const(1)))


@form(f"stmatrix .sync .aligned {_MATRICES}", "a, b")
def stmatrix(t: Values, m: Match, o: Operands) -> None:
    """Write matrices: each of the first lanes has the address of a row."""
    count, lanes, b = int(m.one_of("x1", "x2", "x4")[1]), Lanes(t), t.b
    given = [t.read(part, u32) for part in t.parts(o[1], count)]
    read: Callable[[Lanes, Value, int], Value] = _turned_word if m.has("trans") else _row_word
    matrix = lanes.row(8)
    line = [
        lanes.chosen([read(lanes, value, word) for value in given], matrix) for word in range(4)
    ]
    kind = vector(u32, 4)
    whole = t.emit(memory.Pack(tuple(line), kind))
    where = t.target(o[0], kind, _space(m))
    if count == 4:
        b.store(where, whole)
        return
    with b.if_(b.lt(lanes.own, lanes.const(8 * count))):
        b.store(where, whole)


def _row_word(lanes: Lanes, value: Value, word: int) -> Value:
    """A word of the row that the own lane writes."""
    return lanes.word_of(value, lanes.sum((lanes.rest(8), 4), word))


def _turned_word(lanes: Lanes, value: Value, word: int) -> Value:
    """The own word of the transpose: halves of two of its rows."""
    row, b = lanes.rest(8), lanes.t.b
    half_row = b.binary(arith.Shr, row, lanes.const(1))
    low, high = (lanes.word_of(value, lanes.sum((half_row, 1), 8 * word + 4 * n)) for n in (0, 1))
    return lanes.joined(low, high, b.and_(row, lanes.const(1)))


@form("movmatrix .sync .aligned .m8n8 .trans .b16", "d, a")
def movmatrix(t: Values, m: Match, o: Operands) -> None:
    """The transpose of a matrix in registers."""
    lanes, b = Lanes(t), t.b
    row, value = lanes.row(4), t.read(o[1], u32)
    half_row = b.binary(arith.Shr, row, lanes.const(1))
    low, high = (
        lanes.word_of(value, lanes.sum((lanes.rest(4), 8), (half_row, 1), 4 * n)) for n in (0, 1)
    )
    t.write(o[0], lanes.joined(low, high, b.and_(row, lanes.const(1))))
