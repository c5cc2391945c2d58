"""``numba_cuda_mlir.types``: numba's types; a few names have another meaning here."""

from __future__ import annotations

from gridlane.core.argtypes import ArgType
from gridlane.cuda import types
from gridlane.cuda.numba_compat.mlir.placeholder_modules import face
from gridlane.cuda.numba_compat.typing import signature
from gridlane.cuda.types import (
    CPointer,
    bfloat16,
    boolean,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    voidptr,
)

# Numbers of bits, where numba's names have numbers of bytes.
i8, i16, i32, i64 = int8, int16, int32, int64
u8, u16, u32, u64 = uint8, uint16, uint32, uint64
f16, f32, f64, bf16 = float16, float32, float64, bfloat16
bool = boolean
ptr, ptr_to = voidptr, CPointer


def grid_constant(type: ArgType) -> ArgType:
    """The type: a parameter of a kernel is a constant of the grid on every device."""
    return type


def alignas(type: ArgType, align: int) -> ArgType:
    """The type: what alignment it needs here follows from itself."""
    return type


__getattr__ = face("types", types)


def __dir__() -> list[str]:
    return sorted({*dir(types), *globals()})


__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    *types.__all__,
    "bf16",
    "bool",
    "f16",
    "f32",
    "f64",
    "i8",
    "i16",
    "i32",
    "i64",
    "ptr",
    "ptr_to",
    "signature",
    "u8",
    "u16",
    "u32",
    "u64",
]
