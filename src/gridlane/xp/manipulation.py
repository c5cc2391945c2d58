"""Arrays in other shapes and orders: views where the memory allows, else copies."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from gridlane.xp import dtypes, views
from gridlane.xp.applying import broadcast, device_of
from gridlane.xp.arrays import Array
from gridlane.xp.computing import new_leaf
from gridlane.xp.nodes import Node
from gridlane.xp.operands import of_array, of_arrays


@of_array
def astype(x: Array, dtype: Any, /, *, copy: bool = True, device: str | None = None) -> Array:
    """The elements converted, on a device; a copy, unless ``copy`` is False and nothing changes."""
    return x.astype(dtype, copy=copy, device=device)


# --- views ---


@of_arrays
def broadcast_arrays(*arrays: Array) -> tuple[Array, ...]:
    """The arrays broadcast to their common shape, as views that cannot be written to."""
    shape = broadcast([each.shape for each in arrays]) if arrays else ()
    return tuple([broadcast_to(each, shape) for each in arrays])


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The common shape that arrays of these shapes broadcast to."""
    return broadcast([views.shape_of(each) for each in shapes]) if shapes else ()


@of_array
def broadcast_to(x: Array, /, shape: Any) -> Array:
    """The array repeated to a shape, as a view that cannot be written to."""
    wanted = views.shape_of(shape)
    node = views.broadcasted(x.node, wanted)
    return Array(node) if node is not x.node else Array(_again(node))


def _again(node: Node) -> Node:
    """Another node of the same elements."""
    return views.reshaped(node, node.shape)


@of_array
def expand_dims(x: Array, /, axis: int | tuple[int, ...]) -> Array:
    """A view with new dimensions of one element."""
    return Array(views.expanded(x.node, axis))


@of_array
def squeeze(x: Array, /, axis: int | tuple[int, ...] | None = None) -> Array:
    """A view without dimensions of one element; by default without all of these."""
    if axis is None:
        axis = tuple([place for place, extent in enumerate(x.shape) if extent == 1])
    return Array(views.squeezed(x.node, axis))


@of_array
def flip(x: Array, /, axis: int | tuple[int, ...] | None = None) -> Array:
    """A view of the elements in reverse order along dimensions, by default all."""
    return Array(views.flipped(x.node, tuple(range(x.ndim)) if axis is None else axis))


@of_array
def permute_dims(x: Array, /, axes: tuple[int, ...]) -> Array:
    """A view with the dimensions in another order."""
    return Array(views.permuted(x.node, axes))


@of_array
def moveaxis(
    x: Array, source: int | tuple[int, ...], destination: int | tuple[int, ...], /
) -> Array:
    """A view with some dimensions at other places."""
    here, there = views.axes_of(source, x.ndim), views.axes_of(destination, x.ndim)
    if len(here) != len(there):
        raise ValueError(
            "`source` and `destination` arguments must have the same number of elements"
        )
    order = [axis for axis in range(x.ndim) if axis not in here]
    for place, axis in sorted(zip(there, here, strict=True)):
        order.insert(place, axis)
    return permute_dims(x, tuple(order))


@of_array
def swapaxes(x: Array, axis1: int, axis2: int, /) -> Array:
    """A view with two dimensions exchanged."""
    order = list(range(x.ndim))
    one, other = views.axis_of(axis1, x.ndim), views.axis_of(axis2, x.ndim)
    order[one], order[other] = other, one
    return permute_dims(x, tuple(order))


@of_array
def matrix_transpose(x: Array, /) -> Array:
    """A view of matrices with rows and columns exchanged."""
    return x.mT


@of_array
def reshape(x: Array, /, shape: Any, *, copy: bool | None = None) -> Array:
    """The elements in C's order in another shape, as a view if the memory allows.

    Args:
        shape: the extents, of which one may be -1.
        copy: True for a copy in any case, False to refuse one.
    """
    wanted = (shape,) if hasattr(shape, "__index__") else tuple(shape)
    return Array(views.reshaped(x.node, tuple([operator.index(each) for each in wanted]), copy))


@of_array
def ravel(x: Array, /) -> Array:
    """The elements in one dimension, as a view if the memory allows."""
    return reshape(x, -1)


