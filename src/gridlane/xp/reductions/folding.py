"""Compute reductions: the group of the elements, and the launches that reduce them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gridlane.core.frozen import frozen
from gridlane.launch.devices import kind_of
from gridlane.xp.groups import (
    ROW,
    Form,
    Group,
    compute_apart,
    joined,
    layouts_of,
    ordered,
    split,
    steps_of,
    stored_beside,
)
from gridlane.xp.kernels import THREADS
from gridlane.xp.nodes import Node, Shape, contiguous
from gridlane.xp.operations import OPERATIONS
from gridlane.xp.reductions.kinds import KINDS
from gridlane.xp.reductions.record import (
    MANY_ROWS,
    Fold,
    Reduction,
    Scan,
    scan_width_of,
    width_of,
)

if TYPE_CHECKING:
    from gridlane.runtime.protocol import Device


_LINE = 1024
"""The threads along long lines on a CPU: a page of floats, which it fetches ahead."""


@frozen
class Rows:
    """How the elements of a shape are rows.

    Attributes:
        axes: of the shape, those that count rows first, then those along a row.
        kept: how many count rows.
        count, length: of the rows, and the elements of each.
        by_columns: whether neighbouring rows are neighbours in C's order.
    """

    axes: tuple[int, ...]
    kept: int
    count: int
    length: int
    by_columns: bool


def rows_of(shape: Shape, axes: tuple[int, ...]) -> Rows:
    """The rows that a reduction of some axes reduces.

    >>> rows_of((4, 5, 6), (1,))
    Rows(axes=(0, 2, 1), kept=2, count=24, length=5, by_columns=True)
    """
    kept = tuple([axis for axis in range(len(shape)) if axis not in axes])
    count = math.prod([shape[axis] for axis in kept])
    length = math.prod([shape[axis] for axis in axes])
    last = max([axis for axis, extent in enumerate(shape) if extent != 1], default=-1)
    return Rows((*kept, *axes), len(kept), count, length, last in kept)


def fold_into(
    root: Node,
    compute: Callable[[Node], object],
    launch: Callable[[Device, Group, list[Node]], object],
    new_leaf: Callable[[Device, np.dtype[Any], Shape], Node],
) -> None:
    """Make leaves of a pending reduction whose elements are not empty, and of what else its kernels
    store.

    Args:
        compute: makes leaves of the operands that the group cannot hold.
        launch: appends the kernel of a group that stores into leaves.
        new_leaf: a leaf in new memory.
    """
    device = root.device
    assert device is not None
    group, rows = _first_group(root, compute)
    beside, length = group.stored, rows.length
    leaves = [new_leaf(device, node.dtype, node.shape) for node in beside]
    stored = leaves
    while (fold := group.form.fold) and not fold.is_last:
        parts = -(-rows.length // fold.span)
        shape = (parts, rows.count) if rows.by_columns else (rows.count, parts)
        dtypes = KINDS[fold.kind].states(fold.accumulator)
        states = [new_leaf(device, dtype, shape) for dtype in dtypes]
        launch(device, group, [*stored, *states])
        stored = []
        rows = Rows((), 1, rows.count, parts, rows.by_columns)
        group = _next_group(fold, rows, states, length)
    result = new_leaf(device, root.dtype, root.shape)
    launch(device, group, [*stored, result])
    for node, leaf in zip([*beside, root], [*leaves, result], strict=True):
        node.settle(leaf)


def scan_into(
    root: Node,
    compute: Callable[[Node], object],
    launch: Callable[[Device, Group, list[Node]], object],
    new_leaf: Callable[[Device, np.dtype[Any], Shape], Node],
) -> None:
    """Make leaves of a pending scan that is not empty, and of what else its kernels store; see
    ``fold_into``."""
    device, scan = root.device, root.operation
    assert device is not None and isinstance(scan, Scan)
    group, rows = _first_group(root, compute)
    beside, form, fold = group.stored, group.form, group.form.fold
    assert fold is not None
    carry: list[Node] = []
    if not fold.is_last:
        parts = -(-rows.length // fold.span)
        shape = (parts, rows.count) if rows.by_columns else (rows.count, parts)
        totals = new_leaf(device, fold.accumulator, shape)
        own = replace(form, stored=(), fold=replace(fold, scan="totals"))
        launch(device, replace(group, form=own), [totals])
        axis = 0 if rows.by_columns else 1
        further = Scan(fold.kind, fold.accumulator, axis)
        carry = [Node(device, fold.accumulator, shape, further, (totals,))]
        compute(carry[0])
    leaves = [new_leaf(device, node.dtype, node.shape) for node in [*beside, root]]
    launch(device, group, [*leaves, *carry])
    for node, leaf in zip([*beside, root], leaves, strict=True):
        node.settle(leaf)


def _first_group(root: Node, compute: Callable[[Node], object]) -> tuple[Group, Rows]:
    """The group of a pending reduction or scan."""
    reduction = root.operation
    device = root.device
    assert isinstance(reduction, Reduction | Scan) and device is not None
    is_scan = isinstance(reduction, Scan)
    compute_apart(root, compute)
    shape = root.operands[0].shape
    rows = rows_of(shape, (reduction.axis,) if is_scan else reduction.axes)
    nodes = ordered(root)
    stored = stored_beside(nodes)
    nodes.pop()
    layouts = layouts_of(nodes, shape)
    if stored or is_scan:
        layouts.append(contiguous(shape))
    kept, above = joined_axes(shape, layouts, rows.axes[: rows.kept])
    along, below = joined_axes(shape, layouts, rows.axes[rows.kept :])
    strides = [(*a, *b) for a, b in zip(above, below, strict=True)]
    steps, arguments = steps_of(nodes, strides)
    target, further = split(strides[-1]) if stored or is_scan else (None, ())
    place = {id(node): position for position, node in enumerate(nodes)}
    fold = _fold(
        Fold(
            kind=reduction.kind,
            accumulator=reduction.accumulator,
            result=root.dtype,
            kept=len(kept),
            operands=tuple([place[id(each)] for each in root.operands]),
            is_masked=len(root.operands) > 1,
            scan="results" if is_scan else "",
        ),
        rows,
    )
    in_lines = _in_lines(fold, kept)
    fold = _for_vectors(fold, device, steps, kept[-1] if in_lines else 0)
    form = Form(len(kept) + len(along), in_lines, steps, stored, target, fold)
    further = (*further, *_counts(fold, rows.length))
    return Group(form, nodes, (*kept, *along), (*arguments, *further)), rows


def _next_group(fold: Fold, rows: Rows, states: list[Node], length: int) -> Group:
    """The group that reduces the states of parts, of rows that had so many elements."""
    shape = states[0].shape
    layouts = [contiguous(shape)] * len(states)
    kept, above = joined_axes(shape, layouts, (1,) if rows.by_columns else (0,))
    along, below = joined_axes(shape, layouts, (0,) if rows.by_columns else (1,))
    steps, arguments = steps_of(states, [(*a, *b) for a, b in zip(above, below, strict=True)])
    fold = replace(
        fold,
        kept=len(kept),
        is_first=False,
        is_masked=False,
        operands=tuple(range(len(states))),
        in_step=0,
    )
    fold = _fold(fold, rows)
    form = Form(len(kept) + len(along), _in_lines(fold, kept), steps, (), None, fold)
    return Group(form, states, (*kept, *along), (*arguments, *_counts(fold, length)))


def _counts(fold: Fold, length: int) -> Shape:
    """The argument that is the number of a row's elements, where the results depend on it."""
    return (length,) if fold.is_last and KINDS[fold.kind].is_counting else ()


