"""Ops of tensor cores: products of fragments, and elementwise ops on their registers."""

from __future__ import annotations

from collections.abc import Callable

from gridlane.codegen.llvm.gpu.emission import Emission
from gridlane.codegen.llvm.gpu.nvptx.fragments import (
    LEAST,
    NEWER,
    fragment_type,
    joined,
    require_factors,
    taken,
)
from gridlane.codegen.llvm.gpu.nvptx.lane_products import mma_sync
from gridlane.codegen.llvm.gpu.nvptx.overlay import capability_of, emits, require
from gridlane.codegen.llvm.gpu.nvptx.registers import (
    first_register,
    packed,
    register_count,
    register_type,
    tile_registers,
    tile_shape,
)
from gridlane.codegen.llvm.text import Body
from gridlane.core.dtypes import DType, bf16, f16, f32, i32
from gridlane.core.frozen import frozen
from gridlane.ir.ops import matrix
from gridlane.ir.ops.matrix_instructions import FACTORS, largest
from gridlane.ir.types import FragmentType

_SUMS = {f32: "f32", f16: "f16", i32: "s32"}


@frozen
class Step:
    """An instruction of a product of tiles: its shape, and the tiles' registers that it takes."""

    shape: str
    a: tuple[int, ...]
    b: tuple[int, ...]
    c: tuple[int, ...]


def _steps(state: Emission, element: DType, sums: int) -> tuple[Step, ...]:
    """The instructions of one product of tiles, with ``sums`` registers of the accumulator. They
    are shorter before 8.0."""
    every = tuple(range(sums))
    best = largest(FACTORS[element], capability_of(state))
    if best.depth == matrix.DEPTHS[element]:
        return (Step(best.shape, (0, 1, 2, 3), (0, 1), every),)
    if best.rows == 16:
        return tuple(Step(best.shape, (2 * n, 2 * n + 1), (n,), every) for n in (0, 1))
    return tuple(
        Step(best.shape, (2 * n + half,), (n,), (2 * half, 2 * half + 1))
        for n in (0, 1)
        for half in (0, 1)
    )


