"""Fusion: what one kernel computes of an expression.

A group is a pending node with all that it depends on, down to leaves and numbers. It stores the
elements of that node, its root, and of each other one that somebody outside of the group refers to,
so that nothing is computed twice. An operand with fewer elements than its user is computed first,
by a kernel of its own, and so is a reduction; what a reduction reduces is in its group.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from gridlane.core.frozen import frozen
from gridlane.xp.nodes import INDEX, Gather, Node, Shape, contiguous
from gridlane.xp.reductions.record import Fold, Reduction, Scan, Stages

LIMIT = 48
"""The most operations of a group. A longer expression is computed in parts, so that the time of its
compilation grows linearly with its length."""
ROW = 64
"""The least elements of a row that has threads, and blocks, of its own."""


Steps = tuple[int | None, ...]
"""Along each dimension, the distance of neighbours in elements, if that is 0 or 1; else None: it is
an argument of the kernel."""


@frozen
class Form:
    """What a kernel depends on: the key of its code.

    Attributes:
        rank: the dimensions that are left when neighbours are joined.
        by_rows: whether a block's threads are in one row of the last dimension.
        steps: for each node: ("leaf", dtype, its steps along each dimension), ("index", dtype,
            steps), ("gather", dtype, steps, positions of the indices), ("number", dtype),
            ("fold", dtype, the number of one of several reductions), or (operation's name, dtype,
            part, positions of the operands). A "scatter" may be the last.
        stored: the positions of the nodes whose elements are stored, the root's last.
        target: the root's steps along each dimension, where it does not get memory of its own; with
            a reduction, the steps of what else is stored.
        fold: the reduction, if the group ends in one; its node is not among the steps.
        stages: several reductions of the same rows; ``fold`` is the first of them.
        product: for a product of two leaves, the dtypes of the result and of the sums.
    """

    rank: int
    by_rows: bool
    steps: tuple[tuple[Any, ...], ...]
    stored: tuple[int, ...]
    target: Steps | None = None
    fold: Fold | None = None
    stages: Stages | None = None
    product: tuple[np.dtype[Any], np.dtype[Any]] | None = None


@frozen
class Group:
    """One kernel's part of an expression.

    Attributes:
        form: the key of its code.
        nodes: in the order of computation; the last one is the root.
        extents: of the dimensions.
        strides: those that the code takes as arguments, in elements, and further integers that it
            takes.
    """

    form: Form
    nodes: list[Node]
    extents: Shape
    strides: Shape

    @property
    def stored(self) -> list[Node]:
        """The nodes whose elements are stored."""
        return [self.nodes[position] for position in self.form.stored]


def group_of(root: Node, compute: Callable[[Node], object], target: Node | None = None) -> Group:
    """The group of a pending node.

    Args:
        compute: makes leaves of the operands that the group cannot hold.
        target: the leaf, of the root's shape, that gets the elements; None for memory of its own.
    """
    compute_apart(root, compute)
    nodes = ordered(root)
    layouts = layouts_of(nodes, root.shape)
    own = _aligned(target.shape, target.strides, root.shape) if target else contiguous(root.shape)
    extents, strides = joined(root.shape, [*layouts, own, contiguous(root.shape)])
    steps, arguments = steps_of(nodes, strides)
    goes_to, further = split(strides[-2]) if target else (None, ())
    by_rows = len(extents) > 1 and extents[-1] >= ROW
    form = Form(len(extents), by_rows, steps, (*stored_beside(nodes), len(nodes) - 1), goes_to)
    return Group(form, nodes, extents, (*arguments, *further))


def layouts_of(nodes: list[Node], shape: Shape) -> list[Shape]:
    """The strides of each node that has some, broadcast to a shape."""
    return [
        _aligned(each.shape, own, shape) for each in nodes if (own := _strides_of(each)) is not None
    ]


def split(strides: Shape) -> tuple[Steps, Shape]:
    """Strides as a form has them, and those that the code takes as arguments.

    >>> split((7, 0, 1))
    ((None, 0, 1), (7,))
    """
    steps = tuple([stride if stride in (0, 1) else None for stride in strides])
    return steps, tuple([stride for stride in strides if stride not in (0, 1)])


def steps_of(nodes: list[Node], strides: list[Shape]) -> tuple[tuple[tuple[Any, ...], ...], Shape]:
    """A form's steps, and the strides that the code takes as arguments.

    Args:
        strides: of each node that has some; there may be further ones.
    """
    position = {id(node): number for number, node in enumerate(nodes)}
    rest, folds = iter(strides), itertools.count()
    arguments: list[int] = []

    def own() -> Steps:
        steps, further = split(next(rest))
        arguments.extend(further)
        return steps

    steps: list[tuple[Any, ...]] = []
    for node in nodes:
        operands = tuple([position[id(each)] for each in node.operands])
        if node.storage is not None:
            steps.append(("leaf", node.dtype, own()))
        elif node.operation is None:
            steps.append(("number", node.dtype))
        elif node.operation is INDEX:
            steps.append(("index", node.dtype, own()))
        elif isinstance(node.operation, Gather):
            steps.append(("gather", node.dtype, own(), operands))
        elif isinstance(node.operation, Reduction):
            steps.append(("fold", node.dtype, next(folds)))
        else:
            steps.append((node.operation.name, node.dtype, node.part, operands))
    return tuple(steps), tuple(arguments)


def _strides_of(node: Node) -> Shape | None:
    """The strides of a node that has some: of memory, or of indices."""
    if isinstance(node.operation, Gather):
        return node.operation.strides
    return node.strides if node.storage is not None or node.operation is INDEX else None


def compute_apart(root: Node, compute: Callable[[Node], object]) -> None:
    """Compute each pending operand that the group of a node cannot hold: it has fewer elements than
    its user, or is a reduction or a scan. What the node itself reduces is no such operand."""
    entered: set[int] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        size = node.operands[0].size if isinstance(node.operation, Reduction) else node.size
        for operand in node.operands:
            if not operand.is_pending or operand.operation is INDEX or id(operand) in entered:
                continue
            entered.add(id(operand))
            if operand.size != size or isinstance(operand.operation, Reduction | Scan):
                compute(operand)
            else:
                stack.append(operand)


def ordered(root: Node) -> list[Node]:
    """A pending node and all that it depends on, operands first, each once."""
    entered: set[int] = set()
    order: list[Node] = []
    stack = [(root, False)]
    while stack:
        node, is_done = stack.pop()
        if is_done:
            order.append(node)
        elif id(node) not in entered:
            entered.add(id(node))
            stack.append((node, True))
            stack += [(each, False) for each in reversed(node.operands)]
    return order


def users_of(nodes: list[Node]) -> dict[int, int]:
    """How often the operands of nodes refer to each node, by its identity. Results of one operation
    share their operands."""
    users: dict[int, int] = {}
    for operands in {id(each.operands): each.operands for each in nodes}.values():
        for identity in map(id, operands):
            users[identity] = users.get(identity, 0) + 1
    return users


def stored_beside(nodes: list[Node]) -> tuple[int, ...]:
    """The positions of the pending nodes, but for the last, with users outside of the group.

    CPython counts the references to an object. Those from the group are its tuples of operands and
    the list of nodes; a miscount stores too much, or computes something twice, no more.
    """
    inside = users_of(nodes)
    stored: list[int] = []
    for position in range(len(nodes) - 1):
        node = nodes[position]
        # The list, this variable and the argument of getrefcount refer to it as well. Only if that
        # is no variable: CPython 3.14 borrows the reference of some variables.
        is_kept = node.is_pending and node.operation is not INDEX
        if is_kept and sys.getrefcount(nodes[position]) > inside[id(node)] + 3:
            stored.append(position)
    return tuple(stored)


def _aligned(extents: Shape, strides: Shape, shape: Shape) -> Shape:
    """The strides of elements of some shape, broadcast to another."""
    lacking = len(shape) - len(extents)
    own = [0 if extent == 1 else stride for extent, stride in zip(extents, strides, strict=True)]
    return (*[0] * lacking, *own) if lacking >= 0 else tuple(own[-lacking:])


def joined(shape: Shape, strides: list[Shape]) -> tuple[Shape, list[Shape]]:
    """Join neighbouring dimensions that are one to each array: the extents and strides left.

    >>> joined((2, 1, 3, 4), [(12, 12, 4, 1), (0, 0, 4, 1)])
    ((2, 12), [(12, 1), (0, 1)])
    """
    extents: list[int] = []
    kept: list[list[int]] = [[] for _ in strides]
    for axis in reversed(range(len(shape))):
        extent = shape[axis]
        if extent == 1:
            continue
        is_joined = bool(extents) and all(
            own[axis] == steps[-1] * extents[-1] for own, steps in zip(strides, kept, strict=True)
        )
        if is_joined:
            extents[-1] *= extent
            continue
        extents.append(extent)
        for own, steps in zip(strides, kept, strict=True):
            steps.append(own[axis])
    return tuple(reversed(extents)), [tuple(reversed(steps)) for steps in kept]
