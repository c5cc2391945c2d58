"""Numbers of Python as scalars of a program."""

from __future__ import annotations

import math
from typing import Any, cast

from gridlane.core.dtypes import u8
from gridlane.frontends.triton.constants import unwrapped
from gridlane.frontends.triton.context import builder, builtin
from gridlane.frontends.triton.narrow import FORMATS
from gridlane.frontends.triton.types import (
    dtype,
    float32,
    float64,
    int1,
    int32,
    int64,
    scalar_ir,
    uint32,
    uint64,
)
from gridlane.frontends.triton.values import tensor


def _is_float32(number: float) -> bool:
    """Whether a float is 0, infinite, NaN or in the normal range of float32."""
    size = abs(number)
    return not size or not math.isfinite(size) or 2.0**-126 <= size <= (2 - 2**-23) * 2.0**127


def type_of_number(number: bool | int | float) -> dtype:
    """The type of a number: the first of int32, uint32, int64 and uint64 that holds an integer."""
    if isinstance(number, bool):
        return int1
    if isinstance(number, float):
        return float32 if _is_float32(number) else float64
    for kind in (int32, uint32, int64, uint64):
        if kind.get_int_min_value() <= number <= kind.get_int_max_value():
            return kind
    raise ValueError(f"Nonrepresentable integer {number}.")


def constant(number: bool | int | float, kind: dtype) -> tensor:
    """A number as a scalar of a type."""
    if kind.is_int() and isinstance(number, float):
        number = int(number)
    form = FORMATS.get(kind.name)
    if form is not None:
        return tensor(builder().const(form.code(float(number)), u8), kind)
    return tensor(builder().const(number, scalar_ir(kind)), kind)


@builtin
def to_tensor(x: Any) -> tensor:
    """A tensor, or a number as one.

    Raises:
        TypeError: it is neither.
    """
    value = unwrapped(x)
    if isinstance(value, tensor):
        return value
    if isinstance(value, (bool, int, float)):
        return constant(value, type_of_number(value))
    raise TypeError(f"cannot convert {value} of type {type(value)} to tensor")


def decayed(value: Any) -> Any:
    """A value as variables and results have it: numbers are tensors."""
    plain = unwrapped(value)
    if isinstance(plain, (bool, int, float)):
        return to_tensor(plain)
    if isinstance(plain, tuple):
        kind: Any = type(cast("tuple[Any, ...]", plain))
        parts = [decayed(each) for each in cast("tuple[Any, ...]", plain)]
        return kind(*parts) if hasattr(kind, "_fields") else tuple(parts)
    return plain
