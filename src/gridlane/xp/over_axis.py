"""Functions over an axis, built of reductions: those of ``operations.OVER_AN_AXIS``, and
``logsumexp``. Integers are computed in float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.xp.applying import cast
from gridlane.xp.arrays import Array
from gridlane.xp.nodes import Node, contiguous
from gridlane.xp.reductions.functions import (
    Axes,
    accumulator_of,
    apply,
    axes_of,
    is_floating,
    node_of,
    reduced,
)
from gridlane.xp.reductions.scans import cumulative_sum
from gridlane.xp.sorting.ordering import numbers
from gridlane.xp.sorting.quantiles import median, quantile
from gridlane.xp.sorting.searching import take_along_axis
from gridlane.xp.sorting.sorts import sort


def _floats(name: str, x: Any) -> Node:
    """The elements as floats."""
    node = node_of(x, name)
    return node if is_floating(node.dtype) else cast(node, np.dtype(np.float64))


def _real(name: str, x: Any) -> Node:
    node = _floats(name, x)
    if node.dtype.kind == "c":
        raise TypeError(f"{name}: complex numbers have no order")
    return node


def _most(node: Node, axes: tuple[int, ...], keepdims: bool = True) -> Node:
    """The greatest element along axes; 0 for none."""
    return reduced("max", node, axes, node.dtype, keepdims=keepdims)


def _sum(node: Node, axes: tuple[int, ...], keepdims: bool) -> Node:
    return reduced("sum", node, axes, node.dtype, keepdims=keepdims)


# --- exponentials ---


def logsumexp(x: Array, /, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """The logarithm of the sum of exponentials along axes, without overflow.

    Raises:
        AxisError: there is no such axis.
        ValueError: there are no elements.
    """
    node = _real("logsumexp", x)
    axes = axes_of(axis, len(node.shape))
    _check_elements("logsumexp", node, axes)
    most = _most(node, axes)
    most = apply("where", apply("isfinite", most), most, 0)
    powers = apply("exp", apply("subtract", node, most))
    total = apply("log", _sum(powers, axes, True))
    result = Array(apply("add", total, most))
    return result if keepdims else result.squeeze(axes)


def _check_elements(name: str, node: Node, axes: tuple[int, ...]) -> None:
    if 0 in [node.shape[each] for each in axes]:
        raise ValueError(f"{name}: there are no elements along the axis")


def softmax(x: Array, /, axis: Axes = -1) -> Array:
    """Exponentials divided by their sum along axes, without overflow."""
    node = _real("softmax", x)
    axes = axes_of(axis, len(node.shape))
    if not node.size:
        return Array(node)
    return Array(_softmax(node, axes))


def _softmax(node: Node, axes: tuple[int, ...]) -> Node:
    powers = apply("exp", apply("subtract", node, _most(node, axes)))
    return apply("divide", powers, _sum(powers, axes, True))


def log_softmax(x: Array, /, axis: Axes = -1) -> Array:
    """The logarithm of ``softmax``, without overflow and cancellation."""
    node = _real("log_softmax", x)
    axes = axes_of(axis, len(node.shape))
    if not node.size:
        return Array(node)
    distances = apply("subtract", node, _most(node, axes))
    total = _sum(apply("exp", distances), axes, True)
    return Array(apply("subtract", distances, apply("log", total)))


def gumbel_softmax(
    x: Array, /, temperature: float = 1.0, seed: int = 0, *, axis: Axes = -1
) -> Array:
    """``softmax`` of the elements with Gumbel noise, divided by a temperature. The noise is that of
    ``gumbel_noise`` of the elements' numbers in C's order and the seed."""
    node = _real("gumbel_softmax", x)
    places = cast(numbers(node, node.shape, contiguous(node.shape)), np.dtype(np.int32))
    noise = cast(apply("gumbel_noise", places, int(seed)), node.dtype)
    scaled = apply("divide", apply("add", node, noise), float(temperature))
    return Array(_softmax(scaled, axes_of(axis, len(node.shape)))) if node.size else Array(node)


def sparsemax(x: Array, /, axis: int = -1) -> Array:
    """The nearest point of the probability simplex along an axis (Martins and Astudillo, 2016)."""
    node = _real("sparsemax", x)
    (along,) = axes_of(axis, len(node.shape))
    if not node.size:
        return Array(node)
    rows = Array(node)
    falling = sort(rows, axis=along, descending=True)
    sums = cumulative_sum(falling, axis=along, dtype=accumulator_of(node.dtype))
    shape = tuple([1 if each != along else n for each, n in enumerate(node.shape)])
    steps = tuple([int(each == along) for each in range(len(shape))])
    ranks = cast(apply("add", numbers(node, shape, steps), 1), sums.dtype)
    is_inside = apply("greater", apply("add", apply("multiply", ranks, falling.node), 1), sums.node)
    count = reduced(
        "count_nonzero",
        is_inside,
        (along,),
        np.dtype(np.int64),
        accumulator=np.dtype(bool),
        keepdims=True,
    )
    total = take_along_axis(sums, Array(apply("subtract", count, 1)), axis=along)
    tau = apply("divide", apply("subtract", total.node, 1), cast(count, sums.dtype))
    return Array(cast(apply("maximum", apply("subtract", node, tau), 0), node.dtype))


# --- lengths and distances ---


def _length(node: Node, axes: tuple[int, ...], keepdims: bool, power: float = 2.0) -> Node:
    """The root of the sum of powers of absolute values, scaled by the greatest."""
    sizes = apply("abs", node)
    if not node.size:
        return _sum(sizes, axes, keepdims)
    most = _most(sizes, axes)
    is_scale = apply("logical_and", apply("isfinite", most), apply("greater", most, 0))
    scale = apply("where", is_scale, most, 1)
    shares = apply("divide", sizes, scale)
    if power == 2.0:
        root = apply("sqrt", _sum(apply("square", shares), axes, True))
    else:
        root = apply("power", _sum(apply("power", shares, power), axes, True), 1 / power)
    result = apply("multiply", root, scale)
    return result if keepdims else Array(result).squeeze(axes).node


def length(x: Array, /, axis: Axes = -1, *, keepdims: bool = False) -> Array:
    """The Euclidean length of vectors along axes, without overflow."""
    node = _floats("length", x)
    return Array(_length(node, axes_of(axis, len(node.shape)), keepdims))


def normalize_vector(x: Array, /, axis: Axes = -1) -> Array:
    """Vectors along axes divided by their lengths; those of length 0 stay 0."""
    node = _floats("normalize_vector", x)
    size = _length(node, axes_of(axis, len(node.shape)), True)
    divisor = apply("where", apply("equal", size, 0), 1, size)
    return Array(apply("divide", node, divisor))


def _difference(name: str, x: Any, y: Any, axis: Axes) -> tuple[Node, tuple[int, ...]]:
    node = apply("subtract", _floats(name, x), _floats(name, y))
    return node, axes_of(axis, len(node.shape))


def cosine_similarity(x: Array, y: Array, /, axis: Axes = -1) -> Array:
    """The cosine of the angle of vectors along axes; NaN where one has the length 0."""
    own, other = _real("cosine_similarity", x), _real("cosine_similarity", y)
    sides = []
    for each in (own, other):
        size = _length(each, axes_of(axis, len(each.shape)), True)
        sides.append(apply("divide", each, size))
    product = apply("multiply", *sides)
    return Array(_sum(product, axes_of(axis, len(product.shape)), False))


def cosine_distance(x: Array, y: Array, /, axis: Axes = -1) -> Array:
    """1 less ``cosine_similarity``."""
    return Array(apply("subtract", 1, cosine_similarity(x, y, axis=axis).node))


def distance_euclidean(x: Array, y: Array, /, axis: Axes = -1) -> Array:
    """The length of the difference of vectors along axes."""
    node, axes = _difference("distance_euclidean", x, y, axis)
    return Array(_length(node, axes, False))


def distance_manhattan(x: Array, y: Array, /, axis: Axes = -1) -> Array:
    """The sum of absolute differences along axes."""
    node, axes = _difference("distance_manhattan", x, y, axis)
    return Array(_sum(apply("abs", node), axes, False))


def distance_chebyshev(x: Array, y: Array, /, axis: Axes = -1) -> Array:
    """The greatest absolute difference along axes."""
    node, axes = _difference("distance_chebyshev", x, y, axis)
    _check_elements("distance_chebyshev", node, axes)
    return Array(_most(apply("abs", node), axes, False))


def distance_minkowski(x: Array, y: Array, /, p: float, *, axis: Axes = -1) -> Array:
    """The ``p``-th root of the sum of ``p``-th powers of absolute differences, without overflow.

    Raises:
        ValueError: ``p`` is not above 0.
    """
    if not p > 0:
        raise ValueError(f"distance_minkowski: p is above 0, not {p}")
    if p == float("inf"):
        return distance_chebyshev(x, y, axis=axis)
    node, axes = _difference("distance_minkowski", x, y, axis)
    return Array(_length(node, axes, False, float(p)))


# --- order statistics ---


def iqr(x: Array, /, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """The distance of the quantiles 1/4 and 3/4 along axes."""
    upper, lower = [quantile(x, part, axis=axis, keepdims=keepdims) for part in (0.75, 0.25)]
    return Array(apply("subtract", upper.node, lower.node))


def mad(x: Array, /, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """The median of the distances from the median along axes."""
    node = _real("mad", x)
    middle = median(Array(node), axis=axis, keepdims=True)
    distances = apply("abs", apply("subtract", node, middle.node))
    return median(Array(distances), axis=axis, keepdims=keepdims)


def winsorize(x: Array, /, low: float, high: float, *, axis: Axes = None) -> Array:
    """The elements limited to the quantiles ``low`` and ``1 - high`` along axes.

    Raises:
        ValueError: a quantile is not from 0 to 1.
    """
    node = _real("winsorize", x)
    array = Array(node)
    least = quantile(array, low, axis=axis, keepdims=True)
    most = quantile(array, 1 - high, axis=axis, keepdims=True)
    return Array(apply("minimum", apply("maximum", node, least.node), most.node))
