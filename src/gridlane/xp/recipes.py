"""Recipes: what computing an expression did, for later ones of the same structure and shapes.

The first computation of an expression is recorded: its allocations, its launches with the sources
of their arguments, and the nodes that became leaves. A later one whose ``trace`` has the same key
repeats that, without choosing groups or looking for code.
"""

from __future__ import annotations

import struct
import sys
import weakref
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from gridlane.core.dtypes import bf16
from gridlane.core.frozen import frozen
from gridlane.launch.parameters import code_of, struct_of
from gridlane.launch.plan import Plan
from gridlane.runtime.protocol import Device
from gridlane.xp.nodes import Gather, Index, Node, Scatter, Shape, Storage

MOST = 2048
"""The most recipes that are kept."""


class Trace(NamedTuple):
    """A pending node and all that it depends on, operands first.

    Attributes:
        key: equal for expressions of the same structure, shapes, layouts and outside users.
        nodes: each once.
    """

    key: Hashable
    nodes: list[Node]


class _NoTrace(Exception):
    """The expression has a node whose arguments are not those of its place in the expression."""


class _Walk:
    """The state of a trace that is being made."""

    __slots__ = ("counted", "key", "nodes", "places", "users")

    def __init__(self, device: Device | None) -> None:
        self.nodes: list[Node] = []
        self.places: dict[int, int] = {}
        self.users: dict[int, int] = {}
        self.counted: set[int] = set()
        self.key: list[Any] = [device]

    def visit(self, node: Node) -> int:
        """The place of a node, behind those of its operands."""
        place = self.places.get(id(node))
        if place is not None:
            return place
        operation, operands = node.operation, node.operands
        if operation is None:
            number = node.dtype.num
            # The layout of a leaf, or the dtype of a number.
            is_leaf = node.storage is not None
            self.key.append((number, node.shape, node.strides) if is_leaf else number)
        elif isinstance(operation, _UNTRACED):
            raise _NoTrace
        else:
            if id(operands) not in self.counted:
                self.counted.add(id(operands))
                users = self.users
                for each in operands:
                    users[id(each)] = users.get(id(each), 0) + 1
            above = tuple([self.visit(each) for each in operands])
            self.key.append((operation, node.dtype.num, node.shape, node.part, above))
        self.places[id(node)] = place = len(self.nodes)
        self.nodes.append(node)
        return place


_UNTRACED = (Gather, Index, Scatter)


def trace(root: Node) -> Trace | None:
    """The trace of an expression; None if its computation cannot be repeated by a recipe. Hot."""
    walk = _Walk(root.device)
    try:
        last = walk.visit(root)
    except _NoTrace:
        return None
    key, users, nodes = walk.key, walk.users, walk.nodes
    for place in range(last):
        node = nodes[place]
        # The list, this variable and the argument of getrefcount refer to it as well. Only if that
        # is no variable: CPython 3.14 borrows the reference of some variables.
        if node.operation is not None and sys.getrefcount(nodes[place]) > users[id(node)] + 3:
            key.append(place)
    return Trace(tuple(key), nodes)


@frozen
class Source:
    """Where an argument of a launch comes from.

    Attributes:
        new: whether it is memory that the recipe allocates, else a node of the trace.
        place: of the allocation, or of the node.
        offset: bytes into new memory.
    """

    new: bool
    place: int
    offset: int = 0


@frozen
class Step:
    """A launch.

    Attributes:
        plan: its code, for launches of these sizes.
        pack: packs the parameter block.
        blocks: of the grid.
        sources: of the first arguments.
        rest: the arguments after these.
    """

    plan: Plan
    pack: Any
    blocks: int
    sources: tuple[Source, ...]
    rest: tuple[int, ...]


