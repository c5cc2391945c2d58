"""Medians, quantiles and percentiles, by a sort along the axes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gridlane.xp import views
from gridlane.xp.applying import cast
from gridlane.xp.arrays import Array
from gridlane.xp.manipulation import stack
from gridlane.xp.nodes import Node, Shape
from gridlane.xp.reductions.functions import Axes, apply, axes_of, is_floating, node_of
from gridlane.xp.sorting.ordering import in_order
from gridlane.xp.sorting.searching import contiguous_leaf

METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


class _Rows:
    """Elements in order along axes.

    Attributes:
        leaf: the rows, in the last dimension.
        shape: of results.
        is_nan: whether a row has a NaN; None where none can be.
    """

    def __init__(self, name: str, x: Any, axis: Axes, keepdims: bool) -> None:
        node = node_of(x, name)
        if node.dtype.kind == "c":
            raise TypeError(f"{name}: complex numbers have no order")
        if node.dtype.kind == "b":
            raise TypeError(f"{name}: bool has no values between its two")
        axes = axes_of(axis, len(node.shape))
        kept = [each for each in range(len(node.shape)) if each not in axes]
        length = math.prod([node.shape[each] for each in axes])
        self.shape: Shape = tuple(
            [
                1 if each in axes else extent
                for each, extent in enumerate(node.shape)
                if keepdims or each not in axes
            ]
        )
        if not length:
            raise ValueError(f"{name}: an array of no elements has no {name}")
        whole = contiguous_leaf(views.permuted(node, (*kept, *axes)))
        rows = views.reshaped(whole, (*[node.shape[each] for each in kept], length))
        self.length, self.is_empty = length, not rows.size
        self.leaf = rows if self.is_empty else contiguous_leaf(in_order(rows))
        self.is_nan: Node | None = None
        if is_floating(node.dtype):
            self.is_nan = views.computed(apply("isnan", self.at(length - 1)))

    def at(self, place: int) -> Node:
        """The elements of the rows at a place."""
        return Array(self.leaf)[..., place].node

    def result(self, node: Node, dtype: np.dtype[Any]) -> Array:
        """The results of rows, NaN for those that have one."""
        if self.is_nan is not None:
            node = apply("where", self.is_nan, float("nan"), node)
        return Array(views.reshaped(views.computed(cast(node, dtype)), self.shape))


def median(x: Array, /, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """The element in the middle of all in order along axes, or the mean of the two in the middle;
    NaN where one is NaN.

    Raises:
        AxisError: there is no such axis.
        ValueError: there are no elements.

    >>> from gridlane import xp
    >>> median(xp.asarray([3, 1, 2, 5]))
    array(2.5)
    """
    rows = _Rows("median", x, axis, keepdims)
    own = x.dtype if is_floating(x.dtype) else np.dtype(np.float64)
    middle = cast(rows.at(rows.length // 2), _wide(own))
    if rows.length % 2 == 0:
        before = cast(rows.at(rows.length // 2 - 1), _wide(own))
        middle = apply("multiply", apply("add", before, middle), 0.5)
    return rows.result(middle, own)


def _wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of sums: float32 for those of 16 bits."""
    return np.dtype(np.float32) if dtype.itemsize == 2 else dtype


def quantile(
    x: Array, q: Any, /, axis: Axes = None, *, method: str = "linear", keepdims: bool = False
) -> Array:
    """The values below which parts ``q`` of the elements along axes are; NaN where one is NaN.

    Args:
        q: a number from 0 to 1, or several, which are the result's first dimension.
        method: between two elements, as of NumPy: one of ``METHODS``.

    Raises:
        AxisError: there is no such axis.
        ValueError: there are no elements; a ``q`` or a method that is none.

    >>> from gridlane import xp
    >>> quantile(xp.asarray([0.0, 1.0, 2.0]), [0.25, 1])
    array([0.5, 2. ])
    """
    return _quantile("quantile", x, q, 1, axis, method, keepdims)


def percentile(
    x: Array, q: Any, /, axis: Axes = None, *, method: str = "linear", keepdims: bool = False
) -> Array:
    """``quantile`` with ``q`` from 0 to 100."""
    return _quantile("percentile", x, q, 100, axis, method, keepdims)


def _quantile(
    name: str, x: Any, q: Any, whole: int, axis: Axes, method: str, keepdims: bool
) -> Array:
    if method not in METHODS:
        raise ValueError(f"{name}: method is one of {', '.join(METHODS)}, not {method!r}")
    wanted = np.asarray(q, np.float64) / whole
    if not np.all((wanted >= 0) & (wanted <= 1)):
        raise ValueError(f"{name}s must be in the range [0, {whole}]")
    rows = _Rows(name, x, axis, keepdims)
    own = x.dtype if is_floating(x.dtype) else np.dtype(np.float64)
    if not isinstance(q, int | float) or isinstance(q, np.generic):
        own = np.result_type(own, np.float64)
    result = own if method in ("linear", "midpoint") else x.dtype
    values = [rows.result(_between(rows, float(each), method, own), result) for each in wanted.flat]
    if not wanted.ndim:
        return values[0]
    return stack(values).reshape((*wanted.shape, *rows.shape))


def _between(rows: _Rows, part: float, method: str, dtype: np.dtype[Any]) -> Node:
    """The value at a part of the rows."""
    place = part * (rows.length - 1)
    below = math.floor(place)
    above = min(below + 1, rows.length - 1)
    if method == "nearest":
        return rows.at(round(place))
    if method in ("lower", "higher"):
        return rows.at(below if method == "lower" else math.ceil(place))
    share = place - below
    if method == "midpoint":
        share = 0.5 if share else 0.0
    low, high = [cast(rows.at(each), _wide(dtype)) for each in (below, above)]
    distance = apply("subtract", high, low)
    # NumPy's interpolation: from the nearer end.
    if share >= 0.5:
        return apply("subtract", high, apply("multiply", distance, 1 - share))
    return apply("add", low, apply("multiply", distance, share))