@emits(matrix.FragmentMma)
def mma(state: Emission, op: matrix.FragmentMma) -> None:
    """Emit mma.sync, tile by tile."""
    a, b, c = (fragment_type(value) for value in (op.a, op.b, op.c))
    require_factors(state, op, a.element)
    kind = _SUMS[c.element]
    kinds = f"{kind}.{FACTORS[a.element].value}.{FACTORS[b.element].value}.{kind}"
    left, right, sums = (taken(state, value) for value in (op.a, op.b, op.c))
    steps = _steps(state, a.element, tile_registers(c))
    (down, deep), across = tile_shape(a), tile_shape(b)[1]
    for k in range(a.cols // deep):
        for row in range(a.rows // down):
            for col in range(b.cols // across):
                first = first_register(a, row, k), first_register(b, k, col)
                first_sum = first_register(c, row, col)
                for step in steps:
                    factors = (
                        [left[first[0] + n] for n in step.a],
                        [right[first[1] + n] for n in step.b],
                    )
                    old = [sums[first_sum + n] for n in step.c]
                    what = f"{step.shape}.row.col.{kinds}"
                    new = mma_sync(state, what, "i32", factors, register_type(c), old)
                    for n, name in zip(step.c, new, strict=True):
                        sums[first_sum + n] = name
    state.set(op.results[0], joined(state, c, sums))


@emits(matrix.FragmentFill)
def fill(state: Emission, op: matrix.FragmentFill) -> None:
    """Fill every register with one value."""
    require(state, LEAST, op, op.name)
    word = _repeated(state.body, state.name(op.value), op.type)
    state.set(op.results[0], joined(state, op.type, [word] * register_count(op.type)))


def _repeated(body: Body, value: str, type_: FragmentType) -> str:
    """A register full of one value."""
    if packed(type_) == 1 or type_.element.size == 4:
        as_word = type_.element is f32 and register_type(type_) == "i32"
        return body.op(f"bitcast float {value} to i32") if as_word else value
    bits = type_.element.bits
    if type_.element is f16:
        value = body.op(f"bitcast half {value} to i16")
    word = body.op(f"zext i{bits} {value} to i32")
    ones = sum(1 << (bits * n) for n in range(packed(type_)))
    return body.op(f"mul i32 {word}, {ones}")


@emits(matrix.FragmentScale)
def scale(state: Emission, op: matrix.FragmentScale) -> None:
    """Multiply each register."""
    body, type_ = state.body, fragment_type(op.fragment)
    factor, name = state.name(op.factor), register_type(type_)
    parts = taken(state, op.fragment)
    if type_.element is f16:
        by = body.op(f"insertelement <2 x half> poison, half {factor}, i32 0")
        by = body.op(f"insertelement <2 x half> {by}, half {factor}, i32 1")
        halves = [body.op(f"bitcast i32 {part} to <2 x half>") for part in parts]
        scaled = [body.op(f"fmul <2 x half> {half}, {by}") for half in halves]
        results = [body.op(f"bitcast <2 x half> {part} to i32") for part in scaled]
    else:
        word = "fmul" if name == "float" else "mul"
        results = [body.op(f"{word} {name} {part}, {factor}") for part in parts]
    state.set(op.results[0], joined(state, type_, results))


# ---- conversions


def _to_f16(body: Body, first: str, second: str) -> list[str]:
    pair = body.op(f"insertelement <2 x float> poison, float {first}, i32 0")
    pair = body.op(f"insertelement <2 x float> {pair}, float {second}, i32 1")
    halves = body.op(f"fptrunc <2 x float> {pair} to <2 x half>")
    return [body.op(f"bitcast <2 x half> {halves} to i32")]


def _to_bf16(body: Body, first: str, second: str) -> list[str]:
    arguments = [("float", second), ("float", first)]  # the first operand is the upper half
    pair = body.call("<2 x bfloat>", "llvm.nvvm.ff2bf16x2.rn", arguments)
    return [body.op(f"bitcast <2 x bfloat> {pair} to i32")]


def _from_f16(body: Body, word: str) -> list[str]:
    halves = body.op(f"bitcast i32 {word} to <2 x half>")
    wide = body.op(f"fpext <2 x half> {halves} to <2 x float>")
    return [body.op(f"extractelement <2 x float> {wide}, i32 {n}") for n in (0, 1)]


def _from_bf16(body: Body, word: str) -> list[str]:
    halves = body.op(f"shl i32 {word}, 16"), body.op(f"and i32 {word}, -65536")
    return [body.op(f"bitcast i32 {half} to float") for half in halves]


def _from_i32(body: Body, word: str) -> list[str]:
    return [body.op(f"sitofp i32 {word} to float")]


_CONVERSIONS: dict[tuple[DType, DType], tuple[int, Callable[..., list[str]]]] = {
    (f32, f16): (2, _to_f16),
    (f32, bf16): (2, _to_bf16),
    (f16, f32): (1, _from_f16),
    (bf16, f32): (1, _from_bf16),
    (i32, f32): (1, _from_i32),
}
"""How many registers are converted at once, and by which function."""


@emits(matrix.FragmentConvert)
def convert(state: Emission, op: matrix.FragmentConvert) -> None:
    """Convert two neighbours of a row: two registers of 32-bit elements, one of 16-bit elements."""
    old, new = fragment_type(op.fragment), op.type
    require(state, NEWER if new.element is bf16 else LEAST, op, f"{op.name} to {new.element}")
    count, function = _CONVERSIONS[old.element, new.element]
    parts = taken(state, op.fragment)
    converted: list[str] = []
    for start in range(0, len(parts), count):
        converted += function(state.body, *parts[start : start + count])
    state.set(op.results[0], joined(state, new, converted))
