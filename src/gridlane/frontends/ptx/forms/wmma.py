"""wmma: matrices whose places in registers a device chooses. Here they are those of mma.

A product is made of tiles of 16 rows and 8 columns; one of 8 rows and 32 columns is that of the
transposes. PTX ISA 9.0, "Matrix multiply-accumulate operation using wmma instructions".
"""

from __future__ import annotations

from dataclasses import dataclass

from gridlane.core.dtypes import DType, bf16, f16, f32, f64, i32, u8, u16, u32
from gridlane.frontends.ptx.forms.table import Match, form
from gridlane.frontends.ptx.operands import Operand
from gridlane.frontends.ptx.types import SPACES
from gridlane.frontends.ptx.values import Values
from gridlane.ir.ops import arith
from gridlane.ir.ops.grid import LaneId
from gridlane.ir.ops.products import Factor, Mma
from gridlane.ir.types import Space
from gridlane.ir.values import Value

Operands = tuple[Operand, ...]

_SHAPES = {
    "m16n16k16": (16, 16, 16),
    "m32n8k16": (32, 8, 16),
    "m8n32k16": (8, 32, 16),
    "m16n16k8": (16, 16, 8),
    "m8n8k4": (8, 8, 4),
    "m8n8k32": (8, 8, 32),
    "m8n8k128": (8, 8, 128),
}
_HALF = "m16n16k16|m32n8k16|m8n32k16"
_STATE = "[.global|shared|shared::cta]"
_KINDS: dict[str, DType] = {
    **{"f16": f16, "bf16": bf16, "tf32": f32, "f64": f64, "s8": u8, "u8": u8},
    **{"f32": f32, "s32": i32},
}
"""Elements in memory."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A product of ``rows`` and ``columns`` tiles; of the transposes if ``turned``.

    Attributes:
        high: the rows of a tile.
    """

    high: int
    rows: int
    columns: int
    depth: int
    turned: bool

    @staticmethod
    def of(m: Match) -> Shape:
        """The shape that a form names."""
        rows, columns, depth = _SHAPES[m.one_of(*_SHAPES)]
        turned = columns == 32
        rows, columns = (columns, rows) if turned else (rows, columns)
        high = min(16, rows)
        return Shape(high, rows // high, columns // 8, depth, turned)


class _Places:
    """The elements of the own lane."""

    def __init__(self, t: Values, shape: Shape) -> None:
        self.t, self.shape = t, shape
        lane = t.b.cast(t.emit(LaneId()), u32)
        self.group = t.b.binary(arith.Shr, lane, t.b.const(2, u32))
        self.thread = t.b.and_(lane, t.b.const(3, u32))

    def _sum(self, value: Value, times: int, more: int) -> Value:
        b = self.t.b
        return b.add(b.mul(value, b.const(times, u32)), b.const(more, u32))

    def left(self, tile: int, word: int, part: int, in_word: int) -> tuple[Value, Value]:
        """The row and the column of an element of the left factor."""
        tall = self.shape.high // 8
        row = self._sum(self.group, 1, 8 * (word % tall) + 16 * tile)
        return row, self._sum(self.thread, in_word, word // tall * 4 * in_word + part)

    def right(self, tile: int, word: int, part: int, in_word: int) -> tuple[Value, Value]:
        """The same of the right factor."""
        row = self._sum(self.thread, in_word, word * 4 * in_word + part)
        return row, self._sum(self.group, 1, 8 * tile)

    def sums(self, tile: int, number: int) -> tuple[Value, Value]:
        """The same of the sums, of which a tile row has all its columns together."""
        down, across = divmod(tile, self.shape.columns)
        row = self._sum(self.group, 1, 8 * (number // 2) + 16 * down)
        return row, self._sum(self.thread, 2, number % 2 + 8 * across)


class _Memory:
    """The matrix at an address."""

    def __init__(self, t: Values, m: Match, address: Operand, stride: Operand | None) -> None:
        self.t, self.shape = t, Shape.of(m)
        self.by_rows = m.has("row")
        self.kind = _KINDS[m.modifiers[-1]]
        space = SPACES.get(m.one_of("global", "shared", "shared::cta"), Space.GENERIC)
        read = t.target if m.modifiers[0] == "store" else t.pointer
        self.start = read(address, self.kind, space)
        if stride is None:
            rows, columns, depth = _SHAPES[m.one_of(*_SHAPES)]
            sizes = {"a": (rows, depth), "b": (depth, columns)}.get(m.modifiers[1], (rows, columns))
            self.stride = t.b.const(sizes[self.by_rows], u32)
        else:
            self.stride = t.read(stride, u32)

    def at(self, place: tuple[Value, Value]) -> Value:
        """The address of an element."""
        row, column = reversed(place) if self.shape.turned else place
        line, rest = (row, column) if self.by_rows else (column, row)
        b = self.t.b
        return b.offset(self.start, b.cast(b.add(b.mul(line, self.stride), rest), i32))


def _words(shape: Shape, is_left: bool, in_word: int) -> tuple[int, int]:
    """The tiles of a factor, and the words of each."""
    per_word = 32 * in_word
    if is_left:
        return shape.rows, shape.high * shape.depth // per_word
    return shape.columns, 8 * shape.depth // per_word


_LOADS = "d, a, stride?"


@form(f"wmma .load .a|b .sync .aligned .row|col .{_HALF} {_STATE} .f16|bf16|s8|u8", _LOADS)
@form(f"wmma .load .a|b .sync .aligned .row|col .m16n16k8 {_STATE} .tf32", _LOADS)
@form(f"wmma .load .a|b .sync .aligned .row|col .m8n8k4 {_STATE} .f64", _LOADS)
def load_factor(t: Values, m: Match, o: Operands) -> None:
    """A factor; f16 has more registers than it needs."""
    memory, factor = _Memory(t, m, o[1], o[2] if len(o) == 3 else None), Factor(m.modifiers[-1])
    shape, places = memory.shape, _Places(t, memory.shape)
    is_left = m.has("a") != shape.turned
    tiles, words = _words(shape, is_left, factor.in_word)
    made: list[Value] = []
    for tile in range(tiles):
        for word in range(words):
            place = places.left if is_left else places.right
            parts = [
                t.b.load(memory.at(place(tile, word, part, factor.in_word)))
                for part in range(factor.in_word)
            ]
            made.append(_packed(t, parts))
    count = 8 if factor is Factor.F16 else len(made)
    zero = t.b.const(0, u32)
    for target, value in zip(t.parts(o[0], count), [*made, *[zero] * count]):
        t.write(target, value)


def _packed(t: Values, parts: list[Value]) -> Value:
    """Elements in a word, the first one lowest."""
    b = t.b
    if len(parts) == 1:
        return parts[0] if parts[0].type is f64 else b.bitcast(parts[0], u32)
    width, total = 32 // len(parts), b.const(0, u32)
    for place, part in enumerate(parts):
        bits = part if part.type is u8 else b.bitcast(part, u16)
        shifted = b.binary(arith.Shl, b.cast(bits, u32), b.const(place * width, u32))
        total = b.or_(total, shifted)
    return total


_SUMS = f".row|col .{_HALF} {_STATE} .f16|f32|s32"


@form(f"wmma .load .c .sync .aligned {_SUMS}", _LOADS)
@form(f"wmma .load .c .sync .aligned .row|col .m16n16k8 {_STATE} .f32", _LOADS)
@form(f"wmma .load .c .sync .aligned .row|col .m8n8k32|m8n8k128 {_STATE} .s32", _LOADS)
@form(f"wmma .load .c .sync .aligned .row|col .m8n8k4 {_STATE} .f64", _LOADS)
def load_sums(t: Values, m: Match, o: Operands) -> None:
    """Sums: what a product is added to."""
    memory = _Memory(t, m, o[1], o[2] if len(o) == 3 else None)
    values = [t.b.load(memory.at(place)) for place in _places_of_sums(t, memory.shape)]
    if memory.kind is f16:
        values = [_packed(t, values[n : n + 2]) for n in range(0, len(values), 2)]
    for target, value in zip(t.parts(o[0], len(values)), values, strict=True):
        t.write(target, value)


def _places_of_sums(t: Values, shape: Shape) -> list[tuple[Value, Value]]:
    places = _Places(t, shape)
    each = range(shape.high // 4)
    return [places.sums(tile, n) for tile in range(shape.rows * shape.columns) for n in each]


@form(f"wmma .store .d .sync .aligned {_SUMS}", "a, b, stride?")
@form(f"wmma .store .d .sync .aligned .row|col .m16n16k8 {_STATE} .f32", "a, b, stride?")
@form(f"wmma .store .d .sync .aligned .row|col .m8n8k32|m8n8k128 {_STATE} .s32", "a, b, stride?")
@form(f"wmma .store .d .sync .aligned .row|col .m8n8k4 {_STATE} .f64", "a, b, stride?")
def store_sums(t: Values, m: Match, o: Operands) -> None:
    """Write sums."""
    memory = _Memory(t, m, o[0], o[2] if len(o) == 3 else None)
    places = _places_of_sums(t, memory.shape)
    halves = memory.kind is f16
    given = t.parts(o[1], len(places) // (2 if halves else 1))
    if not halves:
        values = [t.read(part, memory.kind) for part in given]
    else:
        values = [half for part in given for half in _halves(t, t.read(part, u32))]
    for place, value in zip(places, values, strict=True):
        t.b.store(memory.at(place), value)


def _halves(t: Values, word: Value) -> tuple[Value, Value]:
    b = t.b
    upper = b.binary(arith.Shr, word, b.const(16, u32))
    low, high = (b.bitcast(b.cast(each, u16), f16) for each in (word, upper))
    return low, high


_MMA = "wmma .mma .sync .aligned .row|col .row|col"


@form(f"{_MMA} .{_HALF} .f16 .f16 [.satfinite]", "d, a, b, c")
@form(f"{_MMA} .{_HALF} .f32 .f32 [.satfinite]", "d, a, b, c")
@form(f"{_MMA} .{_HALF} .f32 .bf16 .bf16 .f32", "d, a, b, c")
@form(f"{_MMA} .m16n16k8 .f32 .tf32 .tf32 .f32", "d, a, b, c")
@form(f"{_MMA} .m8n8k4 [.rn] .f64 .f64 .f64 .f64", "d, a, b, c")
@form(f"{_MMA} .{_HALF} .s32 .s8 .s8 .s32 [.satfinite]", "d, a, b, c")
@form(f"{_MMA} .{_HALF} .s32 .u8 .u8 .s32 [.satfinite]", "d, a, b, c")
def mma(t: Values, m: Match, o: Operands) -> None:
    """A product and a sum, tile by tile."""
    shape = Shape.of(m)
    factor = Factor(m.one_of("bf16", "tf32", "f64", "s8", "u8") or "f16")
    limited = m.has("satfinite")
    if limited and not factor.is_integer:
        t.fail("sums of floats that are limited are not translated")
    sums = u32 if factor is Factor.F16 and not m.has("f32") else _KINDS[_sum_of(m)]
    word = f64 if factor is Factor.F64 else u32
    operands = (o[2], o[1]) if shape.turned else (o[1], o[2])
    left, right = (
        _tiles(t, operand, _words(shape, is_left, factor.in_word), factor, word)
        for operand, is_left in zip(operands, (True, False), strict=True)
    )
    each = shape.high // 4 // (2 if sums is u32 else 1)
    given = [t.read(p, sums) for p in t.parts(o[3], shape.rows * shape.columns * each)]
    made: list[Value] = []
    for row in range(shape.rows):
        for column in range(shape.columns):
            at = (row * shape.columns + column) * each
            c = tuple(given[at : at + each])
            size = shape.high, shape.depth
            op = Mma(*size, factor, factor, limited, left[row], right[column], c)
            made += t.b.emit(op).results
    for target, value in zip(t.parts(o[0], len(made)), made, strict=True):
        t.write(target, value)


def _sum_of(m: Match) -> str:
    return next(each for each in m.modifiers if each in ("f32", "s32", "f64"))


def _tiles(
    t: Values, operand: Operand, size: tuple[int, int], factor: Factor, word: DType
) -> list[tuple[Value, ...]]:
    """The words of each tile of a factor."""
    tiles, words = size
    count = 8 if factor is Factor.F16 else tiles * words
    values = [t.read(part, word) for part in t.parts(operand, count)]
    return [tuple(values[n * words : (n + 1) * words]) for n in range(tiles)]
