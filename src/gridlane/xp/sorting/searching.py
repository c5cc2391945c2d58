"""Places of elements: in sorted arrays, of those that are not zero, along a dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.algorithms import (
    CountingIterator,
    OpKind,
    TransformIterator,
    ZipIterator,
    lower_bound,
    select,
    upper_bound,
)
from gridlane.xp import views
from gridlane.xp.applying import cast
from gridlane.xp.arrays import Array
from gridlane.xp.computing import copied, new_leaf
from gridlane.xp.creation import asarray
from gridlane.xp.exporting import over
from gridlane.xp.functions import function
from gridlane.xp.kernels import part_of
from gridlane.xp.nodes import Node, Shape, contiguous
from gridlane.xp.reductions.functions import apply, node_of, reduced
from gridlane.xp.reductions.scans import scanned
from gridlane.xp.sorting.ordering import INT64, gathered, numbers


def _before(a: Any, b: Any) -> bool:
    """Whether a float is before another; NaN is last."""
    return a < b or (b != b and a == a)


def _complex_before(a: Any, b: Any) -> bool:
    """Whether a complex number is before another: by the real parts, then by the imaginary ones,
    where numbers are before NaN."""
    if a.real < b.real:
        return a.imag == a.imag or b.imag != b.imag
    if a.real > b.real:
        return b.imag != b.imag and a.imag == a.imag
    if a.real == b.real or (a.real != a.real and b.real != b.real):
        return a.imag < b.imag or (b.imag != b.imag and a.imag == a.imag)
    return b.real != b.real


def contiguous_leaf(node: Node) -> Node:
    """A leaf in C's order."""
    leaf = views.computed(node)
    return leaf if leaf.is_contiguous else copied(leaf)


def places_in(data: Node, values: Node, is_upper: bool) -> Node:
    """The place of each value in a sorted leaf: the first of an element that is not less, or is
    greater. Both are contiguous leaves of one dtype."""
    assert data.device is not None
    out = new_leaf(data.device, np.dtype(np.uint64), values.shape)
    if not values.size:
        return cast(out, INT64)
    flat = views.reshaped(out, (values.size,))
    search = upper_bound if is_upper else lower_bound
    search(
        d_data=over(data),
        num_items=data.size,
        d_values=over(views.reshaped(values, (values.size,))),
        num_values=values.size,
        d_out=over(flat),
        comp=_order_of(data.dtype),
    )
    return cast(out, INT64)


def _order_of(dtype: np.dtype[Any]) -> Any:
    """The comparison of elements of a dtype that are in order."""
    if dtype.kind == "c":
        return _complex_before
    return _before if part_of(dtype).is_float else OpKind.LESS


def comparable(*nodes: Node) -> list[Node]:
    """Nodes as contiguous leaves of a common dtype that kernels compare."""
    dtype = np.result_type(*[each.dtype for each in nodes])
    part = part_of(dtype)
    if dtype.kind != "c" and part.size < 4:
        dtype = np.dtype(np.float32 if part.is_float else np.int32)
    return [contiguous_leaf(cast(each, dtype)) for each in nodes]


def searchsorted(x1: Array, x2: Any, /, side: str = "left", sorter: Array | None = None) -> Array:
    """The place of each value of ``x2`` in the sorted vector ``x1``, where it keeps the order: in
    front of elements that are equal for ``left``, behind them for ``right``. NaN is last.

    Args:
        sorter: indices that sort ``x1``.

    Raises:
        ValueError: ``x1`` is no vector, or there is no such side.
        IndexError: an index of ``sorter`` is out of bounds.

    >>> from gridlane import xp
    >>> searchsorted(xp.asarray([1, 3, 5]), xp.asarray([3, 4]))
    array([1, 2])
    """
    node = node_of(x1, "searchsorted")
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side is 'left' or 'right', not {side!r}")
    if len(node.shape) != 1:
        raise ValueError("searchsorted: the sorted array has one dimension")
    if sorter is not None:
        node = x1[sorter].node
    if not isinstance(x2, Array):
        x2 = asarray(x2, device=x1.device)
    data, values = comparable(node, node_of(x2, "searchsorted"))
    return Array(places_in(data, values, side == "right"))


# --- elements that are not zero ---

_LEAST = 1 << 14
"""Fewer elements have no pass of their own."""


def true_places(node: Node) -> Node:
    """The places in C's order of elements that are not zero: the k-th one is where their count
    becomes k."""
    if not node.size:
        return numbers(node, (0,), (1,))
    device = node.device
    is_one_pass = device is not None and device.limits.independent_blocks
    if device is None or node.size < _LEAST or not is_one_pass or device.host_visible:
        return places_of(true_counts(node))
    truths = node if node.dtype.kind == "b" else apply("not_equal", node, 0)
    flags = views.computed(cast(truths, np.dtype(np.uint8)))
    flat = views.reshaped(contiguous_leaf(flags), (node.size,))
    out = new_leaf(device, INT64, (int(Array(reduced("sum", flat, (0,), INT64))),))
    if out.size:
        select(
            d_in=TransformIterator(
                ZipIterator(CountingIterator(np.int64(0)), over(flat)), _place_or_none, np.int64
            ),
            d_out=over(out),
            d_num_selected_out=over(new_leaf(device, INT64, (1,))),
            cond=_is_place,
            num_items=node.size,
        )
    return out