def _in_lines(fold: Fold, kept: Shape) -> bool:
    """Whether a block's threads are along the last of the dimensions that count rows."""
    return fold.by_columns and bool(kept) and kept[-1] >= ROW


def _fold(fold: Fold, rows: Rows) -> Fold:
    """A fold with the threads for its rows."""
    width = 1
    if not rows.by_columns:
        width = scan_width_of(rows.length) if fold.scan else width_of(rows.length)
    fold = replace(fold, by_columns=rows.by_columns, width=width)
    # A scan of parts reads all elements twice, which many rows need not.
    is_whole = bool(fold.scan) and rows.by_columns and rows.count >= MANY_ROWS
    return replace(fold, is_last=is_whole or rows.length <= fold.span)


def _for_vectors(fold: Fold, device: Device, steps: tuple[Any, ...], line: int) -> Fold:
    """A fold in the way that a CPU's vectors are best at, on such a device.

    Args:
        line: the elements that a block's threads are along; 0 if they are not.
    """
    if kind_of(device) != "cpu":
        return fold
    if line:
        return replace(fold, in_step=_LINE if line >= _LINE else THREADS)
    in_series = bool(fold.scan) and fold.width > 1 and all([_is_light(each[0]) for each in steps])
    return replace(fold, in_series=in_series)


def _is_light(step: str) -> bool:
    """Whether a step takes a scalar about the time of a vector: no function that is approximated,
    nor random numbers."""
    row = OPERATIONS.get(step)
    return row.bound is None if row else step in ("leaf", "number", "index", "gather", "cast")


def joined_axes(shape: Shape, layouts: list[Shape], axes: Shape) -> tuple[Shape, list[Shape]]:
    """The joined dimensions of some axes, and their strides."""
    own = tuple([shape[axis] for axis in axes])
    return joined(own, [tuple([each[axis] for axis in axes]) for each in layouts])
