"""Operations of the table's sources that are defined over an axis: reductions build them."""

from __future__ import annotations

from typing import NamedTuple


class OverAnAxis(NamedTuple):
    """An operation along an axis.

    Attributes:
        name: its name.
        operands: the arrays and numbers that it takes beside the axis.
        keeps_axis: whether the result has the axis.
        definition: in terms of NumPy's functions and the table's, along ``axis``.
    """

    name: str
    operands: tuple[str, ...]
    keeps_axis: bool
    definition: str


_SIZE = "sqrt(sum(abs({0})**2, axis))"

OVER_AN_AXIS = (
    OverAnAxis(
        "softmax",
        ("x",),
        True,
        "e / sum(e, axis) of e = exp(x - max(x, axis))",
    ),
    OverAnAxis(
        "log_softmax",
        ("x",),
        True,
        "d - log(sum(exp(d), axis)) of d = x - max(x, axis)",
    ),
    OverAnAxis(
        "sparsemax",
        ("x",),
        True,
        "maximum(x - tau, 0), with the tau for which that sums to 1: for the elements z in falling "
        "order, k is the largest number with 1 + k * z[k] > sum(z[:k]), and tau is "
        "(sum(z[:k]) - 1) / k (Martins and Astudillo, 2016)",
    ),
    OverAnAxis(
        "gumbel_softmax",
        ("x", "temperature", "seed"),
        True,
        "softmax((x + gumbel_noise(n, seed)) / temperature, axis), where n are the int32 numbers "
        "of the elements in C's order",
    ),
    OverAnAxis("length", ("x",), False, _SIZE.format("x") + ", without overflow"),
    OverAnAxis(
        "normalize_vector",
        ("x",),
        True,
        "x / length(x, axis); 0 where the length is 0",
    ),
    OverAnAxis(
        "cosine_similarity",
        ("x", "y"),
        False,
        "sum(x * y, axis) / (length(x, axis) * length(y, axis)); NaN where a length is 0",
    ),
    OverAnAxis("cosine_distance", ("x", "y"), False, "1 - cosine_similarity(x, y, axis)"),
    OverAnAxis("distance_euclidean", ("x", "y"), False, "length(x - y, axis)"),
    OverAnAxis("distance_manhattan", ("x", "y"), False, "sum(abs(x - y), axis)"),
    OverAnAxis("distance_chebyshev", ("x", "y"), False, "max(abs(x - y), axis)"),
    OverAnAxis(
        "distance_minkowski",
        ("x", "y", "p"),
        False,
        "sum(abs(x - y)**p, axis)**(1 / p), without overflow",
    ),
    OverAnAxis(
        "iqr",
        ("x",),
        False,
        "quantile(x, 0.75, axis) - quantile(x, 0.25, axis), interpolated linearly",
    ),
    OverAnAxis(
        "mad",
        ("x",),
        False,
        "median(abs(x - median(x, axis)), axis), not scaled",
    ),
    OverAnAxis(
        "winsorize",
        ("x", "low", "high"),
        True,
        "clip(x, quantile(x, low, axis), quantile(x, 1 - high, axis)), interpolated linearly",
    ),
)
"""Operations over an axis, with their definitions. ``max``, ``sum``, ``quantile`` and ``median``
have ``keepdims`` where the definition broadcasts them."""
