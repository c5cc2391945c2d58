"""Conversions: each rounds once."""

from __future__ import annotations

from gridlane.codegen.clike.emission import Emission, emits
from gridlane.codegen.clike.floats import (
    bits_of,
    from_bits,
    narrow_bf16,
    widen_bf16,
)
from gridlane.codegen.clike.rounding import hidden_once
from gridlane.codegen.clike.scalars import combined
from gridlane.codegen.emitters import require_inside
from gridlane.core.dtypes import DType, b1, bf16, f16, f32, u32, u64
from gridlane.ir.builder import rounded
from gridlane.ir.ops import arith


@emits(arith.Cast)
def cast(state: Emission, op: arith.Cast) -> None:
    """Emit the conversion of a scalar."""
    source, text = op.value.type, state.name(op.value)
    assert isinstance(source, DType)
    if state.is_edge(source) or state.is_edge(op.type):  # between a small integer and its holder
        state.set(op.results[0], text)
        return
    if source.is_float and op.type.is_integer:
        require_inside(op)
    state.give(op.results[0], converted(state, text, source, op.type))


def converted(state: Emission, text: str, source: DType, target: DType) -> str:
    """A scalar converted by the rules of ``ir.ops.arith.Cast``."""
    if source is target:
        return text
    if source is bf16:
        return converted(state, widen_bf16(state, text), f32, target)
    if target is b1:
        return combined(state, arith.Ne, source, [text, state.zero(source)])
    if source is b1:
        one, none = (state.literal(rounded(n, target), target) for n in (1, 0))
        return state.dialect.choose(text, one, none)
    if source.is_float:
        return _from_float(state, text, source, target)
    if target.is_float:
        return _from_integer(state, text, source, target)
    return state.dialect.convert(target, text)


def _from_float(state: Emission, text: str, source: DType, target: DType) -> str:
    if target is bf16:
        return narrow_bf16(state, state.let(f32, converted(state, text, source, f32)))
    return state.dialect.convert(target, text)


def _from_integer(state: Emission, text: str, source: DType, target: DType) -> str:
    if target is f32:
        halved = source is u32 and state.dialect.halves_unsigned
        return _of_halves(state, text) if halved else state.dialect.convert(f32, text)
    if target is f16 or source.bits <= 16:
        # An integer that f32 rounds is above the largest f16 in any case.
        wide = state.let(f32, state.dialect.convert(f32, text))
        return narrow_bf16(state, wide) if target is bf16 else state.dialect.convert(f16, wide)
    return narrow_bf16(state, _odd_float(state, text, source))


def _of_halves(state: Emission, text: str) -> str:
    """A u32 as the sum of two exact floats, so that it rounds once."""
    high = state.let(f32, state.dialect.convert(f32, f"({text} >> 16u)"))
    low = state.let(f32, state.dialect.convert(f32, f"({text} & 65535u)"))
    return f"{high} * {state.literal(65536.0, f32)} + {low}"


def _odd_float(state: Emission, text: str, source: DType) -> str:
    """An integer rounded to odd as an f32 of at most 24 bits, so that a second rounding is
    correct."""
    whole = u64 if source.bits == 64 else u32
    size = text
    if source.is_signed:
        size = state.let(source, combined(state, arith.Abs, source, [text]))
    size = state.let(whole, state.dialect.convert(whole, size))
    clz = combined(state, arith.Clz, whole, [size])
    empty = state.let(u32, state.dialect.convert(u32, clz))
    room = whole.bits - 24
    excess = state.let(u32, state.dialect.choose(f"{empty} < {room}u", f"{room}u - {empty}", "0u"))
    kept = state.let(whole, f"{size} >> {excess}")
    lost = state.let(b1, f"({kept} << {excess}) != {size}")
    one, none = state.literal(1, whole), state.literal(0, whole)
    odd = state.let(whole, f"{kept} | {state.dialect.choose(lost, one, none)}")
    scale = state.dialect.bits(u32, f32, f"((127u + {excess}) << 23u)")
    result = state.let(f32, f"{state.dialect.convert(f32, odd)} * {scale}")
    if not source.is_signed:
        return result
    negative = state.let(f32, combined(state, arith.Neg, f32, [result]))
    below = f"{text} < {state.literal(0, source)}"
    return state.let(f32, state.dialect.choose(below, negative, result))


# ---- the same bits


@emits(arith.Bitcast)
def bitcast(state: Emission, op: arith.Bitcast) -> None:
    """Emit the bits of a scalar as another type."""
    source, target = op.value.type, op.type
    text = state.name(op.value)
    if state.is_edge(source) or state.is_edge(target):  # both are held in the same way
        state.set(op.results[0], text)
        return
    assert isinstance(source, DType) and isinstance(target, DType)
    bits = from_bits(state, target, bits_of(state, source, text))
    state.give(op.results[0], hidden_once(state, op, bits))
