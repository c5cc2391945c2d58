"""Products of vectors and matrices: large ones by a kernel of their own, others as sums."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from gridlane.xp import dtypes, product_kernels, views
from gridlane.xp.applying import applied, broadcast, cast, device_of
from gridlane.xp.arrays import Array
from gridlane.xp.computing import launch, new_leaf
from gridlane.xp.groups import Form, Group, joined, layouts_of, steps_of
from gridlane.xp.nodes import Node
from gridlane.xp.operations import OPERATIONS
from gridlane.xp.reductions.functions import accumulator_of, reduced

COLUMNS = 16
"""The least columns of a product whose threads have columns."""


def matmul(x1: Array, x2: Array, /) -> Array:
    """The products of matrices in the last two dimensions; a vector is a row at the left, and a
    column at the right, and its dimension is none of the result.

    Raises:
        TypeError: an operand is no array of this package.
        ValueError: an operand has no dimensions, or they do not fit.
    """
    _check("matmul", x1, x2)
    for number, each in enumerate((x1, x2)):
        if not each.ndim:
            raise ValueError(
                f"matmul: Input operand {number} does not have enough dimensions (has 0, and 1 is "
                "required)"
            )
    left = x1.node if x1.ndim > 1 else views.expanded(x1.node, 0)
    right = x2.node if x2.ndim > 1 else views.expanded(x2.node, 1)
    if left.shape[-1] != right.shape[-2]:
        raise ValueError(
            "matmul: Input operand 1 has a mismatch in its core dimension 0 (size "
            f"{right.shape[-2]} is different from {left.shape[-1]})"
        )
    order = (*range(len(right.shape) - 2), -1, -2)
    rows = views.expanded(left, len(left.shape) - 1)
    columns = views.expanded(views.permuted(right, order), len(right.shape) - 2)
    result = _multiplied(rows, columns)
    gone = tuple([axis for axis, each in ((-2, x1), (-1, x2)) if each.ndim == 1])
    return Array(views.squeezed(result, gone) if gone else result)


def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """The sums along a dimension of products of the first operand's conjugates with the second's
    elements.

    Raises:
        ValueError: the dimensions do not fit.
    """
    _check("vecdot", x1, x2)
    own = operator.index(axis)
    ranks = min(x1.ndim, x2.ndim)
    if not -ranks <= own < (ranks if x1.ndim == x2.ndim else 0):
        raise views.AxisError(own, ranks)
    sides = [_last(each.node, own) for each in (x1, x2)]
    if sides[0].shape[-1] != sides[1].shape[-1]:
        raise ValueError(
            f"vecdot: the operands have {sides[0].shape[-1]} and {sides[1].shape[-1]} elements "
            f"along axis {own}"
        )
    if x1.dtype.kind == "c":
        (sides[0],) = applied(OPERATIONS["conj"], (sides[0],))
    return Array(_summed(*sides))


def _last(node: Node, axis: int) -> Node:
    """A view with a dimension as the last one."""
    own = views.axis_of(axis, len(node.shape))
    order = [each for each in range(len(node.shape)) if each != own]
    return views.permuted(node, (*order, own))


def tensordot(
    x1: Array, x2: Array, /, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Array:
    """The sums of products along pairs of dimensions.

    Args:
        axes: how many of the last and of the first, or the dimensions of each operand.

    Raises:
        ValueError: the dimensions do not fit.
    """
    _check("tensordot", x1, x2)
    first, second = _pairs(x1, x2, axes)
    if any(x1.shape[a] != x2.shape[b] for a, b in zip(first, second, strict=True)):
        raise ValueError("shape-mismatch for sum")
    rest1 = [axis for axis in range(x1.ndim) if axis not in first]
    rest2 = [axis for axis in range(x2.ndim) if axis not in second]
    shape = (*[x1.shape[each] for each in rest1], *[x2.shape[each] for each in rest2])
    length = 1
    for axis in first:
        length *= x1.shape[axis]
    count1 = x1.size // length if length else _size(x1, rest1)
    count2 = x2.size // length if length else _size(x2, rest2)
    rows = views.reshaped(views.permuted(x1.node, (*rest1, *first)), (count1, 1, length))
    columns = views.reshaped(views.permuted(x2.node, (*rest2, *second)), (1, count2, length))
    return Array(views.reshaped(_multiplied(rows, columns), shape))


def _size(x: Array, axes: list[int]) -> int:
    size = 1
    for axis in axes:
        size *= x.shape[axis]
    return size


def _pairs(x1: Array, x2: Array, axes: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The dimensions to sum along."""
    if hasattr(axes, "__index__"):
        count = operator.index(axes)
        if count < 0 or count > min(x1.ndim, x2.ndim):
            raise ValueError(f"tensordot: the operands have no {count} common dimensions")
        return tuple(range(x1.ndim - count, x1.ndim)), tuple(range(count))
    one, other = [tuple(each) if isinstance(each, Sequence) else (each,) for each in axes]
    if len(one) != len(other):
        raise ValueError("shape-mismatch for sum")
    return views.axes_of(one, x1.ndim), views.axes_of(other, x2.ndim)


def _summed(left: Node, right: Node) -> Node:
    """The sums along the last dimension of the products of elements that broadcast."""
    result = dtypes.result_type(left.dtype, right.dtype)
    kind, name, computing = "sum", "multiply", result
    if result.kind == "b":
        kind, name = "any", "logical_and"
    elif dtypes.letter(result) == "f" and result.itemsize == 2:
        computing = np.dtype(np.float32)
    (products,) = applied(OPERATIONS[name], (cast(left, computing), cast(right, computing)))
    return reduced(kind, products, (len(products.shape) - 1,), result)


def _multiplied(left: Node, right: Node) -> Node:
    """The sums of products of shapes (..., rows, 1, inner) and (..., 1, columns, inner)."""
    *stack, rows, columns, inner = broadcast([left.shape, right.shape])
    if columns < COLUMNS or rows < product_kernels.ROWS or 0 in (*stack, inner):
        return _summed(left, right)
    leaves = [views.computed(left), views.computed(right)]
    shape = (*stack, rows, columns, inner)
    layouts = layouts_of(leaves, shape)
    extents, above = joined(tuple(stack), [each[:-3] for each in layouts])
    strides = [(*a, *each[-3:]) for a, each in zip(above, layouts, strict=True)]
    steps, arguments = steps_of(leaves, strides)
    result = dtypes.result_type(left.dtype, right.dtype)
    rank = len(extents) + 3
    accumulator = result if result.kind == "b" else accumulator_of(result)
    form = Form(rank, False, steps, (), product=(result, accumulator))
    group = Group(form, leaves, (*extents, rows, columns, inner), arguments)
    device = device_of((left, right), "matmul")
    product = new_leaf(device, result, (*stack, rows, columns))
    launch(group, product)
    return product


def _check(name: str, *operands: Any) -> None:
    for each in operands:
        if not isinstance(each, Array):
            raise TypeError(
                f"{name}: operands are arrays of gridlane.xp, not {type(each).__name__}; copy "
                "others with xp.asarray"
            )
