"""Words of two floats of 16 bits."""

from __future__ import annotations

from gridlane.core.dtypes import DType, u16, u32
from gridlane.ir.builder import Builder
from gridlane.ir.ops import arith, memory
from gridlane.ir.types import vector
from gridlane.ir.values import Value


def pair(b: Builder, low: Value, high: Value) -> Value:
    """The word of two floats of 16 bits: as a vector, of which code generators convert both at
    once."""
    assert isinstance(low.type, DType)
    return b.bitcast(b.value(memory.Pack((low, high), vector(low.type, 2))), u32)


def half(b: Builder, word: Value, is_high: bool, type_: DType) -> Value:
    """One of the floats of a word."""
    bits = b.binary(arith.Shr, word, b.const(16, u32)) if is_high else word
    return b.bitcast(b.cast(bits, u16), type_)
