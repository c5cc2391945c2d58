"""Fusion of several reductions of the same rows with what uses their results.

``exp(x - max(x)) / sum(exp(x - max(x)))`` along the last axis is one kernel: a row is read from the
device's memory once, and from its caches after that. Rows have one part each (``record.Fold``), so
that a block has a whole row.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from gridlane.backends import backend
from gridlane.core.features import Feature
from gridlane.xp.groups import Form, Group, layouts_of, ordered, split, steps_of, stored_beside
from gridlane.xp.kernels import THREADS
from gridlane.xp.nodes import INDEX, Gather, Node, Scatter, Shape, contiguous
from gridlane.xp.reductions.folding import joined_axes, rows_of
from gridlane.xp.reductions.record import SERIAL, Fold, Reduction, Scan, Stages, width_of

if TYPE_CHECKING:
    from gridlane.runtime.protocol import Device

LEAST_ROWS = 16
"""Fewer rows leave a device idle: their elements have more threads in kernels of their own."""
MOST_EMULATED = 2
"""The most reductions in float64 of a kernel where integers compute them: each is some thousand
lines of a shader, which drivers take seconds to compile."""
MOST = 256 * SERIAL
"""The most elements of a row that has one part."""


def row_group_of(root: Node, compute: Callable[[Node], object]) -> Group | None:
    """The group of a pending node in which reductions along the last axes are used with the
    elements of the same rows; None if it has none.

    Args:
        compute: makes leaves of the operands that the group cannot hold.
    """
    axes = _axes_of(root)
    if not axes:
        return None
    for each in _apart(root, axes):
        compute(each)
    assert root.device is not None
    if emulates_float64(root.device):
        while (early := _early(root)) is not None:
            compute(early)
    return _group(root, axes)


def emulates_float64(device: Device) -> bool:
    """Whether code for a device computes in float64 by integers."""
    target = device.target((THREADS, 1, 1))
    record = backend(target.name)
    depends = Feature.FLOAT64 in record.features
    return not record.float64 or (depends and Feature.FLOAT64 not in target.features)


def _early(root: Node) -> Node | None:
    """A pending reduction in float64 that is computed first, where there are too many for one
    kernel."""
    wide = [each for each in ordered(root) if _is_wide(each)]
    return wide[-MOST_EMULATED - 1] if len(wide) > MOST_EMULATED else None


def _is_wide(node: Node) -> bool:
    own = node.operation
    return node.is_pending and isinstance(own, Reduction) and own.accumulator.char in "dD"


def _shape_of(root: Node) -> Shape:
    """The shape of the elements that are reduced."""
    return root.operands[0].shape if isinstance(root.operation, Reduction) else root.shape


def _axes_of(root: Node) -> tuple[int, ...]:
    """The axes of the reductions that one kernel can compute with the root; none if there are no
    such reductions."""
    shape = _shape_of(root)
    if isinstance(root.operation, Scan):
        return ()
    nodes = ordered(root)[:-1]
    for node in nodes:
        if isinstance(node.operation, Gather | Scatter) or node.operation is INDEX:
            return ()
    own = root.operation.axes if isinstance(root.operation, Reduction) else None
    for node in nodes:
        reduction = node.operation
        if not isinstance(reduction, Reduction) or not _is_of_rows(node, shape, reduction.axes):
            continue
        axes = reduction.axes
        if own is not None and axes != own:
            continue
        rows = rows_of(shape, axes)
        is_last = axes == tuple(range(len(shape) - len(axes), len(shape)))
        fits = SERIAL < rows.length <= MOST and rows.count >= LEAST_ROWS
        if is_last and fits and not rows.by_columns:
            return axes
    return ()


def _is_of_rows(node: Node, shape: Shape, axes: tuple[int, ...]) -> bool:
    """Whether a node reduces elements of a shape along axes, and broadcasts with these."""
    own = node.operation
    return (
        isinstance(own, Reduction)
        and own.axes == axes
        and own.keepdims
        and node.operands[0].shape == shape
    )


def _apart(root: Node, axes: tuple[int, ...]) -> list[Node]:
    """The pending nodes that are computed first, those that others depend on in front."""
    shape = _shape_of(root)
    short = tuple([1 if axis in axes else extent for axis, extent in enumerate(shape)])
    entered: set[int] = set()
    apart: list[Node] = []
    stack = [root]
    while stack:
        node = stack.pop()
        for operand in node.operands:
            if not operand.is_pending or id(operand) in entered:
                continue
            entered.add(id(operand))
            if isinstance(operand.operation, Reduction | Scan):
                fits = _is_of_rows(operand, shape, axes)
            else:
                fits = operand.shape in (shape, short)
            (stack if fits else apart).append(operand)
    return apart


def _folds(nodes: list[Node], places: list[int], kept: int, width: int) -> tuple[Fold, ...]:
    """The reductions at some places among the nodes of a group."""
    position = {id(node): place for place, node in enumerate(nodes)}
    folds: list[Fold] = []
    for place in places:
        reduction = nodes[place].operation
        assert isinstance(reduction, Reduction)
        folds.append(
            Fold(
                kind=reduction.kind,
                accumulator=reduction.accumulator,
                result=nodes[place].dtype,
                kept=kept,
                operands=tuple([position[id(each)] for each in nodes[place].operands]),
                is_masked=len(nodes[place].operands) > 1,
                width=width,
                is_last=True,
            )
        )
    return tuple(folds)


def _group(root: Node, axes: tuple[int, ...]) -> Group | None:
    """The group; None if no reduction is left in it whose result is used there."""
    shape = _shape_of(root)
    short = tuple([1 if axis in axes else extent for axis, extent in enumerate(shape)])
    nodes = ordered(root)
    # Before others refer to the nodes.
    beside = stored_beside(nodes)
    places = [place for place, node in enumerate(nodes) if isinstance(node.operation, Reduction)]
    if not places or places == [len(nodes) - 1]:
        return None
    layouts = [*layouts_of(nodes, shape), contiguous(shape)]
    rows = rows_of(shape, axes)
    kept, above = joined_axes(shape, layouts, rows.axes[: rows.kept])
    along, below = joined_axes(shape, layouts, rows.axes[rows.kept :])
    strides = [(*a, *b) for a, b in zip(above, below, strict=True)]
    steps, arguments = steps_of(nodes, strides)
    target, further = split(strides[-1])
    folds = _folds(nodes, places, len(kept), width_of(math.prod(along)))
    stored = (*beside, len(nodes) - 1)
    root_is_row = isinstance(root.operation, Reduction)
    of_rows = tuple(
        [
            number
            for number, place in enumerate(stored)
            if (root_is_row if place == len(nodes) - 1 else nodes[place].shape == short != shape)
        ]
    )
    stages = Stages(folds, of_rows)
    form = Form(len(kept) + len(along), False, steps, stored, target, folds[0], stages)
    return Group(form, nodes, (*kept, *along), (*arguments, *further))
