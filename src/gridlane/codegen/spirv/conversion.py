"""Conversions of scalars as ``ir.ops.arith.Cast`` defines them, and arithmetic in f64.

A double rounding is harmless where the first format has more than twice the bits of the second, or
where the first rounds to odd (Boldo and Melquiond, 2008).
"""

from __future__ import annotations

from collections.abc import Callable

from gridlane.codegen.spirv.code import Code, unsigned
from gridlane.codegen.spirv.opcodes import Opcode
from gridlane.core.dtypes import DType, f32, f64, i32, u16, u32, u64

_QUIET_BF16 = 0x7FC0


def convert(code: Code, value: int, source: DType, target: DType) -> int:
    """Convert to a scalar of another type."""
    if source is target:
        return value
    if source.name == "bf16":
        return convert(code, _extended_bf16(code, value), f32, target)
    if target.is_bool:
        zero = code.const(0, source)
        if source.is_float:
            return code.relation(Opcode.FUnordNotEqual, source, value, zero)
        return code.compare(Opcode.INotEqual, value, zero)
    if source.is_bool:
        return code.select(target, value, code.const(1, target), code.const(0, target))
    if target.is_float:
        return _to_float(code, value, source, target)
    if source.is_float:
        return _to_integer(code, value, target)
    return code.resized(value, source, target)


def _to_float(code: Code, value: int, source: DType, target: DType) -> int:
    if target.bits > 16:
        if source is f32 and target is f64:
            return _doubled(code, value)
        if source.is_float:
            return code.op(Opcode.FConvert, target, value)
        return _from_integer(code, value, source, target)
    single = _single_for_half(code, value, source, target)
    if target.name == "bf16":
        return _rounded_bf16(code, single)
    return code.settled(code.op(Opcode.FConvert, target, single))


def _doubled(code: Code, value: int) -> int:
    """f32 as f64. Where subnormals are flushed, they are converted through normal numbers."""
    plain = code.op(Opcode.FConvert, f64, value)
    if code.flush_zero is None:
        return plain
    up, down = code.const(2.0**64, f32), code.const(2.0**-64, f64)
    large = code.op(Opcode.FConvert, f64, code.real(Opcode.FMul, f32, value, up))
    zero = code.compare(Opcode.FOrdEqual, plain, code.const(0.0, f64))
    return code.select(f64, zero, code.real(Opcode.FMul, f64, large, down), plain)


def _from_integer(code: Code, value: int, source: DType, target: DType) -> int:
    """An integer as f32 or f64, rounded once. Narrow ones are extended first: exact."""
    if source.bits < 32:
        value = code.resized(value, source, i32 if source.is_signed else u32)
    opcode = Opcode.ConvertSToF if source.is_signed else Opcode.ConvertUToF
    return code.op(opcode, target, value)


def _single_for_half(code: Code, value: int, source: DType, target: DType) -> int:
    """A number as an f32 that rounds to 16 bits as the number itself does: wide sources are rounded
    to odd. An integer that f32 rounds is above the largest f16."""
    if source is f32:
        return value
    if source.is_float and source.bits == 16:
        return code.op(Opcode.FConvert, f32, value)
    if source.is_integer and (source.bits <= 16 or target.name == "f16"):
        return _from_integer(code, value, source, f32)
    if source.is_integer and source.bits == 64:
        value, source = _odd_double(code, value, source), f64
    if source.is_integer:
        value = _from_integer(code, value, source, f64)
    return odd_single(code, value)


def _odd_double(code: Code, value: int, source: DType) -> int:
    """A 64-bit integer as f64, with the low bits beyond f64's precision or-ed into one."""
    zero = code.const(0, u64)
    low = code.masked(u64, value, 4095)
    some = code.compare(Opcode.INotEqual, low, zero)
    sticky = code.select(u64, some, code.const(4096, u64), zero)
    joined = code.op(Opcode.BitwiseOr, u64, code.masked(u64, value, -4096), sticky)
    size = value
    if source.is_signed:
        negative = code.order(Opcode.SLessThan, source, value, zero)
        size = code.select(u64, negative, code.op(Opcode.SNegate, u64, value), value)
    big = code.compare(Opcode.UGreaterThan, size, code.const(1 << 53, u64))
    return _from_integer(code, code.select(u64, big, joined, value), source, f64)


