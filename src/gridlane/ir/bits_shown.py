"""Values whose bits a program prints."""

from __future__ import annotations

from gridlane.core import dtypes
from gridlane.core.dtypes import DType
from gridlane.ir.builder import Builder
from gridlane.ir.ops import memory
from gridlane.ir.types import PointerType
from gridlane.ir.values import Value


def bits_shown(b: Builder, value: Value) -> tuple[Value, str]:
    """The bits of a scalar or pointer as an unsigned integer, and the format of
    ``control.Print`` that prints them in hexadecimal."""
    type_ = value.type
    if isinstance(type_, PointerType):
        return b.value(memory.Address(value)), "{:#018x}"
    assert isinstance(type_, DType)
    if type_ is dtypes.b1:
        return b.cast(value, dtypes.u8), "{:#04x}"
    unsigned = {1: dtypes.u8, 2: dtypes.u16, 4: dtypes.u32, 8: dtypes.u64}[type_.size]
    return b.bitcast(value, unsigned), f"{{:#0{2 + 2 * type_.size}x}}"
