"""Expressions of arrays: nodes that are computed when somebody needs their elements.

A node is a *leaf*, whose elements are in memory, a *number* of Python's, or an operation on other
nodes. Computing a node makes it a leaf, in place, so all expressions that refer to it see that.
"""

from __future__ import annotations

import math
import weakref
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gridlane.xp.operations.record import Operation
from gridlane.xp.reductions.record import Reduction, Scan

if TYPE_CHECKING:
    from gridlane.memory.resource import Buffer
    from gridlane.runtime.protocol import Device

Shape = tuple[int, ...]


class Storage:
    """Memory of a device that holds elements.

    Attributes:
        device: the device of the memory.
        buffer: owns it.
        leaves: the nodes whose elements are in it.
        outside: whether code beyond the arrays may read and write it: it was imported or exported.
            What is computed of it is computed at once.
        readonly: whether its owner forbids writes.
    """

    __slots__ = ("_limit", "buffer", "device", "leaves", "outside", "readonly")

    def __init__(
        self, device: Device, buffer: Buffer, outside: bool = False, readonly: bool = False
    ) -> None:
        self.device, self.buffer = device, buffer
        self.outside, self.readonly = outside, readonly
        self.leaves: list[weakref.ref[Node]] = []
        self._limit = 8

    def leaf(self, dtype: np.dtype[Any], shape: Shape, strides: Shape, offset: int) -> Node:
        """A node over elements: strides in elements, the offset of the first one in bytes."""
        node = Node(self.device, dtype, shape)
        node.storage, node.strides, node.offset = self, strides, offset
        self.note(node)
        return node

    def note(self, node: Node) -> None:
        """Add a leaf; dead ones are dropped whenever there are twice as many as were alive."""
        if len(self.leaves) >= self._limit:
            self.forget()
        self.leaves.append(weakref.ref(node))

    def forget(self) -> None:
        """Drop the leaves that are dead, or of other memory now."""
        leaves = [(each, each()) for each in self.leaves]
        self.leaves = [each for each, leaf in leaves if leaf is not None and leaf.storage is self]
        self._limit = 2 * len(self.leaves) + 8


class Node:
    """The elements of an array.

    Attributes:
        device, dtype, shape: of the elements; ``device`` is None for a number of Python's.
        weight: the operations that computing it takes at most, those of its operands included.
        operation, operands: how it is computed; None and () for a leaf or a number.
        part: the index among the operation's results.
        number: Python's number.
        storage, strides, offset: the place of a leaf's elements; see ``Storage.leaf``. Those of an
            index are its steps along each dimension and its first value.
        owner: the array whose elements these are, if one is.
        exposed: whether a pending node reads memory of others, and is computed at once.
    """

    __slots__ = (
        "__weakref__",
        "device",
        "dtype",
        "exposed",
        "number",
        "offset",
        "operands",
        "operation",
        "owner",
        "part",
        "shape",
        "storage",
        "strides",
        "weight",
    )

    def __init__(
        self,
        device: Device | None,
        dtype: np.dtype[Any],
        shape: Shape,
        operation: Operation | Cast | Index | Gather | Scatter | Reduction | Scan | None = None,
        operands: tuple[Node, ...] = (),
        part: int = 0,
    ) -> None:
        self.device, self.dtype, self.shape = device, dtype, shape
        self.operation, self.part = operation, part
        self.operands: tuple[Node, ...] = operands
        weight, exposed = int(bool(operands)), False
        for each in operands:
            weight += each.weight
            exposed = exposed or each.is_shared
        self.weight, self.exposed = weight, exposed
        self.storage: Storage | None = None
        self.strides: Shape = ()
        self.offset = 0
        self.number: Any = None
        self.owner: Any = None

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def is_pending(self) -> bool:
        """Whether the elements are still to be computed."""
        return self.operation is not None

    @property
    def is_shared(self) -> bool:
        """Whether code beyond the arrays may change what the elements are, or come from."""
        return self.exposed or (self.storage is not None and self.storage.outside)

    @property
    def is_contiguous(self) -> bool:
        """Whether a leaf's elements are one after another, in C's order."""
        return self.size <= 1 or self.strides == contiguous(self.shape)

    def settle(self, leaf: Node) -> None:
        """Become the leaf that holds the computed elements."""
        assert leaf.storage is not None
        self.become(leaf.storage, leaf.strides, leaf.offset)

    def become(self, storage: Storage, strides: Shape, offset: int) -> None:
        """Become a leaf; see ``Storage.leaf``."""
        self.operation, self.operands, self.weight, self.exposed = None, (), 0, False
        self.storage, self.strides, self.offset = storage, strides, offset
        storage.note(self)


class Cast:
    """The conversion of elements to a node's dtype, in the place of an operation."""

    name = "cast"
    arity = 1


CAST = Cast()


class Index:
    """The indices of elements, in the place of an operation: the sum of an int64 offset and of each
    dimension's index times its step. Kernels compute it anew where it is used."""

    name = "index"


INDEX = Index()


class Gather:
    """Elements of a leaf at computed places, in the place of an operation. Its operands are int64
    indices along some dimensions of the leaf, from minus the extent on, and in bounds.

    Attributes:
        source: the leaf; its offset is that of the first element.
        strides: the distance in the leaf of neighbours along each dimension of the result.
        axes: for each operand the stride and the extent of its dimension of the leaf.
    """

    name = "gather"
    __slots__ = ("axes", "source", "strides")

    def __init__(self, source: Node, strides: Shape, axes: tuple[tuple[int, int], ...]) -> None:
        self.source, self.strides, self.axes = source, strides, axes


class Scatter:
    """A store of the first operand at computed places of the group's target, in the place of an
    operation. The other operands and the axes are as those of ``Gather``."""

    name = "scatter"
    __slots__ = ("axes",)

    def __init__(self, axes: tuple[tuple[int, int], ...]) -> None:
        self.axes = axes


def index(device: Device, shape: Shape, steps: Shape, first: int = 0) -> Node:
    """A node of indices."""
    node = Node(device, np.dtype(np.int64), shape, INDEX)
    node.strides, node.offset = steps, first
    return node


def number(value: Any, dtype: np.dtype[Any]) -> Node:
    """The node of a Python number, which kernels take as an argument of a dtype.

    Raises:
        OverflowError: the dtype's integers do not hold it.
    """
    # Zeros of both signs are equal, and are no key.
    return (
        _shared_number(value, dtype)
        if value and type(value) is not complex
        else _number(value, dtype)
    )


def _number(value: Any, dtype: np.dtype[Any]) -> Node:
    node = Node(None, dtype, ())
    node.number = dtype.type(value) if dtype.kind != "V" else value
    return node


_shared_number = lru_cache(1024, typed=True)(_number)


def contiguous(shape: Shape) -> Shape:
    """The strides of C's order, in elements.

    >>> contiguous((2, 3, 4))
    (12, 4, 1)
    """
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))
