"""Nodes of graphs whose body runs or not, by a number that kernels set."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from typing import ClassVar

from gridlane.abi.failure import INVALID_VALUE, fail
from gridlane.abi.state import memory
from gridlane.abi.state.contexts import Context
from gridlane.abi.state.graphs import Graph, Node
from gridlane.abi.state.streams import Stream
from gridlane.abi.state.work import TYPES

CONDITIONAL = TYPES["CU_GRAPH_NODE_TYPE_CONDITIONAL"]
IF, WHILE, SWITCH = range(3)


class Condition:
    """A number on the device, at the address that is its handle.

    Attributes:
        default: what each launch of the graph sets it to first; None to leave it.
    """

    def __init__(self, context: Context, default: int | None) -> None:
        self.context, self.default = context, default
        self.cell = context.device.allocate(8)
        memory.hidden.add(self.cell)
        _conditions[self.handle] = self

    @property
    def handle(self) -> int:
        """The address, by which kernels set the number."""
        return self.cell.address

    def set(self, stream: Stream, value: int) -> None:
        """Set it behind the work of a stream, which is waited for."""
        stream.queue.synchronize()
        self.context.device.upload(self.handle, memoryview(value.to_bytes(4, "little")))

    def read(self, stream: Stream) -> int:
        """The number behind the work of a stream, which is waited for."""
        stream.queue.synchronize()
        data = bytearray(4)
        self.context.device.download(memoryview(data), self.handle)
        return int.from_bytes(data, "little")


_conditions: weakref.WeakValueDictionary[int, Condition] = weakref.WeakValueDictionary()


def condition(handle: int) -> Condition:
    """A condition by its handle.

    Raises:
        Failure: INVALID_VALUE, there is none.
    """
    known = _conditions.get(handle)
    return known if known is not None else fail(INVALID_VALUE, f"{handle:#x} is no condition")


class Conditional:
    """The work of graphs, among which a condition chooses when the node is reached: the first or
    the second by whether it is not 0; the first as long as it is not 0; or the one with its
    number."""

    __slots__ = ("_handles", "bodies", "condition", "type")
    kind: ClassVar[int] = CONDITIONAL

    def __init__(self, condition: Condition, kind: int, bodies: tuple[Graph, ...]) -> None:
        self.condition, self.type, self.bodies = condition, kind, bodies
        self._handles: ctypes.Array[ctypes.c_uint64] | None = None

    def handles(self) -> int:
        """The address of the handles of its graphs, which lives as long as the node."""
        graph_handles = [each.handle for each in self.bodies]
        self._handles = (ctypes.c_uint64 * len(graph_handles))(*graph_handles)
        return ctypes.addressof(self._handles)

    @property
    def graphs(self) -> tuple[Graph, ...]:
        """The graphs that are part of it."""
        return self.bodies

    def copies(self, named: bool) -> tuple[Conditional, dict[Node, Node]]:
        """The work with copies of its graphs, and the copy of each node."""
        results = [body.copies(named, True) for body in self.bodies]
        copies_by_node = {node: copy for _, each in results for node, copy in each.items()}
        return Conditional(
            self.condition, self.type, tuple(body for body, _ in results)
        ), copies_by_node

    def run(self, stream: Stream) -> None:
        """Append the chosen work to a stream. The caller waits for what sets the number."""
        value = self.condition.read(stream)
        if self.type == SWITCH:
            self._run(value, stream)
        elif self.type == IF:
            self._run(0 if value else 1, stream)
        else:
            while value and not stream.context.faulted:
                self._run(0, stream)
                value = self.condition.read(stream)

    def _run(self, place: int, stream: Stream) -> None:
        if place < len(self.bodies):
            for node in self.bodies[place].order():
                if not stream.context.faulted:
                    node.work.run(stream)


COUNTS: dict[int, Callable[[int], bool]] = {
    IF: lambda count: count in (1, 2),
    WHILE: lambda count: count == 1,
    SWITCH: lambda count: count > 0,
}
"""How many bodies a node of each type has."""
