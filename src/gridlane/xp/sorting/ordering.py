"""The order of elements along the last dimension: a permutation, and elements at places."""

from __future__ import annotations

import math

import numpy as np

from gridlane.algorithms import SortOrder, radix_sort
from gridlane.xp import views
from gridlane.xp.applying import cast
from gridlane.xp.computing import copied, new_leaf
from gridlane.xp.exporting import over
from gridlane.xp.kernels import part_of
from gridlane.xp.nodes import Gather, Node, Shape, contiguous, index
from gridlane.xp.reductions.functions import apply

INT64 = np.dtype(np.int64)
_SMALL = np.dtype(np.int32)


def rows_of(node: Node, axis: int) -> Node:
    """A leaf in C's order with a dimension as the last one."""
    rank = len(node.shape)
    if axis == rank - 1:
        leaf = views.computed(node)
        return leaf if leaf.is_contiguous else copied(leaf)
    order = (*[each for each in range(rank) if each != axis], axis)
    return copied(views.permuted(node, order))


def back(node: Node, axis: int) -> Node:
    """The last dimension at its place again."""
    rank = len(node.shape)
    if axis == rank - 1:
        return node
    order = list(range(rank - 1))
    order.insert(axis, rank - 1)
    return views.permuted(node, tuple(order))


def gathered(leaf: Node, places: Node) -> Node:
    """The elements of a leaf in C's order at places among all of them, which are in bounds."""
    assert leaf.storage is not None
    flat = leaf.storage.leaf(leaf.dtype, (leaf.size,), (1,), leaf.offset)
    gather = Gather(flat, (0,) * len(places.shape), ((1, leaf.size),))
    return Node(leaf.device, leaf.dtype, places.shape, gather, (cast(places, INT64),))


def numbers(like: Node, shape: Shape, steps: Shape) -> Node:
    """An int64 node of indices times steps, on a node's device."""
    assert like.device is not None
    return index(like.device, shape, steps)


def permutation(leaf: Node, descending: bool = False) -> Node:
    """The places among all elements of a leaf in C's order, in the order of each row along the last
    dimension. Equal elements keep their order; NaN is last; complex numbers are ordered by their
    real parts first. Of these, NumPy's order has numbers before those with one NaN, an imaginary
    before a real one."""
    if leaf.dtype.kind == "c":
        parts = [views.computed(apply(name, leaf)) for name in ("imag", "real")]
        order = _sorted(parts[0], None, descending)
        order = _sorted(views.computed(gathered(parts[1], order)), order, descending)
        imag, real = [cast(apply("isnan", each), np.dtype(np.uint32)) for each in parts]
        nans = views.computed(apply("add", apply("multiply", real, 2), imag))
        keys = views.computed(gathered(nans, order))
        order = _radix(keys, order, False, 2)
    else:
        order = _sorted(leaf, None, descending)
    length = leaf.shape[-1]
    rows = leaf.size // length
    if rows > 1:
        row = cast(apply("floor_divide", order, length), np.dtype(np.uint32))
        order = _radix(views.computed(row), order, False, (rows - 1).bit_length())
    return views.reshaped(views.computed(order), leaf.shape)


def _sorted(keys: Node, order: Node | None, descending: bool) -> Node:
    """The values of ``order`` in the order of the keys; by default the places of the keys."""
    dtype = keys.dtype
    part = part_of(dtype)
    if part.is_float:
        if part.size < 4:
            keys = cast(keys, np.dtype(np.float32))
        # NaN of any sign is the same, and last in both orders.
        keys = apply(
            "where",
            apply("isnan", keys),
            float("nan"),
            apply("negative", keys) if descending else keys,
        )
        descending = False
    elif part.size < 4:
        keys = cast(keys, np.dtype(np.int32))
    flat = views.reshaped(views.computed(keys), (keys.size,))
    if order is None:
        small = flat.size < 2**31
        order = cast(numbers(flat, flat.shape, (1,)), _SMALL if small else INT64)
    return _radix(flat, order, descending, flat.dtype.itemsize * 8)


def _radix(keys: Node, values: Node, descending: bool, bits: int) -> Node:
    """The values, in the order of the keys by their last bits."""
    device, values = keys.device, views.computed(values)
    assert device is not None
    keys = keys if keys.is_contiguous else copied(keys)
    outs = [new_leaf(device, each.dtype, each.shape) for each in (keys, values)]
    arrays = [over(each) for each in (keys, outs[0], values, outs[1])]
    radix_sort(
        d_in_keys=arrays[0],
        d_out_keys=arrays[1],
        d_in_values=arrays[2],
        d_out_values=arrays[3],
        num_items=keys.size,
        order=SortOrder.DESCENDING if descending else SortOrder.ASCENDING,
        begin_bit=0,
        end_bit=bits,
    )
    return outs[1]


def in_order(leaf: Node, descending: bool = False) -> Node:
    """The elements of each row along the last dimension, in order."""
    return gathered(leaf, permutation(leaf, descending))


def offsets(like: Node, shape: Shape) -> Node:
    """The place of the first element of each row, for each element."""
    return numbers(like, shape, (*contiguous(shape)[:-1], 0))


def length_of(shape: Shape) -> int:
    """The number of rows."""
    return math.prod(shape[:-1])
