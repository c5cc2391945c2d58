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
    node = Node(leaf.device, leaf.dtype, places.shape, gather, (cast(places, INT64),))
    node.exposed = node.exposed or leaf.storage.outside
    return node


def numbers(like: Node, shape: Shape, steps: Shape) -> Node:
    """An int64 node of indices times steps, on a node's device."""
    assert like.device is not None
    return index(like.device, shape, steps)


def permutation(leaf: Node, descending: bool = False) -> Node:
    """The places among all elements of a leaf in C's order, in the order of each row along the last
    dimension. Equal elements keep their order; NaN is last; complex numbers are ordered by their
    real parts first. Of these, NumPy's order has numbers before those with one NaN, an imaginary
    before a real one."""
    order = refined(leaf, None, descending)
    length = leaf.shape[-1]
    rows = leaf.size // length
    if rows > 1:
        row = cast(apply("floor_divide", order, length), np.dtype(np.uint32))
        order = _radix(views.computed(row), order, False, (rows - 1).bit_length())
    return views.reshaped(views.computed(order), leaf.shape)


def refined(leaf: Node, order: Node | None, descending: bool = False) -> Node:
    """The places in ``order``, by default all, sorted by the elements; see ``permutation``."""
    if leaf.dtype.kind != "c":
        return _by(leaf, order, descending)
    parts = [views.computed(apply(name, leaf)) for name in ("imag", "real")]
    for part in parts:
        order = _by(part, order, descending)
    assert order is not None
    imag, real = [cast(apply("isnan", each), np.dtype(np.uint32)) for each in parts]
    nans = views.computed(apply("add", apply("multiply", real, 2), imag))
    return _radix(views.computed(gathered(nans, order)), order, False, 2)


def _by(leaf: Node, order: Node | None, descending: bool) -> Node:
    """The places in ``order`` sorted by the real elements there."""
    keys = leaf if order is None else views.computed(gathered(leaf, order))
    return _sorted(keys, order, descending)


def _sorted(keys: Node, order: Node | None, descending: bool) -> Node:
    """The values of ``order`` in the order of the keys; by default the places of the keys."""
    flat, descending = _keys(keys, descending)
    if order is None:
        small = flat.size < 2**31
        order = cast(numbers(flat, flat.shape, (1,)), _SMALL if small else INT64)
    return _radix(flat, order, descending, flat.dtype.itemsize * 8)


def _keys(keys: Node, descending: bool) -> tuple[Node, bool]:
    """A leaf of numbers that a radix sort orders, and whether in falling order."""
    part = part_of(keys.dtype)
    if part.is_float:
        if part.size < 4:
            keys = cast(keys, np.dtype(np.float32))
        # NaN of any sign is the same, and last in both orders.
        in_turn = apply("negative", keys) if descending else keys
        keys = apply("where", apply("isnan", keys), float("nan"), in_turn)
        descending = False
    elif part.size < 4:
        keys = cast(keys, np.dtype(np.int32))
    return views.reshaped(views.computed(keys), (keys.size,)), descending


def _radix(keys: Node, values: Node | None, descending: bool, bits: int) -> Node:
    """The values, in the order of the keys by their last bits; the keys where there are none."""
    device = keys.device
    assert device is not None
    keys = keys if keys.is_contiguous else copied(keys)
    pair = [keys] if values is None else [keys, views.computed(values)]
    outs = [new_leaf(device, each.dtype, each.shape) for each in pair]
    radix_sort(
        d_in_keys=over(pair[0]),
        d_out_keys=over(outs[0]),
        d_in_values=None if values is None else over(pair[1]),
        d_out_values=None if values is None else over(outs[1]),
        num_items=keys.size,
        order=SortOrder.DESCENDING if descending else SortOrder.ASCENDING,
        begin_bit=0,
        end_bit=bits,
    )
    return outs[-1]


def in_order(leaf: Node, descending: bool = False) -> Node:
    """The elements of each row along the last dimension, in order; see ``permutation``. Any NaN may
    stand for another."""
    if leaf.dtype.kind == "c" or leaf.size > leaf.shape[-1]:
        return gathered(leaf, permutation(leaf, descending))
    keys, falling = _keys(leaf, descending)
    result = _radix(keys, None, falling, keys.dtype.itemsize * 8)
    if descending and not falling:
        result = apply("negative", result)
    return cast(views.reshaped(views.computed(result), leaf.shape), leaf.dtype)


def offsets(like: Node, shape: Shape) -> Node:
    """The place of the first element of each row, for each element."""
    return numbers(like, shape, (*contiguous(shape)[:-1], 0))


def length_of(shape: Shape) -> int:
    """The number of rows."""
    return math.prod(shape[:-1])
