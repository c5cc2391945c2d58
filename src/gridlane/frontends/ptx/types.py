"""PTX's types: the dtypes of their values and the widths of their bits."""

from __future__ import annotations

from gridlane.core.dtypes import DType, b1, bf16, f16, f32, f64
from gridlane.core.dtypes import by_name as dtype
from gridlane.ir.types import Space

TYPES: dict[str, DType] = {
    **{f"u{bits}": dtype(f"u{bits}") for bits in (8, 16, 32, 64)},
    **{f"s{bits}": dtype(f"i{bits}") for bits in (8, 16, 32, 64)},
    **{f"b{bits}": dtype(f"u{bits}") for bits in (8, 16, 32, 64)},
    **{"f16": f16, "bf16": bf16, "f32": f32, "f64": f64, "pred": b1},
    **{"f16x2": dtype("u32"), "bf16x2": dtype("u32"), "tf32": dtype("u32")},
    "f32x2": dtype("u64"),
    **{"u16x2": dtype("u32"), "s16x2": dtype("u32")},
    **{"e4m3x2": dtype("u16"), "e5m2x2": dtype("u16")},
}
"""The type of a value in a register. Bits without a type are an unsigned integer."""

SIGNED = ("s16", "s32", "s64")
UNSIGNED = ("u16", "u32", "u64")
INTEGERS = (*UNSIGNED, *SIGNED)
BITS = ("b16", "b32", "b64")

SPACES = {
    "global": Space.GLOBAL,
    "shared": Space.SHARED,
    "shared::cta": Space.SHARED,
    "const": Space.GLOBAL,
    "local": Space.LOCAL,
}
"""State spaces with addresses. The host may write constants, so they are global memory here.
Parameters are apart; see parameters.py."""


CONSTANTS = {**SPACES, "const": Space.CONSTANT, "global": Space.CONSTANT}
"""Those of a function that another language calls: nobody but it sees the variables of its module,
and what it does not write is constant."""


def unsigned(bits: int) -> DType:
    """The unsigned integer of a width."""
    return dtype(f"u{bits}")


def signed(bits: int) -> DType:
    """The signed integer of a width."""
    return dtype(f"i{bits}")
