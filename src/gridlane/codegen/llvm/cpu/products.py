"""Products of small matrices that the lanes of a warp hold: a function for each shape and type.

A lane's element of the sums takes a row of A and a column of B, whose elements are in registers of
four lanes each: these are known, so each is one shuffle with a constant mask.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TypeAlias

from gridlane.codegen.llvm import halves
from gridlane.codegen.llvm.cpu.dispatch import emits
from gridlane.codegen.llvm.cpu.lanes import Emission
from gridlane.codegen.llvm.cpu.registers import registers_of, vector_of
from gridlane.codegen.llvm.text import Body, literal, scalar_name, vector_constant
from gridlane.core.dtypes import f16, f32
from gridlane.ir.ops import products
from gridlane.ir.ops.products import Factor
from gridlane.ir.ops.warpgroups import WarpgroupMma
from gridlane.ir.values import Value

_WORDS, _REALS, _WIDE = "<32 x i32>", "<32 x float>", "<32 x double>"
_LONG = "<32 x i64>"
Products: TypeAlias = products.Mma | WarpgroupMma
_VALUE = re.compile(r"%v(\d+)")
"""A value: its name differs from those of the kernel's, so that texts are read together."""


@emits(products.Mma)
def mma(state: Emission, op: products.Mma) -> None:
    """Call the function of the shape, with registers in memory."""
    kinds = op.left.value, op.right.value, str(op.c[0].type)
    name = f"gridlane.mma.{op.rows}.{op.depth}.{'.'.join(kinds)}{'.limited' * op.limited}"
    if name not in state.body.declared:
        state.body.declared[name] = ""
        state.body.declared[name] = _Function(op, name).text(state.body.declared)
    registers = registers_of(state)
    operands = registers.given(state, op, op.a, op.b, op.c)
    destination = registers.made(state, op)
    pointers = ", ".join(f"ptr {place}" for place in (*operands, destination))
    state.body.do(f'call fastcc void @"{name}"({pointers})')
    registers.keep(state, op, destination)


