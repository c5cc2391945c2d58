"""Tiles that are made from numbers."""

from __future__ import annotations

from typing import Any

from gridlane.frontends.triton.casting import converted
from gridlane.frontends.triton.constants import unwrapped
from gridlane.frontends.triton.context import builtin
from gridlane.frontends.triton.numbers import constant
from gridlane.frontends.triton.shapes import item, splat
from gridlane.frontends.triton.types import checked_shape, dtype_of
from gridlane.frontends.triton.values import tensor


@builtin
def full(shape: Any, value: Any, dtype: Any) -> tensor:
    """A tile of one value."""
    plain, kind = unwrapped(value), dtype_of(dtype)
    if isinstance(plain, tensor):
        scalar = converted(item(plain) if plain.shape else plain, kind)
    else:
        scalar = constant(plain, kind)
    return splat(scalar, checked_shape(shape))


@builtin
def zeros(shape: Any, dtype: Any) -> tensor:
    """A tile of zeros."""
    return full(shape, 0, dtype)


@builtin
def zeros_like(input: tensor) -> tensor:
    """Zeros of the shape and type of a tensor."""
    return full(input.shape, 0, input.dtype)
