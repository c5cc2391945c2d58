"""How often elements are there: counts by value, by bins; the bins of elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.xp import transport, views
from gridlane.xp.applying import cast
from gridlane.xp.arrays import Array
from gridlane.xp.creation import asarray
from gridlane.xp.nodes import Node
from gridlane.xp.reductions.functions import apply, node_of, reduced
from gridlane.xp.sorting.binning import counted_between, counted_by_value
from gridlane.xp.sorting.ordering import INT64, gathered, in_order, numbers, permutation
from gridlane.xp.sorting.searching import comparable, contiguous_leaf, places_in
from gridlane.xp.sorting.segments import sums

_SUMS = np.dtype(np.float64)
"""The dtype of sums of weights."""


def _bounds(leaf: Node) -> tuple[Any, Any]:
    """The least and the greatest element."""
    axes = tuple(range(len(leaf.shape)))
    return tuple([Array(reduced(kind, leaf, axes, leaf.dtype)).item() for kind in ("min", "max")])


def bincount(x: Array, /, weights: Array | None = None, minlength: int = 0) -> Array:
    """How often each number from 0 to the greatest is in a vector of integers.

    Args:
        weights: of the elements; the results are their sums, in float64.
        minlength: the least number of counts.

    Raises:
        ValueError: the array has no one dimension, a negative element, or not one weight for each.
        TypeError: the elements are no integers.
    """
    node = node_of(x, "bincount")
    if len(node.shape) != 1:
        raise ValueError("bincount: the array has one dimension")
    if node.dtype.kind not in "iub" or node.dtype == np.uint64:
        raise TypeError(f"bincount: Cannot cast array data from {node.dtype} to int64")
    if minlength < 0:
        raise ValueError("'minlength' must not be negative")
    heavy = None if weights is None else _weights(weights, node, "bincount")
    leaf = contiguous_leaf(cast(node, INT64 if node.dtype.itemsize > 4 else np.dtype(np.int64)))
    least, most = _bounds(leaf) if leaf.size else (0, -1)
    if least < 0:
        raise ValueError("'list' argument must have no negative elements")
    count = max(most + 1, minlength)
    if not leaf.size:  # integers, of weights too, as NumPy has it
        return Array(cast(numbers(leaf, (count,), (0,)), INT64))
    if heavy is None:
        return Array(counted_by_value(leaf, count))
    order = permutation(leaf)
    ordered = contiguous_leaf(gathered(leaf, order))
    wanted = views.computed(numbers(leaf, (count,), (1,)))
    ends = [places_in(ordered, wanted, is_upper) for is_upper in (True, False)]
    return Array(sums(gathered(contiguous_leaf(cast(heavy, _SUMS)), order), ends[1], ends[0]))


def _weights(weights: Array, node: Node, name: str) -> Node:
    """A node of the weights of a node's elements.

    Raises:
        ValueError: there are more or fewer.
        TypeError: they are complex numbers.
    """
    heavy = node_of(weights, name)
    if heavy.shape != node.shape:
        raise ValueError(f"{name}: the weights have the shape {heavy.shape}, not {node.shape}")
    if heavy.dtype.kind == "c":
        raise TypeError(f"{name}: complex weights are not supported")
    return heavy


def histogram(
    x: Array,
    /,
    bins: Any = 10,
    range: tuple[float, float] | None = None,
    density: bool | None = False,
    weights: Array | None = None,
) -> tuple[Array, Array]:
    """How many elements are in each bin, and the bins' edges. The last bin has its upper edge.

    Args:
        bins: how many of one width, or their edges, ascending.
        range: from the first to the last edge; by default that of the elements.
        density: divide by the number of elements in all bins and by each one's width.
        weights: of the elements: their sums are in the place of the numbers of elements, floats of
            float64, which become the weights' dtype at the end.

    Raises:
        ValueError: there are no bins, the edges do not ascend, or the range is not finite.
        TypeError: the elements are complex.
    """
    node = node_of(x, "histogram")
    if node.dtype.kind == "c":
        raise TypeError("histogram: complex numbers have no order")
    host = _edges(node, bins, range)
    edges = asarray(host, device=x.device)
    heavy = None if weights is None else _weights(weights, node, "histogram")
    counts = counted_between(node, host) if heavy is None and node.size else None
    if counts is None:
        counts = _in_bins(node, edges, heavy)
    if density:
        total = reduced("sum", counts, (0,), counts.dtype)
        widths = asarray(np.diff(host).astype(np.float64), device=x.device)
        counts = apply("divide", apply("divide", counts, widths.node), total)
    elif heavy is not None:
        counts = cast(counts, heavy.dtype)
    return Array(counts), edges


def _in_bins(node: Node, edges: Array, heavy: Node | None) -> Node:
    """How many elements are in each bin, or the sums of their weights."""
    bins = edges.size - 1
    if not node.size:
        return cast(numbers(node, (bins,), (0,)), INT64 if heavy is None else _SUMS)
    flat = views.reshaped(contiguous_leaf(node), (node.size,))
    elements, at = comparable(flat, edges.node)
    order = None if heavy is None else permutation(elements)
    ordered = contiguous_leaf(in_order(elements) if order is None else gathered(elements, order))
    below = Array(views.computed(places_in(ordered, at, False)))
    up_to = Array(places_in(ordered, contiguous_leaf(Array(at)[-1:].node), True))
    from gridlane.xp.manipulation import concat

    ends = concat([below[1:-1], up_to]) if bins > 1 else up_to
    if heavy is None or order is None:
        return apply("subtract", ends.node, below[:-1].node)
    exact = views.reshaped(contiguous_leaf(cast(heavy, _SUMS)), (heavy.size,))
    return sums(gathered(exact, order), below[:-1].node, ends.node)


def _edges(node: Node, bins: Any, limits: tuple[float, float] | None) -> np.ndarray:
    """The edges of bins, by NumPy's rules."""
    if isinstance(bins, Array):
        bins = transport.downloaded(bins.node)
    if isinstance(bins, str):
        raise TypeError(f"histogram: bins by a rule ({bins!r}) are not supported; state how many")
    few = np.zeros(0, node.dtype)
    if np.ndim(bins) == 0 and limits is None and node.size:
        few = np.asarray(_bounds(contiguous_leaf(node)), node.dtype)
        if not np.all(np.isfinite(few)):
            raise ValueError(f"autodetected range of [{few[0]}, {few[1]}] is not finite")
    return np.histogram_bin_edges(few, bins, limits)


def digitize(x: Array, bins: Any, /, right: bool = False) -> Array:
    """The number of the bin that each element is in, by the monotonic edges of bins.

    Args:
        right: whether a bin has its upper edge, and not its lower one.

    Raises:
        ValueError: the edges are not monotonic.
    """
    node = node_of(x, "digitize")
    host = transport.downloaded(bins.node) if isinstance(bins, Array) else np.asarray(bins)
    if "c" in (node.dtype.kind, host.dtype.kind):
        raise TypeError("digitize: complex numbers have no order")
    is_ascending = bool(np.all(host[1:] >= host[:-1])) if host.ndim == 1 else False
    if host.ndim != 1 or not (is_ascending or np.all(host[1:] <= host[:-1])):
        raise ValueError("bins must be monotonically increasing or decreasing")
    edges = asarray(np.ascontiguousarray(host if is_ascending else host[::-1]), device=x.device)
    data, values = comparable(edges.node, node)
    if is_ascending:
        return Array(places_in(data, values, not right))
    return Array(apply("subtract", data.size, places_in(data, values, not right)))
