"""Means and variances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gridlane.core.naming import named
from gridlane.xp.applying import cast
from gridlane.xp.arrays import Array
from gridlane.xp.nodes import CAST, Node
from gridlane.xp.reductions.functions import (
    Axes,
    accumulator_of,
    apply,
    axes_of,
    delivered,
    filled,
    is_floating,
    mask_of,
    node_of,
    reduced,
)


def _result(name: str, node: Node, dtype: Any) -> np.dtype[Any]:
    """The dtype of a mean: by default float64 for integers and bool.

    Raises:
        TypeError: it is no dtype of floats, or is real where the elements are complex.
    """
    if dtype is None:
        return node.dtype if is_floating(node.dtype) else np.dtype(np.float64)
    result = np.dtype(dtype)
    if not is_floating(result):
        raise TypeError(f"{name}: {result} holds no means")
    if node.dtype.kind == "c" and result.kind != "c":
        raise TypeError(f"{name}: complex numbers have no mean in {result}")
    return result


def _mean(
    node: Node,
    axes: tuple[int, ...],
    result: np.dtype[Any],
    own: np.dtype[Any],
    mask: Node | None,
    keepdims: bool,
) -> Node:
    if mask is None:
        return reduced("mean", node, axes, result, accumulator=own, keepdims=keepdims)
    total = reduced("sum", node, axes, own, keepdims=keepdims, where=mask)
    count = _counted(node, axes, mask, keepdims)
    return cast(apply("divide", total, cast(count, own)), result)


def _counted(node: Node, axes: tuple[int, ...], mask: Node, keepdims: bool) -> Node:
    """How many elements take part."""
    whole = Node(node.device, mask.dtype, node.shape, CAST, (mask,))
    own = np.dtype(np.int64)
    return reduced("count_nonzero", whole, axes, own, accumulator=mask.dtype, keepdims=keepdims)


def mean(
    x: Array,
    /,
    axis: Axes = None,
    dtype: Any = None,
    *,
    keepdims: bool = False,
    where: Any = None,
    out: Any = None,
) -> Array:
    """The mean of elements along axes: float64 for integers; float16 is summed in float32. It is
    NaN for no elements.

    Raises:
        AxisError: there is no such axis.

    >>> from gridlane import xp
    >>> mean(xp.asarray([[1, 2], [3, 4]]), axis=1)
    array([1.5, 3.5])
    """
    node = node_of(x, "mean")
    result = _result("mean", node, dtype)
    axes, mask = axes_of(axis, len(node.shape)), mask_of(where, node, "mean")
    value = _mean(node, axes, result, accumulator_of(result), mask, keepdims)
    return delivered(value, out, "mean")


def _variance(
    name: str, x: Any, axis: Axes, dtype: Any, correction: float, keepdims: bool, where: Any
) -> tuple[Node, np.dtype[Any]]:
    """The variance, and the dtype of the result."""
    node = node_of(x, name)
    result = _result(name, node, dtype)
    own = accumulator_of(result)
    real = np.dtype(np.float32 if own.itemsize == 8 else np.float64) if own.kind == "c" else own
    axes, mask = axes_of(axis, len(node.shape)), mask_of(where, node, name)
    middle = _mean(node, axes, own, own, mask, True)
    parts = apply("subtract", cast(node, own), middle)
    squares = reduced("squares", parts, axes, real, accumulator=own, keepdims=keepdims, where=mask)
    if mask is None:
        length = math.prod([node.shape[each] for each in axes])
        least = filled(squares, float(max(length - correction, 0)), real, ())
    else:
        count = cast(_counted(node, axes, mask, keepdims), real)
        least = apply("maximum", apply("subtract", count, float(correction)), 0.0)
    final = real if result.kind == "c" else result
    return apply("divide", squares, least), final


def _spread(name: str, text: str):
    def spread(
        x: Array,
        /,
        axis: Axes = None,
        dtype: Any = None,
        *,
        correction: float = 0.0,
        ddof: float | None = None,
        keepdims: bool = False,
        where: Any = None,
        out: Any = None,
    ) -> Array:
        less = correction if ddof is None else ddof
        value, final = _variance(name, x, axis, dtype, less, keepdims, where)
        made = value if name == "var" else apply("sqrt", value)
        return delivered(cast(made, final), out, name)

    return named(spread, name, text)


var = _spread(
    "var",
    """The variance along axes: the mean, then the mean of the squares of distances from it.

    Args:
        correction: is subtracted from the number of elements; ``ddof`` is NumPy's name for it.

    Raises:
        AxisError: there is no such axis.
    """,
)
std = _spread("std", "The square root of the variance along axes; see ``var``.")
