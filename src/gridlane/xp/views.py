"""Views of a leaf's elements in other shapes: the same memory with other strides."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from gridlane.xp.computing import compute, copied
from gridlane.xp.nodes import Node, Shape, contiguous

AxisError: type[Exception] = np.exceptions.AxisError


def computed(node: Node) -> Node:
    """The node, as a leaf."""
    if node.is_pending:
        compute(node)
    return node


def _view(leaf: Node, shape: Shape, strides: Shape) -> Node:
    assert leaf.storage is not None
    return leaf.storage.leaf(leaf.dtype, shape, strides, leaf.offset)


# --- arguments ---


def axis_of(axis: Any, rank: int) -> int:
    """A dimension's number, counted from the first.

    Raises:
        TypeError: it is no integer.
        AxisError: there is no such dimension.
    """
    number = operator.index(axis)
    if not -rank <= number < rank:
        raise AxisError(number, rank)
    return number % rank


def axes_of(axes: Any, rank: int) -> tuple[int, ...]:
    """The numbers of several dimensions, or of one.

    Raises:
        TypeError: one is no integer.
        AxisError: there is no such dimension.
        ValueError: one is named twice.
    """
    listed = axes if isinstance(axes, (tuple, list)) else (axes,)
    numbers = tuple([axis_of(each, rank) for each in listed])
    if len(set(numbers)) != len(numbers):
        raise ValueError("repeated axis")
    return numbers


def shape_of(shape: Any) -> Shape:
    """A shape from an integer or a sequence of them.

    Raises:
        TypeError: it is neither.
        ValueError: an extent is negative, or there are too many elements for an address.
    """
    if hasattr(shape, "__index__"):
        shape = (shape,)
    extents = tuple([operator.index(each) for each in shape])
    if any(each < 0 for each in extents):
        raise ValueError("negative dimensions are not allowed")
    if math.prod([each for each in extents if each]) >= 2**59:
        raise ValueError(f"array is too big: the shape {extents}")
    return extents


# --- views ---


def permuted(node: Node, axes: Any) -> Node:
    """The dimensions in another order.

    Raises:
        ValueError: the axes are not each dimension once.
    """
    rank = len(node.shape)
    order = axes_of(tuple(axes), rank)
    if len(order) != rank:
        raise ValueError(f"axes {tuple(axes)} do not name each of {rank} dimensions")
    leaf = computed(node)
    shape = tuple([leaf.shape[each] for each in order])
    return _view(leaf, shape, tuple([leaf.strides[each] for each in order]))


def broadcasted(node: Node, shape: Shape) -> Node:
    """The elements repeated along dimensions of one element, and along new first ones.

    Raises:
        ValueError: the shapes do not broadcast to this one.
    """
    lacking = len(shape) - len(node.shape)
    own = (1,) * lacking + node.shape
    if lacking < 0 or any(a not in (1, b) for a, b in zip(own, shape, strict=True)):
        raise ValueError(f"cannot broadcast an array of shape {node.shape} to shape {shape}")
    if node.shape == shape:
        return node
    leaf = computed(node)
    steps = [
        0 if extent != wanted else stride
        for extent, wanted, stride in zip(own, shape, (0,) * lacking + leaf.strides, strict=True)
    ]
    return _view(leaf, shape, tuple(steps))


def expanded(node: Node, axes: Any) -> Node:
    """New dimensions of one element, at these places of the result."""
    listed = axes if isinstance(axes, (tuple, list)) else (axes,)
    rank = len(node.shape) + len(listed)
    new = axes_of(axes, rank)
    leaf = computed(node)
    rest = iter(zip(leaf.shape, leaf.strides, strict=True))
    pairs = [(1, 0) if place in new else next(rest) for place in range(rank)]
    return _view(leaf, tuple([a for a, _ in pairs]), tuple([b for _, b in pairs]))


def squeezed(node: Node, axes: Any) -> Node:
    """The array without these dimensions of one element.

    Raises:
        ValueError: one has another extent.
    """
    gone = axes_of(axes, len(node.shape))
    if any(node.shape[each] != 1 for each in gone):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    leaf = computed(node)
    left = [each for each in range(len(leaf.shape)) if each not in gone]
    shape = tuple([leaf.shape[each] for each in left])
    return _view(leaf, shape, tuple([leaf.strides[each] for each in left]))


def flipped(node: Node, axes: Any) -> Node:
    """The elements in reverse order along these dimensions."""
    chosen = axes_of(axes, len(node.shape))
    leaf = computed(node)
    strides = [-own if each in chosen else own for each, own in enumerate(leaf.strides)]
    view = _view(leaf, leaf.shape, tuple(strides))
    if leaf.size:
        first = sum((leaf.shape[each] - 1) * leaf.strides[each] for each in chosen)
        view.offset += first * leaf.dtype.itemsize
    return view


def diagonal(node: Node, offset: int) -> Node:
    """The diagonals of matrices, ``offset`` above the main ones.

    Raises:
        ValueError: there are fewer than two dimensions.
    """
    if len(node.shape) < 2:
        raise ValueError("diagonal requires an array of at least two dimensions")
    leaf = computed(node)
    rows, columns = leaf.shape[-2:]
    down, right = leaf.strides[-2:]
    length = max(0, min(rows, columns - offset) if offset > 0 else min(rows + offset, columns))
    view = _view(leaf, (*leaf.shape[:-2], length), (*leaf.strides[:-2], down + right))
    if view.size:
        first = offset * right if offset > 0 else -offset * down
        view.offset += first * leaf.dtype.itemsize
    return view


def reshaped(node: Node, shape: Shape, copy: bool | None = None) -> Node:
    """The elements in C's order in another shape, in the same memory if that can be.

    Args:
        copy: True for other memory in any case, False for none.

    Raises:
        ValueError: the shape has another number of elements, or needs the copy that is forbidden.
    """
    wanted = _with_unknown(node, shape)
    leaf = computed(node)
    if copy:
        return _view(copied(leaf), wanted, contiguous(wanted))
    strides = _strides_in(leaf, wanted)
    if strides is not None:
        return _view(leaf, wanted, strides)
    if copy is False:
        raise ValueError("reshape: this shape needs a copy of the elements, and copy=False")
    return _view(copied(leaf), wanted, contiguous(wanted))


def _with_unknown(node: Node, shape: Shape) -> Shape:
    """A shape with the extent in the place of -1."""
    unknown = [place for place, extent in enumerate(shape) if extent == -1]
    if len(unknown) > 1:
        raise ValueError("can only specify one unknown dimension")
    rest = math.prod([extent for extent in shape if extent != -1])
    wanted = shape
    if unknown and rest and node.size % rest == 0:
        wanted = (*shape[: unknown[0]], node.size // rest, *shape[unknown[0] + 1 :])
    if any(extent < 0 for extent in wanted) or math.prod(wanted) != node.size:
        raise ValueError(f"cannot reshape array of size {node.size} into shape {shape}")
    return wanted


def _strides_in(leaf: Node, shape: Shape) -> Shape | None:
    """The strides of a leaf's elements in another shape; None if they need other memory."""
    if leaf.size == 0:
        return contiguous(shape)
    runs = _runs(leaf)
    strides: list[int] = []
    length, stride = 1, 1
    for extent in reversed(shape):
        if extent == 1:
            strides.append(0)
            continue
        if length == 1:
            length, stride = runs.pop()
        if length % extent:
            return None
        strides.append(stride)
        length, stride = length // extent, stride * extent
    return tuple(reversed(strides))


def _runs(leaf: Node) -> list[tuple[int, int]]:
    """The lengths and strides of the longest runs of neighbours with one distance, from the first
    dimension to the last."""
    runs: list[tuple[int, int]] = []
    for extent, stride in zip(leaf.shape, leaf.strides, strict=True):
        if extent == 1:
            continue
        if runs and runs[-1][1] == stride * extent:
            runs[-1] = runs[-1][0] * extent, stride
        else:
            runs.append((extent, stride))
    return runs