class Recipe:
    """What the computation of an expression did."""

    __slots__ = ("_device", "_leaves", "_sizes", "_steps")

    def __init__(
        self,
        device: Device,
        sizes: list[int],
        steps: list[Step],
        leaves: list[tuple[int, Source, Shape]],
    ) -> None:
        self._device, self._sizes, self._steps, self._leaves = device, sizes, steps, leaves

    def repeat(self, nodes: list[Node]) -> None:
        """Compute the nodes of a trace with the recipe's key. Hot.

        Raises:
            DeviceError: OUT_OF_MEMORY; no node has changed.
        """
        device = self._device
        new = [Storage(device, device.allocate(size)) for size in self._sizes]
        stream = device.default_stream
        for step in self._steps:
            values: list[Any] = []
            keep: list[Any] = []
            for source in step.sources:
                if source.new:
                    storage = new[source.place]
                    values.append(storage.buffer.address + source.offset)
                else:
                    node = nodes[source.place]
                    storage = node.storage
                    if storage is None:
                        values += parts_of(node)
                        continue
                    values.append(storage.buffer.address + node.offset)
                keep.append(storage)
            params = step.pack(*values, *step.rest)
            stream.launch(step.plan.kernel, params, step.blocks, 1, 1, 0, keep)
        for place, source, strides in self._leaves:
            nodes[place].become(new[source.place], strides, source.offset)


def parts_of(node: Node) -> list[Any]:
    """A Python number as arguments."""
    value = node.number
    return [value.real, value.imag] if node.dtype.kind == "c" else [value]


class Recorder:
    """Notes what a computation does.

    It has weak references to the nodes, as references tell what is stored.
    """

    def __init__(self, device: Device, nodes: list[Node]) -> None:
        self._device = device
        self._references = [weakref.ref(node) for node in nodes]
        self._places = {id(node): place for place, node in enumerate(nodes)}
        self._pending = [node.is_pending for node in nodes]
        self._new: dict[int, tuple[int, Storage]] = {}
        self._sizes: list[int] = []
        self._steps: list[Step] = []
        self._is_whole = True

    def allocated(self, storage: Storage, size: int) -> None:
        """Note an allocation."""
        self._new[id(storage)] = len(self._sizes), storage
        self._sizes.append(size)

    def launched(self, plan: Plan, blocks: int, nodes: list[Node], rest: tuple[int, ...]) -> None:
        """Note a launch, whose first arguments are those of nodes."""
        sources: list[Source] = []
        for node in nodes:
            source = self._source(node)
            if source is None:
                self._is_whole = False
                return
            sources.append(source)
        step = Step(plan, _packer(plan), blocks, tuple(sources), rest)
        self._steps.append(step)

    def _source(self, node: Node) -> Source | None:
        if node.storage is not None:
            new = self._new.get(id(node.storage))
            if new is not None:
                return Source(True, new[0], node.offset)
        place = self._places.get(id(node))
        if place is None or self._references[place]() is not node:
            return None
        return Source(False, place)

    def recipe(self) -> Recipe | None:
        """What was done; None if it cannot be repeated."""
        leaves: list[tuple[int, Source, Shape]] = []
        for place, reference in enumerate(self._references):
            node = reference()
            if node is None or not self._pending[place] or node.is_pending:
                continue
            source = self._source(node)
            if source is None or not source.new:
                return None
            leaves.append((place, source, node.strides))
        if not self._is_whole:
            return None
        return Recipe(self._device, self._sizes, self._steps, leaves)


def _packer(plan: Plan) -> Any:
    """The function that packs a kernel's parameter block, of numbers that its types hold."""
    slots = plan.kernel.artifact.params
    codes = [(slot.offset, code_of(slot.dtype)) for slot in slots]
    block = struct.Struct(struct_of(codes, plan.kernel.artifact.param_bytes)).pack
    narrow = [place for place, slot in enumerate(slots) if slot.dtype is bf16]
    if not narrow:
        return block

    def pack(*values: Any) -> bytes:
        listed = list(values)
        for place in narrow:
            listed[place] = int(np.asarray(values[place], bf16.numpy).view(np.uint16))
        return block(*listed)

    return pack
