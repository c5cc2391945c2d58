"""Sorting along a dimension."""

from __future__ import annotations

from typing import Any, NamedTuple

from gridlane.xp import views
from gridlane.xp.applying import cast
from gridlane.xp.arrays import Array
from gridlane.xp.computing import copied
from gridlane.xp.nodes import Node
from gridlane.xp.reductions.functions import apply, filled, node_of
from gridlane.xp.sorting.ordering import (
    INT64,
    back,
    gathered,
    in_order,
    offsets,
    permutation,
    rows_of,
)
from gridlane.xp.sorting.searching import contiguous_leaf, take_along_axis
from gridlane.xp.sorting.selecting import candidates

KINDS = (None, "quicksort", "heapsort", "mergesort", "stable")


def _checked(name: str, x: Any, axis: int | None, kind: str | None) -> tuple[Node, int]:
    """The node and the dimension; that of all elements for None.

    Raises:
        AxisError: there is no such dimension.
        ValueError: there is no such kind.
    """
    node = node_of(x, name)
    if kind not in KINDS:
        raise ValueError(f"{name}: kind is one of {', '.join(map(repr, KINDS[1:]))}, not {kind!r}")
    if axis is None:
        node, axis = views.reshaped(node, (node.size,)), 0
    return node, views.axis_of(axis, len(node.shape))


def sort(
    x: Array,
    /,
    axis: int | None = -1,
    kind: str | None = None,
    *,
    descending: bool = False,
    stable: bool | None = True,
) -> Array:
    """The elements in order along a dimension; in one dimension for None. NaN is last in either
    order, complex numbers are ordered by their real parts first, and equal elements keep their
    order, whatever ``kind`` and ``stable`` are.

    Raises:
        AxisError: there is no such dimension.

    >>> from gridlane import xp
    >>> sort(xp.asarray([3, 1, 2]))
    array([1, 2, 3])
    """
    node, along = _checked("sort", x, axis, kind)
    if node.size <= 1:
        return Array(copied(node))
    return Array(back(in_order(rows_of(node, along), descending), along))


def argsort(
    x: Array,
    /,
    axis: int | None = -1,
    kind: str | None = None,
    *,
    descending: bool = False,
    stable: bool | None = True,
) -> Array:
    """The indices of the elements in order along a dimension; see ``sort``.

    >>> from gridlane import xp
    >>> argsort(xp.asarray([3, 1, 2]))
    array([1, 2, 0])
    """
    node, along = _checked("argsort", x, axis, kind)
    if node.size <= 1:
        return Array(filled(node, 0, INT64, node.shape))
    rows = rows_of(node, along)
    order = permutation(rows, descending)
    if rows.size > rows.shape[-1]:
        order = apply("subtract", cast(order, INT64), offsets(rows, rows.shape))
    return Array(back(cast(order, INT64), along))


def partition(x: Array, kth: Any, /, axis: int | None = -1, kind: str | None = None) -> Array:
    """NumPy's ``partition``, by a sort: the elements at ``kth`` are at their places in order."""
    result = sort(x, axis=axis)
    _check_kth(result, kth, axis)
    return result


def argpartition(x: Array, kth: Any, /, axis: int | None = -1, kind: str | None = None) -> Array:
    """The indices of ``partition``, by a sort."""
    result = argsort(x, axis=axis)
    _check_kth(result, kth, axis)
    return result


def _check_kth(result: Array, kth: Any, axis: int | None) -> None:
    extent = result.shape[-1 if axis is None else axis]
    for each in kth if isinstance(kth, (tuple, list)) else (kth,):
        if not -extent <= each < extent:
            raise ValueError(f"kth(={each}) out of bounds ({extent})")


class TopK(NamedTuple):
    """The results of ``top_k``."""

    values: Array
    indices: Array


def top_k(x: Array, k: int, /, *, axis: int = -1, mode: str = "largest") -> TopK:
    """The ``k`` largest or smallest elements along a dimension, in order, and their indices. NaN
    come behind all numbers.

    Raises:
        AxisError: there is no such dimension.
        ValueError: there are not so many elements, or there is no such mode.

    >>> from gridlane import xp
    >>> top_k(xp.asarray([3, 1, 2]), 2).values
    array([3, 2])
    """
    if mode not in ("largest", "smallest"):
        raise ValueError(f"top_k: mode is 'largest' or 'smallest', not {mode!r}")
    node = node_of(x, "top_k")
    along = views.axis_of(axis, len(node.shape))
    if not 0 <= k <= node.shape[along]:
        raise ValueError(f"top_k: k is {k}, and there are {node.shape[along]} elements")
    descending = mode == "largest"
    if len(node.shape) == 1:
        leaf = contiguous_leaf(node)
        places = candidates(leaf, k, descending)
        if places is not None:
            few = Array(gathered(leaf, views.computed(places)))
            order = argsort(few, descending=descending)[:k]
            return TopK(take_along_axis(few, order), take_along_axis(Array(places), order))
    order = argsort(x, axis=along, descending=descending)
    indices = order[(slice(None),) * along + (slice(0, k),)]
    return TopK(take_along_axis(x, indices, axis=along), indices)