@of_array
def unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Views of the parts along a dimension, without it."""
    front = moveaxis(x, axis, 0)
    return tuple(front)


# --- copies ---


@of_arrays
def concat(arrays: Sequence[Array], /, axis: int | None = 0) -> Array:
    """Arrays one after another along a dimension; of their elements if ``axis`` is None.

    Raises:
        ValueError: there are none, or other dimensions differ, or the devices.
    """
    parts = [ravel(each) for each in arrays] if axis is None else list(arrays)
    if not parts:
        raise ValueError("need at least one array to concatenate")
    first = parts[0]
    if not first.ndim:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    along = views.axis_of(0 if axis is None else axis, first.ndim)
    for each in parts:
        if _without(each.shape, along) != _without(first.shape, along):
            raise ValueError(
                "all the input array dimensions except for the concatenation axis must match "
                f"exactly, but the shapes are {first.shape} and {each.shape}"
            )
    count = sum(each.shape[along] for each in parts)
    result = _new(parts, (*first.shape[:along], count, *first.shape[along + 1 :]), "concat")
    start = 0
    for each in parts:
        stop = start + each.shape[along]
        result[(slice(None),) * along + (slice(start, stop),)] = each
        start = stop
    return result


@of_arrays
def stack(arrays: Sequence[Array], /, axis: int = 0) -> Array:
    """Arrays of one shape along a new dimension."""
    parts = list(arrays)
    if not parts:
        raise ValueError("need at least one array to stack")
    shape = parts[0].shape
    if any(each.shape != shape for each in parts):
        raise ValueError("all input arrays must have the same shape")
    along = views.axis_of(axis, len(shape) + 1)
    result = _new(parts, (*shape[:along], len(parts), *shape[along:]), "stack")
    for number, each in enumerate(parts):
        result[(slice(None),) * along + (number,)] = each
    return result


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return shape[:axis] + shape[axis + 1 :] if axis < len(shape) else (-1,)


def _new(parts: list[Array], shape: tuple[int, ...], name: str) -> Array:
    """An array for the elements of several."""
    device = device_of(tuple([each.node for each in parts]), name)
    return Array(new_leaf(device, dtypes.result_type(*parts), shape))


@of_array
def roll(
    x: Array, /, shift: int | tuple[int, ...], axis: int | tuple[int, ...] | None = None
) -> Array:
    """The elements moved along dimensions, those beyond the end to the beginning."""
    if axis is None:
        return reshape(roll(ravel(x), shift, axis=0), x.shape)
    axes = axis if isinstance(axis, tuple) else (axis,)
    shifts = shift if isinstance(shift, tuple) else (shift,) * len(axes)
    if len(axes) == 1:
        axes *= len(shifts)
    if len(axes) != len(shifts):
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences of one length")
    result = x
    for own, along in zip(shifts, axes, strict=True):
        result = _rolled(result, operator.index(own), views.axis_of(along, x.ndim))
    return result if result is not x else x.copy()


def _rolled(x: Array, shift: int, axis: int) -> Array:
    extent = x.shape[axis]
    if not extent or not shift % extent:
        return x
    before = (slice(None),) * axis
    cut = extent - shift % extent
    return concat([x[(*before, slice(cut, None))], x[(*before, slice(cut))]], axis=axis)


@of_array
def repeat(x: Array, repeats: int | Array, /, axis: int | None = None) -> Array:
    """Each element several times, one copy after another.

    Args:
        repeats: how often; an array has a number for each element along the axis.
        axis: the dimension; None for the elements in one dimension.

    Raises:
        ValueError: a number is negative, or there are too few or many of them.
    """
    if axis is None:
        x, axis = ravel(x), 0
    along = views.axis_of(axis, x.ndim)
    counts = np.asarray(repeats)
    if counts.dtype.kind not in "iu":
        raise TypeError(f"repeat: the numbers are integers, not of the dtype {counts.dtype}")
    if counts.size == 1:
        return _repeated(x, int(counts.reshape(())), along)
    places = np.repeat(np.arange(x.shape[along]), counts)
    return x[(slice(None),) * along + (places,)]


def _repeated(x: Array, count: int, axis: int) -> Array:
    if count < 0:
        raise ValueError("repeats may not contain negative values.")
    before, extent, after = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
    wide = broadcast_to(expand_dims(x, axis=axis + 1), (*before, extent, count, *after))
    return reshape(wide, (*before, extent * count, *after), copy=True)


@of_array
def tile(x: Array, repetitions: Any, /) -> Array:
    """The array several times along each dimension."""
    counts = (repetitions,) if hasattr(repetitions, "__index__") else tuple(repetitions)
    rank = max(len(counts), x.ndim)
    counts = views.shape_of((1,) * (rank - len(counts)) + counts)
    shape = (1,) * (rank - x.ndim) + x.shape
    split = [part for extent in shape for part in (1, extent)]
    wide = [part for pair in zip(counts, shape, strict=True) for part in pair]
    repeated = broadcast_to(reshape(x, tuple(split)), tuple(wide))
    return reshape(repeated, tuple([a * b for a, b in zip(counts, shape, strict=True)]), copy=True)


@of_array
def transpose(x: Array, /, axes: tuple[int, ...] | None = None) -> Array:
    """A view with the dimensions in another order, by default reversed."""
    return x.T if axes is None else permute_dims(x, axes)


@of_array
def take(x: Array, indices: Any, /, axis: int | None = None) -> Array:
    """Parts along a dimension by their indices; of the elements in one dimension for None.

    Raises:
        IndexError: an index is out of bounds.
    """
    if axis is None:
        x, axis = ravel(x), 0
    return x[(slice(None),) * views.axis_of(axis, x.ndim) + (indices,)]