def odd_single(code: Code, value: int) -> int:
    """f64 to f32 rounded to odd: towards zero, with the last bit set when inexact. Infinity and NaN
    stay."""
    near = code.op(Opcode.FConvert, f32, value)
    back = _doubled(code, near)
    raw = code.bits(near, f32)
    differs = code.both(
        code.compare(Opcode.FOrdNotEqual, back, value), code.compare(Opcode.FOrdEqual, value, value)
    )
    size, back_size = (_magnitude(code, x) for x in (value, back))
    above = code.compare(Opcode.UGreaterThan, back_size, size)
    step = code.select(u32, above, code.const(1, u32), code.const(0, u32))
    down = code.op(Opcode.ISub, u32, raw, step)
    odd = code.op(Opcode.BitwiseOr, u32, down, code.const(1, u32))
    return code.from_bits(code.select(u32, differs, odd, raw), f32)


def _magnitude(code: Code, value: int) -> int:
    """The bits of an f64 without its sign, which have the order of the magnitudes."""
    return code.masked(u64, code.bits(value, f64), (1 << 63) - 1)


def _extended_bf16(code: Code, value: int) -> int:
    """The f32 of bf16 bits."""
    return code.from_bits(code.shifted_up(u32, code.resized(value, u16, u32), 16), f32)


def _rounded_bf16(code: Code, value: int) -> int:
    """An f32 rounded to nearest even as bf16 bits; NaN stays NaN."""
    raw = code.bits(value, f32)
    odd = code.masked(u32, code.shifted_down(u32, raw, 16), 1)
    near = code.add(u32, raw, code.plus(u32, odd, 0x7FFF))
    nan = code.compare(Opcode.FUnordNotEqual, value, value)
    kept = code.select(u32, nan, code.const(_QUIET_BF16 << 16, u32), near)
    return code.resized(code.shifted_down(u32, kept, 16), u32, u16)


def _to_integer(code: Code, value: int, target: DType) -> int:
    """A float that has an integer of the type."""
    opcode = Opcode.ConvertFToS if target.is_signed else Opcode.ConvertFToU
    wide = unsigned(max(32, target.bits))
    return code.resized(code.op(opcode, wide, value), wide, target)


# ---- in f64


def through_f64(code: Code, dtype: DType, operands: list[int], compute: Callable[..., int]) -> int:
    """Compute a quotient or root of any float in f64."""
    wide_result = compute(*[convert(code, value, dtype, f64) for value in operands])
    return convert(code, wide_result, f64, dtype)


def fused_through_f64(code: Code, dtype: DType, operands: list[int]) -> int:
    """A fused multiply-add of f32 or less. The product is exact in f64, and the sum is rounded to
    odd, so that only the last rounding counts."""
    a, b, c = (convert(code, value, dtype, f64) for value in operands)
    total = _sum_to_odd(code, code.real(Opcode.FMul, f64, a, b), c)
    return convert(code, total, f64, dtype)


def _sum_to_odd(code: Code, a: int, b: int) -> int:
    """The f64 sum rounded to odd, with the error by Knuth's two-sum."""

    def less(x: int, y: int) -> int:
        return code.real(Opcode.FSub, f64, x, y)

    zero = code.const(0.0, f64)
    total = code.real(Opcode.FAdd, f64, a, b)
    second = less(total, a)
    lost_b, lost_a = less(b, second), less(a, less(total, second))
    error = code.real(Opcode.FAdd, f64, lost_a, lost_b)
    raw = code.bits(total, f64)
    inexact = code.compare(Opcode.FOrdNotEqual, error, zero)
    even = code.compare(Opcode.IEqual, code.masked(u64, raw, 1), code.const(0, u64))
    up = code.compare(Opcode.FOrdGreaterThan, error, zero)
    positive = code.compare(Opcode.FOrdGreaterThan, total, zero)
    away = code.compare(Opcode.LogicalEqual, up, positive)
    step = code.select(u64, away, code.const(1, u64), code.const(-1, u64))
    change = code.both(inexact, even)
    moved = code.select(u64, change, code.add(u64, raw, step), raw)
    return code.from_bits(moved, f64)
