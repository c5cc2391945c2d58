"""Counts of elements between levels, or by value, by the histograms of ``gridlane.algorithms``."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.algorithms import histogram_even, histogram_range
from gridlane.xp import transport
from gridlane.xp.applying import cast
from gridlane.xp.computing import new_leaf
from gridlane.xp.exporting import over
from gridlane.xp.kernels import part_of
from gridlane.xp.nodes import Node
from gridlane.xp.sorting.ordering import INT64
from gridlane.xp.sorting.searching import contiguous_leaf

_FEW = np.dtype(np.int32)


def counted_between(node: Node, edges: np.ndarray) -> Node | None:
    """How many elements are from each edge to below the next, the last one included; None where
    there is no bin, or elements have no type whose numbers tell the same as the edges.

    Args:
        edges: real numbers, ascending.
    """
    samples = _samples(node)
    if samples is None or edges.size < 2:
        return None
    levels = levels_of(edges, samples.dtype)
    if levels is None:
        return None
    bins = edges.size - 1
    assert samples.device is not None
    counts = _counts(samples, bins)
    histogram_range(
        d_samples=over(samples),
        d_histogram=over(counts),
        d_levels=over(transport.uploaded(levels, samples.device)),
        num_output_levels=bins + 1,
        num_samples=samples.size,
    )
    return cast(counts, INT64)


def counted_by_value(leaf: Node, bins: int) -> Node:
    """How often each number from 0 is in a leaf of int64 numbers from 0 to below ``bins``."""
    counts = _counts(leaf, bins)
    histogram_even(
        d_samples=over(leaf),
        d_histogram=over(counts),
        num_output_levels=bins + 1,
        lower_level=np.int64(0),
        upper_level=np.int64(bins),
        num_samples=leaf.size,
    )
    return cast(counts, INT64)


def _counts(samples: Node, bins: int) -> Node:
    assert samples.device is not None
    return new_leaf(samples.device, _FEW if samples.size < 2**31 else INT64, (bins,))


def _samples(node: Node) -> Node | None:
    """The elements as numbers of 32 or 64 bits, each itself."""
    part = part_of(node.dtype)
    if part.is_float and part.size < 4:
        node = cast(node, np.dtype(np.float32))
    elif not part.is_float and part.size < 4:
        node = cast(node, _FEW)
    elif not part.is_float and part.size == 8:
        return None  # NumPy compares these as float64
    leaf = contiguous_leaf(node)
    assert leaf.storage is not None
    return leaf.storage.leaf(leaf.dtype, (leaf.size,), (1,), leaf.offset)


def levels_of(edges: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray | None:
    """The levels of a type of samples that tell what edges tell: the least number that is not below
    each edge, and for the last one the least that is above it. None if there is no such number.

    >>> levels_of(np.array([0.1, 2.0]), np.dtype(np.float32)).tolist()
    [0.10000000149011612, 2.000000238418579]
    """
    if dtype.kind != "f":
        exact = np.ceil(edges.astype(np.float64))
        last = np.floor(np.float64(edges[-1])) + 1
        most = float(2**62)
        return np.clip(np.append(exact[:-1], last), -most, most).astype(np.int64)
    if not np.isfinite(edges[-1]):
        return None
    with np.errstate(over="ignore"):
        near = edges.astype(dtype)
    levels = np.where(near < edges, np.nextafter(near, dtype.type(np.inf)), near)
    last = near[-1]
    levels[-1] = last if last > edges[-1] else np.nextafter(last, dtype.type(np.inf))
    return levels
