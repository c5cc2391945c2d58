"""The places of the few elements that come first, without a sort of all."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.xp import views
from gridlane.xp.applying import cast
from gridlane.xp.arrays import Array
from gridlane.xp.kernels import part_of
from gridlane.xp.nodes import Node
from gridlane.xp.reductions.functions import apply
from gridlane.xp.sorting.binning import counted_by_value
from gridlane.xp.sorting.searching import contiguous_leaf, true_places

_BITS = 11
"""The first bits of a key, by which candidates are chosen: a block counts 2**11 in its memory."""
_DIGIT = np.dtype(np.int32)
LEAST = 1 << 16
"""Fewer elements are sorted."""


def candidates(leaf: Node, count: int, descending: bool) -> Node | None:
    """The places, ascending, of elements among which are the ``count`` first of the order, with all
    that are equal to the last of these; None where a sort of all elements takes no longer.

    Args:
        leaf: a vector in C's order.
    """
    size = leaf.size
    if leaf.dtype.kind == "c" or size < LEAST or count * 16 > size:
        return None
    digits = views.computed(_digits(leaf, descending))
    ends = np.cumsum(np.asarray(Array(counted_by_value(digits, 1 << _BITS))))
    last = int(np.searchsorted(ends, count))
    if ends[last] * 8 > size:
        return None
    return true_places(apply("less_equal", digits, last))


def _digits(leaf: Node, descending: bool) -> Node:
    """The first bits of numbers whose order is that of the elements: NaN are the last in any."""
    part = part_of(leaf.dtype)
    if part.is_float:
        # 0.0 is added to make -0.0 equal to it.
        turned = apply("add", apply("negative", leaf) if descending else leaf, 0.0)
        keys: Node = apply("where", apply("isnan", leaf), float("nan"), turned)
        if part.size < 4:
            keys = cast(keys, np.dtype(np.float32))
    else:
        keys = cast(leaf, _DIGIT) if part.size < 4 else leaf
    held = contiguous_leaf(keys)
    assert held.storage is not None
    word: np.dtype[Any] = np.dtype(f"i{held.dtype.itemsize}")
    bits = held.storage.leaf(word, held.shape, held.strides, held.offset)
    width = held.dtype.itemsize * 8 if part.is_float else part.size * 8
    kept = min(width, _BITS)
    half, mask = 1 << (kept - 1), (1 << kept) - 1
    high = apply("bitwise_right_shift", bits, width - kept)  # with copies of the sign
    if part.is_float:
        # Magnitudes of negative numbers fall.
        above = apply("add", high, half)
        return cast(apply("where", apply("less", bits, 0), apply("invert", high), above), _DIGIT)
    is_signed = leaf.dtype.kind == "i"
    high = apply("add", high, half) if is_signed else apply("bitwise_and", high, mask)
    return cast(apply("subtract", mask, high) if descending else high, _DIGIT)