def _place_or_none(pair: Any) -> Any:
    """The place of a flag that is set; -1 for others."""
    return pair[0] if pair[1] != 0 else np.int64(-1)


def _is_place(place: Any) -> Any:
    return place >= 0


def true_counts(node: Node) -> Node:
    """How many elements are not zero, up to each one in C's order; there is one at least."""
    own = np.dtype(np.int32) if node.size < 2**31 else INT64
    flags = cast(apply("not_equal", node, 0) if node.dtype.kind != "b" else node, own)
    flat = flags if len(node.shape) == 1 else views.reshaped(views.computed(flags), (node.size,))
    return views.computed(scanned("sum", flat, 0, own))


def places_of(counts: Node) -> Node:
    """Where counts become 1, 2 and so on."""
    count = int(Array(counts)[-1])
    wanted = views.computed(cast(apply("add", numbers(counts, (count,), (1,)), 1), counts.dtype))
    return places_in(counts, wanted, False)


def along(places: Node, shape: Shape) -> tuple[Node, ...]:
    """Places in C's order as indices along each dimension."""
    strides = contiguous(shape)
    return tuple(
        [
            apply("remainder", apply("floor_divide", places, max(stride, 1)), max(extent, 1))
            for stride, extent in zip(strides, shape, strict=True)
        ]
    )


def nonzero(x: Array, /) -> tuple[Array, ...]:
    """The indices along each dimension of the elements that are not zero.

    Raises:
        ValueError: the array has no dimensions.
    """
    node = node_of(x, "nonzero")
    if not node.shape:
        raise ValueError("nonzero: the array needs a dimension")
    places = views.computed(true_places(node))
    return tuple([Array(each) for each in along(places, node.shape)])


def where(condition: Array, /, *operands: Any, **options: Any) -> Any:
    """The elements of the first operand where the condition holds, else of the second, as an
    operation of the table; without operands the indices of the elements that are not zero."""
    if not operands and not options:
        return nonzero(condition)
    return function("where")(condition, *operands, **options)


def flatnonzero(x: Array, /) -> Array:
    """The places in C's order of the elements that are not zero."""
    return Array(true_places(node_of(x, "flatnonzero")))


def argwhere(x: Array, /) -> Array:
    """The indices of each element that is not zero, in rows."""
    from gridlane.xp.manipulation import stack

    node = node_of(x, "argwhere")
    places = views.computed(true_places(node))
    if not node.shape:
        return Array(numbers(places, (places.size, 0), (0, 0)))
    return stack([Array(each) for each in along(places, node.shape)], axis=1)


def extract(condition: Array, x: Array, /) -> Array:
    """The elements in C's order where a condition of as many elements is true."""
    mask, node = node_of(condition, "extract"), node_of(x, "extract")
    if mask.size != node.size:
        raise ValueError(f"extract: {mask.size} conditions for {node.size} elements")
    return Array(gathered(contiguous_leaf(node), true_places(mask)))


def take_along_axis(x: Array, indices: Array, /, axis: int | None = -1) -> Array:
    """The elements at indices along a dimension; the other dimensions broadcast.

    Raises:
        AxisError: there is no such dimension.
        IndexError: an index is out of bounds, or no integer.
        ValueError: the numbers of dimensions differ.
    """
    node, places = node_of(x, "take_along_axis"), node_of(indices, "take_along_axis")
    if axis is None:
        node, axis = views.reshaped(node, (node.size,)), 0
    if places.dtype.kind not in "iu":
        raise IndexError("take_along_axis: `indices` must be an integer array")
    if len(places.shape) != len(node.shape):
        raise ValueError("take_along_axis: `indices` and `arr` must have the same dimensions")
    own = views.axis_of(axis, len(node.shape))
    extent = node.shape[own]
    _check_bounds(places, extent, own)
    wide = cast(places, INT64)
    wide = apply("where", apply("less", wide, 0), apply("add", wide, extent), wide)
    rest = (*node.shape[:own], 1, *node.shape[own + 1 :])
    shape = np.broadcast_shapes(rest, places.shape)
    steps = contiguous(node.shape)
    others = tuple(
        [0 if axis == own or node.shape[axis] == 1 else step for axis, step in enumerate(steps)]
    )
    place = apply("add", apply("multiply", wide, steps[own]), numbers(node, shape, others))
    return Array(gathered(contiguous_leaf(node), place))


def _check_bounds(places: Node, extent: int, axis: int) -> None:
    """Refuse indices that are out of bounds: the kernel that follows would read wild memory."""
    if not places.size:
        return
    leaf, every = views.computed(places), tuple(range(len(places.shape)))
    for each in [int(Array(reduced(kind, leaf, every, leaf.dtype))) for kind in ("min", "max")]:
        if not -extent <= each < extent:
            raise IndexError(f"index {each} is out of bounds for axis {axis} with size {extent}")
