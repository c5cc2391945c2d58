"""Values of the interpreter: a numpy array with one element per lane, a tuple of them for the parts
of structs and vectors, one matrix per warp for fragments, a ``Tile``. Pointers are uint64
addresses."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from gridlane.core import dtypes
from gridlane.core.dtypes import DType
from gridlane.ir.ops.memory import part_types
from gridlane.ir.types import FragmentType, PointerType, TileType, Type

Array = np.ndarray[Any, Any]


Lanes: TypeAlias = "Array | tuple[Lanes, ...]"
"""An array, or a tuple of these for the parts of a struct or vector; or a tile."""


class Tile(np.ndarray[Any, Any]):
    """The value of a tile, in its shape. The program is one thread, and has it as a whole or not
    at all.

    >>> Tile.of(np.arange(4).reshape(2, 2)).elements.shape
    (2, 2)
    """

    @staticmethod
    def of(elements: Array) -> Tile:
        """The tile with these elements."""
        return elements.view(Tile)

    @property
    def elements(self) -> Array:
        """The elements as a plain array."""
        return self.view(np.ndarray)


WARP = 32

ADDRESS = np.dtype(np.uint64)


def numpy_of(type_: Type) -> np.dtype[Any]:
    """The numpy dtype of a scalar or pointer."""
    return type_.numpy if isinstance(type_, DType) else ADDRESS


def filled(type_: Type, lanes: int, value: bool | int | float = 0) -> Lanes:
    """``value`` in every lane, and in every part of structs and vectors."""
    if isinstance(type_, DType | PointerType):
        return np.full(lanes, value, numpy_of(type_))
    if isinstance(type_, FragmentType):
        return fragments(type_, lanes, value)
    if isinstance(type_, TileType):
        return Tile.of(np.full(type_.shape, value, numpy_of(type_.element)))
    return tuple([filled(part, lanes, value) for part in part_types(type_)])


def fragments(type_: FragmentType, lanes: int, value: bool | int | float = 0) -> Array:
    """One matrix per warp, filled with ``value``."""
    return np.full((lanes // WARP, type_.rows, type_.cols), value, numpy_of(type_.element))


def merged(mask: Array, new: Lanes, old: Lanes) -> Lanes:
    """``new`` in the lanes in ``mask``, ``old`` in the others."""
    if isinstance(new, Tile):
        return new
    if isinstance(new, tuple):
        return tuple([merged(mask, n, o) for n, o in zip(new, old, strict=True)])
    assert isinstance(old, np.ndarray)
    if new.ndim > 1:
        return _merged_fragments(mask, new, old)
    return np.where(mask, new, old)


def _merged_fragments(mask: Array, new: Array, old: Array) -> Array:
    """Fragments by warp; one that only some lanes of a warp write is undefined: all bits set."""
    lanes = mask.reshape(-1, WARP)
    some, whole = np.asarray(lanes.any(axis=1)), np.asarray(lanes.all(axis=1))
    array = np.where(whole[:, None, None], new, old)
    array[some & ~whole] = np.frombuffer(b"\xff" * array.itemsize, array.dtype)[0]
    return array


# ---- floats: half precision is computed in f64 and rounded once

_SMALL = {dtypes.f16.numpy: (11, -14), dtypes.bf16.numpy: (8, -126)}
"""Significand bits and least normal exponent of the 16-bit floats."""


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether a numpy dtype is one of the four floats."""
    return dtype.kind == "f" or dtype in _SMALL


def widened(values: Array) -> Array:
    """f16 and bf16 as f64, where a first rounding of sums, products and quotients is harmless."""
    return values.astype(np.float64) if values.dtype in _SMALL else values


def narrowed(values: Array, dtype: np.dtype[Any]) -> Array:
    """Floats rounded to another float type, to nearest even, once."""
    if dtype not in _SMALL:
        return values.astype(dtype)
    precision, least = _SMALL[dtype]
    wide = values.astype(np.float64)
    quantum = np.maximum(np.frexp(wide)[1] - 1, least) - (precision - 1)
    rounded = np.ldexp(np.rint(np.ldexp(wide, -quantum)), quantum)
    # Values that are exact now, or too large, survive the conversion by way of f32.
    return rounded.astype(np.float32).astype(dtype)
