"""Floats by their bits, and bf16 through f32."""

from __future__ import annotations

from gridlane.codegen.clike.emission import Emission
from gridlane.codegen.clike.rounding import hidden_bits
from gridlane.core.dtypes import DType, b1, bf16, f32, u16, u32
from gridlane.ir.op import Op
from gridlane.ir.ops.math import Trunc

INFINITY = {"f16": 0x7C00, "bf16": 0x7F80, "f32": 0x7F800000}
"""The bits of infinity: a larger magnitude is NaN."""


def bits_of(state: Emission, dtype: DType, text: str) -> str:
    """The bits of a scalar as an unsigned integer, which is how bf16 is held."""
    return text if dtype is bf16 else state.dialect.bits(dtype, dtype.unsigned, text)


def from_bits(state: Emission, dtype: DType, text: str) -> str:
    """The scalar with the given bits."""
    return text if dtype is bf16 else state.dialect.bits(dtype.unsigned, dtype, text)


def with_bits(state: Emission, dtype: DType, text: str, symbol: str, mask: int) -> str:
    """A float with its bits changed by a mask."""
    whole = dtype.unsigned
    changed = f"({bits_of(state, dtype, text)} {symbol} {state.literal(mask, whole)})"
    if whole is not u32:  # C's smaller integers widen
        changed = state.dialect.convert(whole, changed)
    return from_bits(state, dtype, changed)


def is_nan(state: Emission, dtype: DType, text: str) -> str:
    """Whether a float is NaN, by its bits: compilers may fold a comparison with itself to true."""
    whole = dtype.unsigned
    bare = f"({bits_of(state, dtype, text)} & {state.literal((1 << (dtype.bits - 1)) - 1, whole)})"
    return state.let(b1, f"{bare} > {state.literal(INFINITY[dtype.name], whole)}")


def is_negative(state: Emission, dtype: DType, text: str) -> str:
    """Whether the sign bit is set."""
    whole = dtype.unsigned
    sign = state.literal(1 << (dtype.bits - 1), whole)
    return state.let(b1, f"({bits_of(state, dtype, text)} & {sign}) != {state.literal(0, whole)}")


def extreme(state: Emission, dtype: DType, a: str, b: str, symbol: str) -> str:
    """The minimum (<) or maximum (>): a number wins over NaN, zeros are ordered by their signs."""
    negative = is_negative(state, dtype, a)
    first = negative if symbol == "<" else f"!{negative}"
    wins = state.let(b1, f"{a} {symbol} {b} || ({a} == {b} && {first})")
    a_nan, b_nan = is_nan(state, dtype, a), is_nan(state, dtype, b)
    return state.dialect.choose(f"(({wins} || {b_nan}) && !{a_nan})", a, b)


def copy_sign(state: Emission, op: Op, dtype: DType, operands: list[str]) -> str:
    """The magnitude of one float with the sign of another."""
    sign, whole = 1 << (dtype.bits - 1), dtype.unsigned
    a, b = (bits_of(state, dtype, text) for text in operands)
    joined = f"({a} & {state.literal(sign - 1, whole)}) | ({b} & {state.literal(sign, whole)})"
    if whole is u32:
        joined = hidden_bits(state, joined)
    return from_bits(state, dtype, state.dialect.convert(whole, joined))


def round_away(state: Emission, op: Op, dtype: DType, operands: list[str]) -> str:
    """Round to the nearest integer, ties away from zero. value - whole is exact."""
    value = operands[0]
    whole = state.let(dtype, f"{state.dialect.functions[Trunc]}({value})")
    rest = state.let(dtype, f"{value} - {whole}")
    size = with_bits(state, dtype, rest, "&", (1 << (dtype.bits - 1)) - 1)
    one = state.let(dtype, copy_sign(state, op, dtype, [state.literal(1.0, dtype), value]))
    far = state.let(b1, f"{size} >= {state.literal(0.5, dtype)}")
    away = state.let(dtype, f"{whole} + {one}")
    rounded = state.let(dtype, state.dialect.choose(far, away, whole))
    # -0.0 + 0.0 would be +0.0, so the sign is copied from the value.
    return copy_sign(state, op, dtype, [rounded, value])


# ---- bf16: held as u16


def widen_bf16(state: Emission, text: str) -> str:
    """The f32 of bf16 bits."""
    raw = f"({state.dialect.convert(u32, text)} << 16u)"
    return state.let(f32, state.dialect.bits(u32, f32, raw))


def narrow_bf16(state: Emission, text: str) -> str:
    """The bits of an f32 rounded to nearest even as bf16; NaN stays NaN."""
    raw = state.let(u32, state.dialect.bits(f32, u32, text))
    up = state.let(u32, f"{raw} + (0x7fffu + (({raw} >> 16u) & 1u))")
    nan = is_nan(state, f32, text)
    return state.dialect.convert(u16, state.dialect.choose(nan, "0x7fc0u", f"({up} >> 16u)"))
