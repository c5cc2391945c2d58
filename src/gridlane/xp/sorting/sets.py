"""Arrays as sets: distinct elements, their counts, membership."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gridlane.algorithms import unique as first_of_runs
from gridlane.xp import views
from gridlane.xp.applying import cast
from gridlane.xp.arrays import Array
from gridlane.xp.computing import new_leaf, store
from gridlane.xp.creation import asarray
from gridlane.xp.exporting import over
from gridlane.xp.manipulation import concat, moveaxis
from gridlane.xp.nodes import Node
from gridlane.xp.reductions.functions import any as any_
from gridlane.xp.reductions.functions import apply, filled, node_of
from gridlane.xp.sorting.ordering import INT64, gathered, in_order, numbers, permutation, refined
from gridlane.xp.sorting.searching import (
    comparable,
    contiguous_leaf,
    places_in,
    places_of,
    true_counts,
)


class UniqueAll(NamedTuple):
    """The results of ``unique_all``."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    """The results of ``unique_counts``."""

    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    """The results of ``unique_inverse``."""

    values: Array
    inverse_indices: Array


_LEAST = 1 << 14
"""Fewer elements need no pass of their own."""


class _Groups:
    """The equal elements of an array, in order. Each NaN is distinct from all, also from NaN.

    Attributes:
        order: places among all elements, sorted by these, if they are needed.
        values: the elements in order.
    """

    def __init__(
        self, x: Any, name: str, equal_nan: bool = False, needs_places: bool = True
    ) -> None:
        node = node_of(x, name)
        self.shape, self.size = node.shape, node.size
        leaf = contiguous_leaf(views.reshaped(contiguous_leaf(node), (node.size,)))
        self.leaf = leaf
        if not self.size:
            return
        if needs_places:
            self.order = views.computed(permutation(leaf))
            self.values = views.computed(gathered(leaf, self.order))
        else:  # a sort of the elements alone takes half the time
            self.values = contiguous_leaf(in_order(leaf))
        array = Array(self.values)
        before, after = array[:-1].node, array[1:].node
        differs = apply("not_equal", after, before)
        if equal_nan and leaf.dtype.kind in "fc":
            both = apply("logical_and", apply("isnan", before), apply("isnan", after))
            differs = apply("logical_and", differs, apply("logical_not", both))
        self._differs = differs

    @cached_property
    def numbers(self) -> Node:
        """The number of the group of each element in order, from 1."""
        first = Array(filled(self.leaf, True, np.dtype(bool), (1,)))
        return true_counts(views.computed(concat([first, Array(self._differs)]).node))

    @cached_property
    def first(self) -> Node:
        """The places in order of the first element of each group."""
        return views.computed(places_of(self.numbers))

    def distinct(self) -> Array:
        """An element of each group."""
        if not self.size:
            return Array(self.leaf)
        if self.values.dtype.kind not in "iub":
            return Array(gathered(self.values, self.first))
        # The elements of a group are one integer, so it is no matter which one is stored last.
        places = apply("subtract", cast(self.numbers, INT64), 1)
        return self._spread(self.values, places, int(Array(self.numbers)[-1]))

    def distinct_alone(self) -> Array:
        """``distinct``, where groups have no other use: one pass over integers does without their
        numbers, on devices where that is faster."""
        device = self.leaf.device
        is_exact = self.leaf.dtype.kind in "iu" and self.size >= _LEAST
        is_one_pass = device is not None and device.limits.independent_blocks
        if device is None or not is_exact or not is_one_pass or device.host_visible:
            return self.distinct()
        out, total = new_leaf(device, self.leaf.dtype, (self.size,)), new_leaf(device, INT64, (1,))
        first_of_runs(
            d_in=over(self.values),
            d_out=over(out),
            d_num_selected_out=over(total),
            num_items=self.size,
        )
        count = int(Array(total)[0])
        result = Array(out)[:count]
        return result if 2 * count >= self.size else result.copy()  # of less memory

    def _spread(self, node: Node, places: Node, count: int) -> Array:
        """A vector with elements at places."""
        assert self.leaf.device is not None
        # An array: what a store finds without one keeps its old elements.
        target = Array(new_leaf(self.leaf.device, node.dtype, (count,)))
        storage = target.node.storage
        assert storage is not None
        store(node, storage.leaf(node.dtype, node.shape, (0,), 0), ((places, 1, count),))
        return target

    def indices(self) -> Array:
        """The place of the first element of each group."""
        if not self.size:
            return Array(cast(self.leaf, INT64))
        return Array(cast(gathered(self.order, self.first), INT64))

    def counts(self) -> Array:
        """The number of elements of each group."""
        if not self.size:
            return Array(cast(self.leaf, INT64))
        end = Array(filled(self.leaf, self.size, INT64, (1,)))
        ends = concat([Array(self.first)[1:], end])
        return Array(apply("subtract", ends.node, self.first))

    def inverse(self) -> Array:
        """The group of each element, in the array's shape."""
        if not self.size:
            return Array(views.reshaped(cast(self.leaf, INT64), self.shape))
        numbers = apply("subtract", cast(self.numbers, INT64), 1)
        target = self._spread(numbers, cast(self.order, INT64), self.size)
        return Array(views.reshaped(target.node, self.shape))


