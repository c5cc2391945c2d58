"""Scalars: constants as values, and values as other types of their width."""

from __future__ import annotations

import struct

from gridlane.core.dtypes import DType, b1, f32
from gridlane.frontends.ptx.operands import Number
from gridlane.frontends.ptx.translating import Translating
from gridlane.frontends.ptx.types import unsigned
from gridlane.ir.builder import Builder
from gridlane.ir.ops.arith import Cast
from gridlane.ir.values import Value


def same_bits(b: Builder, value: Value, dtype: DType) -> Value:
    """A scalar as another type of its width."""
    have = value.type
    assert isinstance(have, DType)
    if have is dtype:
        return value
    if have.is_integer and dtype.is_integer:
        source = value.op.value if isinstance(value.op, Cast) else None
        # There and back: a register has no sign.
        return source if source and source.type is dtype else b.cast(value, dtype)
    return b.bitcast(value, dtype)


def number(t: Translating, operand: Number, dtype: DType) -> Value:
    """A constant as a type."""
    value = operand.value
    if dtype is b1:
        return t.b.const(bool(value), b1)
    if not operand.is_float:
        if dtype.is_float and value:
            t.fail(f"a float is written 1.0 or 0f3F800000, not {value}")
        if dtype.is_float:
            return t.b.zero(dtype)
        return t.b.const(int(value), dtype)
    if dtype.is_float:
        if operand.float_bits not in (0, dtype.bits) and dtype.bits < 64:
            value = struct.unpack("f", struct.pack("f", value))[0] if dtype is f32 else value
        if value != value or operand.float_bits == dtype.bits:
            return _exact(t, operand, dtype)
        return t.b.const(float(value), dtype)
    return _exact(t, operand, dtype)


def _exact(t: Translating, operand: Number, dtype: DType) -> Value:
    """A float constant by its bits."""
    width = operand.float_bits or dtype.bits
    if dtype.is_integer and not operand.float_bits and width < 64:  # ptxas takes 64 bits
        t.fail(f"a float is written as 0f3F800000 where bits are needed, not {operand.value}")
    if width not in (32, 64) or width != dtype.bits:
        t.fail(f"a float of {width} bits is no {shown(dtype)}")
    if dtype.is_float and operand.value == operand.value:
        return t.b.const(float(operand.value), dtype)
    form = ("<f", "<I") if width == 32 else ("<d", "<Q")
    (raw,) = struct.unpack(form[1], struct.pack(form[0], operand.value))
    return same_bits(t.b, t.b.const(raw, unsigned(width)), dtype)


def width(dtype: DType, bits: int) -> DType:
    """The integer of a width that has the sign of another one."""
    unsigned_integer = unsigned(bits)
    return unsigned_integer.signed if dtype.is_signed else unsigned_integer


def shown(dtype: DType) -> str:
    """A type as PTX spells it, for messages."""
    return ".pred" if dtype is b1 else f".{dtype}"
