"""Reductions of segments of a dimension: ``reduceat`` of NumPy's ufuncs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gridlane.algorithms import OpKind, segmented_reduce
from gridlane.xp import dtypes, views
from gridlane.xp.applying import cast
from gridlane.xp.arrays import Array
from gridlane.xp.computing import new_leaf
from gridlane.xp.creation import asarray
from gridlane.xp.exporting import over
from gridlane.xp.kernels import part_of
from gridlane.xp.nodes import Node
from gridlane.xp.reductions.functions import (
    accumulator_of,
    apply,
    delivered,
    node_of,
    reduced,
    result_dtype,
)
from gridlane.xp.sorting.ordering import INT64, back, numbers, rows_of
from gridlane.xp.sorting.searching import contiguous_leaf

NAMES = ("add", "multiply", "maximum", "minimum", "logical_and", "logical_or")
"""The ufuncs whose segments are reduced."""


def _greatest(a: Any, b: Any) -> Any:
    """The greater of two floats, or the first NaN."""
    return a if a != a or a >= b else b


def _least(a: Any, b: Any) -> Any:
    return a if a != a or a <= b else b


def _greatest_complex(a: Any, b: Any) -> Any:
    """By the real parts, then by the imaginary ones; the first number with a NaN, if one has it."""
    is_after = a.real > b.real or (a.real == b.real and a.imag >= b.imag)
    return a if a != a or (is_after and b == b) else b


def _least_complex(a: Any, b: Any) -> Any:
    is_before = a.real < b.real or (a.real == b.real and a.imag <= b.imag)
    return a if a != a or (is_before and b == b) else b


def sums(values: Node, starts: Node, ends: Node) -> Node:
    """The sums of the elements of a vector between places, in an order that these alone fix."""
    return _folded(values, starts, ends, OpKind.PLUS, 0)


def _folded(values: Node, starts: Node, ends: Node, op: Any, first: Any) -> Node:
    """The elements of a vector between places, combined by an operator behind a first number."""
    source = contiguous_leaf(values)
    assert source.device is not None
    results = new_leaf(source.device, source.dtype, starts.shape)
    segmented_reduce(
        d_in=over(source),
        d_out=over(results),
        num_segments=starts.size,
        start_offsets_in=over(contiguous_leaf(starts)),
        end_offsets_in=over(contiguous_leaf(ends)),
        op=op,
        h_init=source.dtype.type(first),
    )
    return results


def _operator(name: str, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """The operator of a ufunc on a dtype, and the number that it changes no other one with."""
    if name == "add":
        return OpKind.PLUS, -0.0 if part_of(dtype).is_float else 0
    if name == "multiply":
        return OpKind.MULTIPLIES, 1
    is_most = name in ("maximum", "logical_or")
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return (OpKind.MAXIMUM, limits.min) if is_most else (OpKind.MINIMUM, limits.max)
    extreme = float("-inf") if is_most else float("inf")
    if dtype.kind == "c":
        return _greatest_complex if is_most else _least_complex, complex(extreme, extreme)
    return _greatest if is_most else _least, extreme


def reduceat(name: str) -> Callable[..., Array]:
    """NumPy's method of a ufunc of ``NAMES``."""

    def call(x: Array, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Array:
        node = node_of(x, f"{name}.reduceat")
        along = views.axis_of(axis, len(node.shape))
        places = indices if isinstance(indices, Array) else asarray(indices, device=x.device)
        starts, ends = _segments(name, places.node, node.shape[along])
        result = _result(name, node, dtype, out)
        if name.startswith("logical"):
            node = apply("not_equal", node, 0)
        folded = _rows(name, cast(node, result), along, starts, ends)
        return delivered(cast(folded, result), out, f"{name}.reduceat")

    call.__name__ = "reduceat"
    call.__qualname__ = f"{name}.reduceat"
    return call


def _result(name: str, node: Node, dtype: Any, out: Any) -> np.dtype[Any]:
    """The dtype of results."""
    if name.startswith("logical"):
        return np.dtype(bool)
    if dtype is not None:
        return dtypes.checked(dtype)
    return result_dtype(node.dtype, out) if name in ("add", "multiply") else node.dtype


def _segments(name: str, places: Node, extent: int) -> tuple[Node, Node]:
    """The first places of segments and the places behind them. One whose next one does not start
    behind it has one element, as NumPy has it.

    Raises:
        ValueError: the indices are no vector.
        TypeError: they are no integers.
        IndexError: one is out of bounds.
    """
    if len(places.shape) != 1:
        raise ValueError(f"{name}.reduceat: the indices have one dimension")
    if places.dtype.kind not in "iu" and places.size:
        raise TypeError(f"{name}.reduceat: the indices are integers, not {places.dtype}")
    starts = contiguous_leaf(cast(places, INT64))
    if not starts.size:
        return starts, starts
    for kind in ("min", "max"):
        place = int(Array(reduced(kind, starts, (0,), INT64)))
        if not 0 <= place < extent:
            raise IndexError(f"index {place} out-of-bounds in {name}.reduceat [0, {extent})")
    from gridlane.xp.manipulation import concat

    last = asarray([extent], dtype=INT64, device=Array(starts).device)
    following = concat([Array(starts)[1:], last]).node
    is_segment = apply("less", starts, following)
    ends = apply("where", is_segment, following, apply("add", starts, 1))
    return starts, contiguous_leaf(ends)


def _rows(name: str, node: Node, along: int, starts: Node, ends: Node) -> Node:
    """The segments of each row along a dimension, reduced in the dtype of an accumulator."""
    rows = rows_of(cast(node, accumulator_of(node.dtype)), along)
    length, count = rows.shape[-1], starts.size
    shape = (*rows.shape[:-1], count)
    if not rows.size or not count:
        return back(cast(numbers(rows, shape, (0,) * len(shape)), rows.dtype), along)
    number = rows.size // length
    offsets = numbers(rows, (number, count), (length, 0))
    places = [
        views.reshaped(contiguous_leaf(apply("add", offsets, each)), (number * count,))
        for each in (starts, ends)
    ]
    flat = views.reshaped(rows, (rows.size,))
    folded = _folded(flat, places[0], places[1], *_operator(name, rows.dtype))
    return back(views.reshaped(folded, shape), along)