class _Subarrays(_Groups):
    """The equal subarrays along a dimension, in the order of their first elements, then of their
    second ones and so on. A subarray with NaN is distinct from all."""

    def __init__(self, x: Any, axis: int) -> None:
        node = node_of(x, "unique")
        along = views.axis_of(axis, len(node.shape))
        self.shape, self.size = (node.shape[along],), node.shape[along]
        self._along, self._moved = along, moveaxis(x, along, 0)
        self.leaf = views.computed(filled(node, 0, INT64, self.shape))
        if not self.size:
            return
        width = node.size // self.size
        rows = Array(contiguous_leaf(self._moved.reshape(self.size, width).node))
        order = None
        for column in reversed(range(width)):
            order = refined(contiguous_leaf(rows[:, column].node), order)
        own = numbers(self.leaf, self.shape, (1,)) if order is None else order
        self.order = views.computed(cast(own, INT64))
        values = rows[Array(self.order)] if width else rows
        self._differs = any_(values[1:] != values[:-1], axis=1).node

    def distinct(self) -> Array:
        """A subarray of each group."""
        if not self.size:
            return moveaxis(self._moved, 0, self._along)
        return moveaxis(self._moved[self.indices()], 0, self._along)


def unique_all(x: Array, /) -> UniqueAll:
    """The distinct elements in order, the place in C's order of the first of each, the number of
    each element's in ``values``, and how often each is there. Every NaN is distinct."""
    groups = _Groups(x, "unique_all")
    return UniqueAll(groups.distinct(), groups.indices(), groups.inverse(), groups.counts())


def unique_counts(x: Array, /) -> UniqueCounts:
    """The distinct elements in order, and how often each is there; see ``unique_all``."""
    groups = _Groups(x, "unique_counts", needs_places=False)
    return UniqueCounts(groups.distinct(), groups.counts())


def unique_inverse(x: Array, /) -> UniqueInverse:
    """The distinct elements in order, and the number of each element's; see ``unique_all``."""
    groups = _Groups(x, "unique_inverse")
    return UniqueInverse(groups.distinct(), groups.inverse())


def unique_values(x: Array, /) -> Array:
    """The distinct elements in order; every NaN is distinct."""
    return _Groups(x, "unique_values", needs_places=False).distinct_alone()


def unique(
    x: Array,
    /,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """NumPy's ``unique`` of all elements: as ``unique_all``, but NaN are equal by default.

    Args:
        axis: whose subarrays are compared in the place of elements. It takes a sort for each
            element of a subarray, and NaN are distinct.
        sorted: the results are in order also if it is false.

    Raises:
        AxisError: there is no such axis.
    """
    if axis is None:
        groups = _Groups(x, "unique", equal_nan, return_index or return_inverse)
    else:
        groups = _Subarrays(x, axis)
    if not (return_index or return_inverse or return_counts) and axis is None:
        return groups.distinct_alone()
    results = [groups.distinct()]
    results += [groups.indices()] if return_index else []
    results += [groups.inverse()] if return_inverse else []
    results += [groups.counts()] if return_counts else []
    return tuple(results) if len(results) > 1 else results[0]


def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Array:
    """Whether each element of ``x1`` is in ``x2``; NaN is in no array. One of them may be a number.

    Raises:
        TypeError: neither operand is an array.
    """
    like = x1 if isinstance(x1, Array) else x2
    node_of(like, "isin")
    first, second = [
        each if isinstance(each, Array) else asarray(each, device=like.device) for each in (x1, x2)
    ]
    wanted, elements = comparable(first.node, second.node)
    if not elements.size or not wanted.size:
        return Array(filled(elements, invert, np.dtype(bool), wanted.shape))
    flat = views.reshaped(elements, (elements.size,))
    ordered = contiguous_leaf(gathered(flat, permutation(flat)))
    places = apply("minimum", places_in(ordered, wanted, False), ordered.size - 1)
    name = "not_equal" if invert else "equal"
    return Array(apply(name, gathered(ordered, places), wanted))
