"""wmma: matrices whose places in registers a device chooses. Here they are those of mma.

A product is made of tiles of 16 rows and 8 columns; one of 8 rows and 32 columns is that of the
transposes. PTX ISA 9.0, "Matrix multiply-accumulate operation using wmma instructions".
"""

from __future__ import annotations

from collections.abc import Sequence

from gridlane.core.dtypes import DType, bf16, f16, f32, f64, i32, u8, u32
from gridlane.core.frozen import frozen
from gridlane.frontends.ptx.forms.table import Match, form
from gridlane.frontends.ptx.operands import Operand
from gridlane.frontends.ptx.types import SPACES
from gridlane.frontends.ptx.values import Values
from gridlane.ir.ops.mma_memory import MmaLoad, MmaStore, register_type
from gridlane.ir.ops.products import Factor, Mma
from gridlane.ir.types import FragmentType, Role, Space
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


@frozen
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


class _Memory:
    """The matrix at an address."""

    def __init__(self, t: Values, m: Match, address: Operand, stride: Operand | None) -> None:
        self.shape = Shape.of(m)
        by_rows = m.has("row")
        element, fragment = _KINDS[m.modifiers[-1]], m.modifiers[1]
        space = SPACES.get(m.one_of("global", "shared", "shared::cta"), Space.GENERIC)
        read = t.target if m.modifiers[0] == "store" else t.pointer
        self.start = read(address, element, space)
        rows, columns, depth = _SHAPES[m.one_of(*_SHAPES)]
        high, wide = {"a": (rows, depth), "b": (depth, columns)}.get(fragment, (rows, columns))
        line = wide if by_rows else high
        self.stride = t.b.const(line, u32) if stride is None else t.read(stride, u32)
        role = {"a": Role.A, "b": Role.B}.get(fragment, Role.ACC)
        if self.shape.turned:
            high, wide = wide, high
            role = {Role.A: Role.B, Role.B: Role.A}.get(role, role)
        self.matrix = FragmentType(role, high, wide, element)
        self.by_columns = by_rows == self.shape.turned

    def load(self, t: Values) -> Sequence[Value]:
        """Its registers."""
        return t.b.emit(MmaLoad(self.start, self.stride, self.matrix, self.by_columns)).results


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
    registers = _Memory(t, m, o[1], o[2] if len(o) == 3 else None).load(t)
    count = 8 if m.modifiers[-1] == "f16" else len(registers)
    zero = t.b.const(0, u32)
    for target, value in zip(t.parts(o[0], count), [*registers, *[zero] * count]):
        t.write(target, value)


_SUMS = f".row|col .{_HALF} {_STATE} .f16|f32|s32"


@form(f"wmma .load .c .sync .aligned {_SUMS}", _LOADS)
@form(f"wmma .load .c .sync .aligned .row|col .m16n16k8 {_STATE} .f32", _LOADS)
@form(f"wmma .load .c .sync .aligned .row|col .m8n8k32|m8n8k128 {_STATE} .s32", _LOADS)
@form(f"wmma .load .c .sync .aligned .row|col .m8n8k4 {_STATE} .f64", _LOADS)
def load_sums(t: Values, m: Match, o: Operands) -> None:
    """Sums: what a product is added to."""
    values = _Memory(t, m, o[1], o[2] if len(o) == 3 else None).load(t)
    for target, value in zip(t.parts(o[0], len(values)), values, strict=True):
        t.write(target, value)


@form(f"wmma .store .d .sync .aligned {_SUMS}", "a, b, stride?")
@form(f"wmma .store .d .sync .aligned .row|col .m16n16k8 {_STATE} .f32", "a, b, stride?")
@form(f"wmma .store .d .sync .aligned .row|col .m8n8k32|m8n8k128 {_STATE} .s32", "a, b, stride?")
@form(f"wmma .store .d .sync .aligned .row|col .m8n8k4 {_STATE} .f64", "a, b, stride?")
def store_sums(t: Values, m: Match, o: Operands) -> None:
    """Write sums."""
    memory = _Memory(t, m, o[0], o[2] if len(o) == 3 else None)
    matrix = memory.matrix
    given = t.parts(o[1], matrix.size // (32 * register_type(matrix).size))
    values = tuple(t.read(part, register_type(matrix)) for part in given)
    t.b.emit(MmaStore(memory.start, memory.stride, values, matrix, memory.by_columns))


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
    new_sums: list[Value] = []
    for row in range(shape.rows):
        for column in range(shape.columns):
            start = (row * shape.columns + column) * each
            c = tuple(given[start : start + each])
            size = shape.high, shape.depth
            op = Mma(*size, factor, factor, limited, left[row], right[column], c)
            new_sums += t.b.emit(op).results
    for target, value in zip(t.parts(o[0], len(new_sums)), new_sums, strict=True):
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