class _Function:
    """The text of a function that reads registers of A, B and the sums, and writes those of new
    sums, which may be in the memory of the others: it reads all of these first."""

    def __init__(self, op: products.Mma, name: str) -> None:
        self.op, self.name = op, name
        self.body = Body()
        integer = op.left.is_integer
        self.wide = (_LONG if op.limited else _WORDS) if integer else _WIDE
        self._narrow = _WORDS if integer else _WIDE if op.left is Factor.F64 else _REALS

    def text(self, declared: dict[str, str]) -> str:
        """The definition; what it calls is declared with the module's."""
        op, body = self.op, self.body
        words = self._load("a", op.a), self._load("b", op.b), self._load("c", op.c)
        left, right = self._elements(words[0], op.left), self._elements(words[1], op.right)
        sums, lanes = widened(body, op, words[2], self.wide), range(32)
        for k in range(op.depth):
            columns = [
                self._moved(right, [(k, lane % 4 * 2 + odd) for lane in lanes], False)
                for odd in (0, 1)
            ]
            for half in range(op.rows // 8):
                row = self._moved(left, [(lane // 4 + 8 * half, k) for lane in lanes], True)
                for odd, column in enumerate(columns):
                    position = 2 * half + odd
                    sums[position] = added(self.body, op, self.wide, row, column, sums[position])
        self._store(sums)
        declared.update(body.declared)
        parameters = "ptr %a, ptr %b, ptr %c, ptr %to"
        # LLVM aligns spilled vectors no more than the stack, so that many cross cache lines.
        marks = "noinline alignstack(64) #0"
        head = f'define internal fastcc void @"{self.name}"({parameters}) {marks} {{'
        lines = [_VALUE.sub(r"%product.\1", line) for line in body.lines]
        return "\n".join((head, *lines, "  ret void", "}"))

    def _load(self, array: str, values: tuple[Value, ...]) -> list[str]:
        vector, result = vector_of(values[0]), list[str]()
        for number in range(len(values)):
            where = self.body.op(f"getelementptr {vector}, ptr %{array}, i32 {number}")
            result.append(self.body.op(f"load {vector}, ptr {where}, align 64"))
        return result

    def _elements(self, words: list[str], factor: Factor) -> dict[tuple[int, int], str]:
        """The elements of each register by part, as narrow numbers."""
        narrow: dict[tuple[int, int], str] = {}
        for number, word in enumerate(words):
            for part in range(factor.in_word):
                narrow[number, part] = element(self.body, word, factor, part)
        return narrow

    def _moved(
        self,
        elements: dict[tuple[int, int], str],
        places: list[tuple[int, int]],
        is_left: bool,
    ) -> str:
        """For each lane the element at its place, as a wide number."""
        factor = self.op.left if is_left else self.op.right
        where = _holders(tuple(elements), is_left, self.op.rows, factor)
        sources = [where[place] for place in places]
        ((number, part),) = {(number, part) for number, part, _ in sources}
        picks = vector_constant([lane for _, _, lane in sources], "i32")
        narrow = self._narrow
        value = elements[number, part]
        moved = self.body.op(f"shufflevector {narrow} {value}, {narrow} poison, {_WORDS} {picks}")
        if narrow == self.wide:
            return moved
        # An unsigned byte is positive as a word.
        word = "sext" if self.op.left.is_integer else "fpext"
        return self.body.op(f"{word} {narrow} {moved} to {self.wide}")

    def _store(self, sums: list[str]) -> None:
        body, op = self.body, self.op
        sums = narrowed(body, op, sums, self.wide)
        vector = vector_of(op.c[0])
        for number, each in enumerate(sums):
            where = body.op(f"getelementptr {vector}, ptr %to, i32 {number}")
            body.do(f"store {vector} {each}, ptr {where}, align 64")


def element(body: Body, word: str, factor: Factor, part: int) -> str:
    """An element of words in all lanes, as a narrow number: f32, or i32 of integers."""
    if factor is Factor.F64:
        return word
    if factor is Factor.TF32:
        kept = body.op(f"and {_WORDS} {word}, splat (i32 -8192)")
        return body.op(f"bitcast {_WORDS} {kept} to {_REALS}")
    if factor is Factor.BF16:
        change = f"and {_WORDS} {word}, splat (i32 -65536)"
        kept = body.op(change if part else f"shl {_WORDS} {word}, splat (i32 16)")
        return body.op(f"bitcast {_WORDS} {kept} to {_REALS}")
    if factor is Factor.F16:
        return _real(body, word, part)
    if factor in (Factor.E4M3, Factor.E5M2):
        return _of_eight(body, word, part, factor)
    up = 32 - factor.bits * (part + 1)
    moved = body.op(f"shl {_WORDS} {word}, splat (i32 {up})")
    shift = "ashr" if factor.is_signed else "lshr"
    return body.op(f"{shift} {_WORDS} {moved}, splat (i32 {32 - factor.bits})")


def added(body: Body, op: Products, wide: str, first: str, second: str, total: str) -> str:
    """A product and a sum, in all lanes."""
    if op.left.is_integer:
        product = body.op(f"mul {wide} {first}, {second}")
        return body.op(f"add {wide} {total}, {product}")
    return body.intrinsic("fma", "double", 32, [first, second, total])


def widened(body: Body, op: Products, words: list[str], wide: str) -> list[str]:
    """Sums as they are added to, from registers."""
    if op.has_halves:
        reals = [_real(body, word, part) for word in words for part in (0, 1)]
        return [body.op(f"fpext {_REALS} {real} to {_WIDE}") for real in reals]
    vector = vector_of(op.c[0])
    if vector == wide:
        return words
    word = "sext" if op.left.is_integer else "fpext"
    return [body.op(f"{word} {vector} {each} to {wide}") for each in words]


def narrowed(body: Body, op: Products, sums: list[str], wide: str) -> list[str]:
    """Registers of sums that are complete."""
    if op.limited:
        for stem, limit in (("smin", (1 << 31) - 1), ("smax", -(1 << 31))):
            sums = [body.intrinsic(stem, "i64", 32, [e, f"splat (i64 {limit})"]) for e in sums]
        sums = [body.op(f"trunc {_LONG} {each} to {_WORDS}") for each in sums]
    elif wide == _WIDE and op.left is not Factor.F64:
        sums = [body.op(f"fptrunc {_WIDE} {each} to {_REALS}") for each in sums]
    if op.has_halves:
        halves = [_half(body, each) for each in sums]
        sums = [
            body.op(f"or {_WORDS} {low}, {body.op(f'shl {_WORDS} {high}, splat (i32 16)')}")
            for low, high in zip(halves[::2], halves[1::2], strict=True)
        ]
    return sums


@cache
def _holders(
    elements: tuple[tuple[int, int], ...], is_left: bool, rows: int, factor: Factor
) -> dict[tuple[int, int], tuple[int, int, int]]:
    """The (register, part, lane) of each place of a matrix."""
    where: dict[tuple[int, int], tuple[int, int, int]] = {}
    for number, part in elements:
        for lane in range(32):
            if is_left:
                position = products.left_place(lane, number, part, rows, factor)
            else:
                position = products.right_place(lane, number, part, factor)
            where[position] = number, part, lane
    return where


def _of_eight(body: Body, word: str, part: int, factor: Factor) -> str:
    """The f32 of a float of 8 bits in words: as f16, of which e5m2 is the upper byte. e4m3 has an
    exponent less by 8, and one NaN in place of infinity."""
    up = body.op(f"shl {_WORDS} {word}, splat (i32 {24 - 8 * part})")
    up = body.op(f"and {_WORDS} {up}, splat (i32 {-(1 << 24)})")
    if factor is Factor.E5M2:
        return _real(body, body.op(f"lshr {_WORDS} {up}, splat (i32 16)"), 0)
    size = body.op(f"lshr {_WORDS} {body.op(f'shl {_WORDS} {up}, splat (i32 1)')}, splat (i32 18)")
    small = _real(body, size, 0)
    scale = literal(256.0, f32)
    scaled = body.op(f"fmul {_REALS} {small}, splat (float {scale})")
    is_nan = body.op(f"icmp eq {_WORDS} {size}, splat (i32 {0x7F << 7})")
    bits = body.op(f"bitcast {_REALS} {scaled} to {_WORDS}")
    bits = body.op(f"select <32 x i1> {is_nan}, {_WORDS} splat (i32 {0x7FC00000}), {_WORDS} {bits}")
    sign = body.op(f"and {_WORDS} {up}, splat (i32 {-(1 << 31)})")
    signed = body.op(f"or {_WORDS} {bits}, {sign}")
    return body.op(f"bitcast {_WORDS} {signed} to {_REALS}")


def _real(body: Body, word: str, part: int) -> str:
    """The f32 of a half of words."""
    if part:
        word = body.op(f"lshr {_WORDS} {word}, splat (i32 16)")
    bits = body.op(f"trunc {_WORDS} {word} to <32 x i16>")
    if scalar_name(f16) == "i16":
        return halves.extended(body, bits, 32)
    half = body.op(f"bitcast <32 x i16> {bits} to <32 x half>")
    return body.op(f"fpext <32 x half> {half} to {_REALS}")


def _half(body: Body, real: str) -> str:
    """The bits of f32 rounded to f16, in words."""
    if scalar_name(f16) == "i16":
        bits = halves.rounded(body, real, 32)
    else:
        half = body.op(f"fptrunc {_REALS} {real} to <32 x half>")
        bits = body.op(f"bitcast <32 x half> {half} to <32 x i16>")
    return body.op(f"zext <32 x i16> {bits} to {_WORDS}")
