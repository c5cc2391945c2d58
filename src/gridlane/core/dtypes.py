"""Scalar types: the one table of names, kinds and widths that all of gridlane shares."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import ml_dtypes
import numpy as np


class Kind(Enum):
    """The interpretation of a scalar's bits."""

    BOOL = "b"
    SIGNED = "i"
    UNSIGNED = "u"
    FLOAT = "f"


@dataclass(frozen=True)
class DType:
    """A scalar type.

    ``name`` is the spelling of the IR (``i32``, ``u8``, ``f64``, ``b1``), ``bits`` the width of
    the value. A ``b1`` takes one byte in memory, as numpy's bool does.
    """

    name: str
    kind: Kind
    bits: int

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.name

    # Types key every table of the compiler, so equality is identity and hashing is free.
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def __reduce__(self) -> tuple[object, ...]:
        return (by_name, (self.name,))

    @cached_property
    def size(self) -> int:
        """Bytes in memory."""
        return max(1, self.bits // 8)

    @property
    def align(self) -> int:
        """Alignment in bytes: the same as the size for every scalar."""
        return self.size

    @cached_property
    def numpy(self) -> np.dtype:
        """The numpy dtype with the same representation."""
        if self.name == "bf16":
            return np.dtype(ml_dtypes.bfloat16)
        if self.kind is Kind.BOOL:
            return np.dtype(np.bool_)
        return np.dtype(f"{self.kind.value}{self.size}")

    @cached_property
    def is_integer(self) -> bool:
        """True for the signed and unsigned integers, not for b1."""
        return self.kind in (Kind.SIGNED, Kind.UNSIGNED)

    @cached_property
    def is_float(self) -> bool:
        """True for f16, bf16, f32 and f64."""
        return self.kind is Kind.FLOAT

    @cached_property
    def is_signed(self) -> bool:
        """True for signed integers."""
        return self.kind is Kind.SIGNED

    @cached_property
    def is_bool(self) -> bool:
        """True for b1."""
        return self.kind is Kind.BOOL

    @cached_property
    def min(self) -> int:
        """Smallest value of an integer type."""
        return -(1 << (self.bits - 1)) if self.is_signed else 0

    @cached_property
    def max(self) -> int:
        """Largest value of an integer type."""
        return (1 << (self.bits - 1)) - 1 if self.is_signed else (1 << self.bits) - 1

    def wrap(self, value: int) -> int:
        """``value`` wrapped to this integer type, two's complement.

        >>> i8.wrap(200)
        -56
        """
        value &= (1 << self.bits) - 1
        if self.is_signed and value >> (self.bits - 1):
            value -= 1 << self.bits
        return value

    @cached_property
    def unsigned(self) -> DType:
        """The unsigned integer of the same width."""
        return by_name(f"u{max(8, self.bits)}")

    @cached_property
    def signed(self) -> DType:
        """The signed integer of the same width."""
        return by_name(f"i{max(8, self.bits)}")


b1 = DType("b1", Kind.BOOL, 1)
i8 = DType("i8", Kind.SIGNED, 8)
i16 = DType("i16", Kind.SIGNED, 16)
i32 = DType("i32", Kind.SIGNED, 32)
i64 = DType("i64", Kind.SIGNED, 64)
u8 = DType("u8", Kind.UNSIGNED, 8)
u16 = DType("u16", Kind.UNSIGNED, 16)
u32 = DType("u32", Kind.UNSIGNED, 32)
u64 = DType("u64", Kind.UNSIGNED, 64)
f16 = DType("f16", Kind.FLOAT, 16)
bf16 = DType("bf16", Kind.FLOAT, 16)
f32 = DType("f32", Kind.FLOAT, 32)
f64 = DType("f64", Kind.FLOAT, 64)

SIGNED = (i8, i16, i32, i64)
UNSIGNED = (u8, u16, u32, u64)
INTEGERS = SIGNED + UNSIGNED
FLOATS = (f16, bf16, f32, f64)
ALL = (b1, *INTEGERS, *FLOATS)

_BY_NAME = {dtype.name: dtype for dtype in ALL}
_BY_NUMPY = {dtype.numpy: dtype for dtype in ALL}


def by_name(name: str) -> DType:
    """The scalar type spelled ``name``; KeyError when there is none."""
    return _BY_NAME[name]


def from_numpy(dtype: np.dtype) -> DType | None:
    """The scalar type that represents a numpy dtype, or None (complex, records, strings …)."""
    return _BY_NUMPY.get(dtype)


# All facts are computed here: before Python 3.12 a cached_property has a lock, which stays locked
# in the child of a fork when another thread was computing one.
_FACTS = [name for name, value in vars(DType).items() if isinstance(value, cached_property)]
for _dtype in ALL:
    for _name in _FACTS:
        getattr(_dtype, _name)
