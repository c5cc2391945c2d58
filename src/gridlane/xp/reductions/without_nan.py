"""Reductions and scans that leave NaN out, with NumPy's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.core.naming import named
from gridlane.xp.applying import cast
from gridlane.xp.arrays import Array
from gridlane.xp.nodes import Node
from gridlane.xp.operations.loops import promoted
from gridlane.xp.reductions import functions, scans, statistics
from gridlane.xp.reductions.functions import Axes, apply, delivered, node_of, reduced, reduced_axes
from gridlane.xp.views import axis_of


def _numbers(node: Node) -> Array | None:
    """Which elements are no NaN; None where none can be."""
    if not functions.is_floating(node.dtype):
        return None
    return Array(apply("logical_not", apply("isnan", node)))


def _total(name: str):
    whole = getattr(functions, name)

    def total(
        x: Array,
        /,
        axis: Axes = None,
        dtype: Any = None,
        *,
        keepdims: bool = False,
        out: Any = None,
    ) -> Array:
        mask = _numbers(node_of(x, f"nan{name}"))
        return whole(x, axis, dtype, keepdims=keepdims, where=mask, out=out)

    return named(total, f"nan{name}", f"``{name}`` of the elements that are no NaN.")


nansum, nanprod = _total("sum"), _total("prod")


def nanmean(x: Array, /, axis: Axes = None, dtype: Any = None, *, keepdims: bool = False) -> Array:
    """``mean`` of the elements that are no NaN."""
    mask = _numbers(node_of(x, "nanmean"))
    return statistics.mean(x, axis=axis, dtype=dtype, keepdims=keepdims, where=mask)


def _spread(name: str):
    measure = getattr(statistics, name)

    def spread(x: Array, /, axis: Axes = None, *, ddof: float = 0, keepdims: bool = False) -> Array:
        """NaN where no more than ``ddof`` elements take part."""
        mask = _numbers(node_of(x, f"nan{name}"))
        value = measure(x, axis=axis, correction=ddof, keepdims=keepdims, where=mask)
        if mask is None or not ddof:
            return value
        count = functions.count_nonzero(mask, axis=axis, keepdims=keepdims)
        return Array(apply("where", apply("greater", count.node, ddof), value.node, float("nan")))

    return named(spread, f"nan{name}", f"``{name}`` of the elements that are no NaN.")


nanvar, nanstd = _spread("var"), _spread("std")


def _extreme(name: str, text: str):
    def extreme(
        x: Array, /, axis: Axes = None, *, keepdims: bool = False, out: Any = None
    ) -> Array:
        node = node_of(x, f"nan{name}")
        if not functions.is_floating(node.dtype):
            return getattr(functions, name)(x, axis=axis, keepdims=keepdims, out=out)
        axes = reduced_axes(axis, len(node.shape))
        if 0 in [node.shape[each] for each in axes]:
            raise ValueError(f"nan{name}: an array of no elements has no {name}")
        result = reduced(f"nan{name}", node, axes, node.dtype, keepdims=keepdims)
        return delivered(result, out, f"nan{name}")

    return named(extreme, f"nan{name}", text)


nanmin = _extreme("min", "The least element that is no NaN; NaN where there is none.")
nanmax = _extreme("max", "The greatest element that is no NaN; NaN where there is none.")


def _argument(name: str, worst: float, text: str):
    def argument(x: Array, /, axis: int | None = None, *, keepdims: bool = False) -> Array:
        node = node_of(x, f"nan{name}")
        mask = _numbers(node)
        if mask is None:
            return getattr(functions, name)(x, axis=axis, keepdims=keepdims)
        if node.size and not bool(functions.all(functions.any(mask, axis=axis))):
            raise ValueError("All-NaN slice encountered")
        numbers = Array(apply("where", mask.node, node, worst))
        return getattr(functions, name)(numbers, axis=axis, keepdims=keepdims)

    return named(argument, f"nan{name}", text)


nanargmin = _argument(
    "argmin",
    float("inf"),
    """The index of the first least element that is no NaN.

    Raises:
        ValueError: all elements of a row are NaN.
    """,
)
nanargmax = _argument(
    "argmax",
    float("-inf"),
    "The index of the first greatest element that is no NaN; see ``nanargmin``.",
)


def _filled(x: Any, name: str, value: int) -> Any:
    mask = _numbers(node_of(x, name))
    return x if mask is None else Array(apply("where", mask.node, x.node, value))


def nancumsum(x: Array, /, axis: int | None = None, dtype: Any = None, out: Any = None) -> Array:
    """``cumsum`` with NaN as 0."""
    return scans.cumsum(_filled(x, "nancumsum", 0), axis, dtype, out)


def nancumprod(x: Array, /, axis: int | None = None, dtype: Any = None, out: Any = None) -> Array:
    """``cumprod`` with NaN as 1."""
    return scans.cumprod(_filled(x, "nancumprod", 1), axis, dtype, out)


def ptp(x: Array, /, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """The distance of the greatest and the least element along axes."""
    most = functions.max(x, axis=axis, keepdims=keepdims)
    least = functions.min(x, axis=axis, keepdims=keepdims)
    return Array(apply("subtract", most.node, least.node))


def average(
    x: Array, /, axis: Axes = None, weights: Array | None = None, *, keepdims: bool = False
) -> Array:
    """The mean with weights, which broadcast to the elements; or have one dimension, that of the
    axis.

    Raises:
        ZeroDivisionError: a sum of weights is zero.
    """
    node = node_of(x, "average")
    if weights is None:
        return statistics.mean(x, axis=axis, keepdims=keepdims)
    given = node_of(weights, "average")
    if given.shape != node.shape:
        if not isinstance(axis, int) or len(given.shape) != 1:
            raise TypeError("average: weights of another shape have one dimension, that of axis")
        along = axis_of(axis, len(node.shape))
        if given.shape[0] != node.shape[along]:
            raise ValueError("Length of weights not compatible with specified axis.")
        after = len(node.shape) - 1 - along
        given = weights.reshape((given.shape[0], *[1] * after)).node
    wide = promoted((node.dtype, given.dtype))
    if node.dtype.kind in "biu":
        wide = promoted((wide, np.dtype(np.float64)))
    elements, factors = cast(node, wide), cast(given, wide)
    ones = functions.filled(node, 1, wide, node.shape)
    whole = Array(apply("multiply", factors, ones))
    scale = functions.sum(whole, axis=axis, keepdims=keepdims)
    if bool(functions.any(Array(apply("equal", scale.node, 0)))):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    product = Array(apply("multiply", elements, factors))
    total = functions.sum(product, axis=axis, keepdims=keepdims)
    return Array(apply("divide", total.node, scale.node))
