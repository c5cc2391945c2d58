"""wmma of numbers of less than a byte, whose factors have a word in each lane: lane ``4 g + w`` has
word ``w`` of row ``g`` of A, and of column ``g`` of B. PTX ISA 9.0, "Sub-byte operations"."""

from __future__ import annotations

from gridlane.core.dtypes import i32, u32
from gridlane.frontends.ptx.forms.matrix import Lanes, bit_sums
from gridlane.frontends.ptx.forms.table import Match, form
from gridlane.frontends.ptx.operands import Operand, Vector
from gridlane.frontends.ptx.types import SPACES
from gridlane.frontends.ptx.values import Values
from gridlane.ir.ops import arith
from gridlane.ir.ops.products import Factor, Mma
from gridlane.ir.types import Space
from gridlane.ir.values import Value

Operands = tuple[Operand, ...]

_LOAD, _STATE = "wmma .load", ".sync .aligned"
_WHERE = "[.global|shared|shared::cta]"


@form(f"{_LOAD} .a {_STATE} .row .m8n8k32 {_WHERE} .s4|u4", "d, a, stride?")
@form(f"{_LOAD} .b {_STATE} .col .m8n8k32 {_WHERE} .s4|u4", "d, a, stride?")
@form(f"{_LOAD} .a {_STATE} .row .m8n8k128 {_WHERE} .b1", "d, a, stride?")
@form(f"{_LOAD} .b {_STATE} .col .m8n8k128 {_WHERE} .b1", "d, a, stride?")
def load_factor(t: Values, m: Match, o: Operands) -> None:
    """A word of the own row or column; the stride counts elements."""
    b, lanes = t.b, Lanes(t)
    in_word = 32 if m.has("b1") else 8
    space = SPACES.get(m.one_of("global", "shared", "shared::cta"), Space.GENERIC)
    start = t.pointer(o[1], u32, space)
    stride = t.read(o[2], u32) if len(o) == 3 else b.const(4 * in_word, u32)
    row_words = b.binary(arith.Shr, stride, b.const(in_word.bit_length() - 1, u32))
    index = b.add(b.mul(lanes.row(4), row_words), lanes.rest(4))
    t.write(_one(t, o[0]), b.load(b.offset(start, b.cast(index, i32))))


def _one(t: Values, operand: Operand) -> Operand:
    """The only register of an operand, which may be in braces."""
    return t.parts(operand, 1)[0] if isinstance(operand, Vector) else operand


def _given(t: Values, o: Operands) -> tuple[Value, Value, list[Value]]:
    """The words of both factors, and the sums."""
    first, second = (t.read(_one(t, each), u32) for each in o[1:3])
    return first, second, [t.read(each, i32) for each in t.parts(o[3], 2)]


def _keep(t: Values, o: Operands, old_sums: list[Value]) -> None:
    for target, value in zip(t.parts(o[0], 2), old_sums, strict=True):
        t.write(target, value)


@form(f"wmma .mma {_STATE} .row .col .m8n8k32 .s32 .s4 .s4 .s32 [.satfinite]", "d, a, b, c")
@form(f"wmma .mma {_STATE} .row .col .m8n8k32 .s32 .u4 .u4 .s32 [.satfinite]", "d, a, b, c")
def mma(t: Values, m: Match, o: Operands) -> None:
    """A product and a sum of numbers of 4 bits."""
    factor, (first, second, sums) = Factor("s4" if m.has("s4") else "u4"), _given(t, o)
    op = Mma(8, 32, factor, factor, m.has("satfinite"), (first,), (second,), tuple(sums))
    t.b.emit(op)
    _keep(t, o, list(op.results))


@form(
    f"wmma .mma .xor|and .popc {_STATE} .row .col .m8n8k128 .s32 .b1 .b1 .s32",
    "d, a, b, c",
)
def mma_bits(t: Values, m: Match, o: Operands) -> None:
    """A product of matrices of bits: how many differ, or are both 1."""
    first, second, sums = _given(t, o)
    _keep(t, o, bit_sums(t, [first], [second], sums, arith.Xor if m.has("xor") else arith.And))
