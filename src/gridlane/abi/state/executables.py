"""Executable graphs: a graph as it was when it was instantiated, in the order of its execution."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from gridlane.abi.failure import INVALID_VALUE, fail
from gridlane.abi.state.contexts import Context
from gridlane.abi.state.copying import Copy, Staging
from gridlane.abi.state.graph_memory import Allocate
from gridlane.abi.state.graphs import Child, Compound, Graph, Node, nodes
from gridlane.abi.state.handles import Handles
from gridlane.abi.state.launching import Launch
from gridlane.abi.state.streams import Stream, Work
from gridlane.abi.state.work import KERNEL, MEMCPY, MEMSET, Empty
from gridlane.core.cuda_table import enums
from gridlane.core.errors import GridlaneError
from gridlane.runtime import protocol
from gridlane.runtime.queues.host_stream import together

AUTO_FREE = enums()["CUgraphInstantiate_flags"].values[
    "CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH"
]
_CAN_BE_DISABLED = KERNEL, MEMCPY, MEMSET


class Executable:
    """An executable graph. It has copies of the nodes, so that it outlives the graph.

    Args:
        graph: without cycles, see ``unordered``.

    Attributes:
        graph: the copy.
        disabled: the nodes whose work launches leave out.
    """

    def __init__(self, graph: Graph, context: Context, flags: int) -> None:
        self.graph, self.context, self.flags = graph.copied(named=False), context, flags
        self.disabled: set[Node] = set()
        self._order = list(_leaves(self.graph))
        for node in _all(self.graph):
            put(node, node.work)
        self._last: protocol.Event | None = None
        self._queue: protocol.Stream | None = None
        self._lock = threading.RLock()
        self.handle = executables.add(self)

    def copy_of(self, node: Node) -> Node:
        """Its copy of a node of the graph that it was instantiated from.

        Raises:
            Failure: INVALID_VALUE, the node is of another graph, or was removed.
        """
        origin = self.graph.origins.get(node.handle)
        if origin is None or nodes.find(node.handle) is not node:
            fail(INVALID_VALUE, f"{node.handle:#x} is no node of the graph that was instantiated")
        return origin

    def enable(self, node: Node, is_enabled: bool) -> None:
        """Enable or disable the work of a node in launches."""
        self.check_can_be_disabled(node)
        if is_enabled:
            self.disabled.discard(node)
        else:
            self.disabled.add(node)

    def check_can_be_disabled(self, node: Node) -> None:
        """Raise INVALID_VALUE for a node of a kind whose work is always done."""
        if node.work.kind not in _CAN_BE_DISABLED:
            fail(INVALID_VALUE, "only kernels, copies and fills can be disabled")

    def launch(self, stream: Stream) -> None:
        """Append the work to a stream, after the earlier launches."""
        if stream.context.device is not self.context.device:
            fail(INVALID_VALUE, "the graph and the stream are of two devices")
        if stream.capture is not None:
            stream.submit(Child(self._enabled()))
            return
        with self._lock:
            self._check_memory()
            if self._last is None:
                self._last = self.context.device.new_event(False)
            else:
                self._last.wait(stream.queue)
            try:
                with together(stream.queue.inline):
                    self._run(stream)
            finally:
                self._queue = stream.queue
                self._last.record(stream.queue)

    def _check_memory(self) -> None:
        """Raise INVALID_VALUE where memory is still allocated that a launch allocates, and the
        graph was not instantiated to free it."""
        if self.flags & AUTO_FREE:
            return
        for node in self._order:
            if isinstance(node.work, Allocate) and node.work.block.is_live:
                fail(
                    INVALID_VALUE,
                    f"the allocation {node.work.address:#x} of an earlier launch of the graph is "
                    "not freed: free it before the next launch, or instantiate the graph with "
                    "cudaGraphInstantiateFlagAutoFreeOnLaunch",
                )

    def _run(self, stream: Stream) -> None:
        for each in self.graph.conditions.values():
            if each.default is not None:
                each.set(stream, each.default)
        for node in self._order:
            if stream.context.faulted:
                break  # a kernel of a stream whose work is done at once
            if node not in self.disabled:
                node.work.run(stream)

    def _enabled(self) -> Graph:
        """A copy of the graph for a node of another, without the work that is disabled."""
        enabled, copies = self.graph.copies(named=True, embedded=True)
        for each in self.disabled:
            copies[each].work = Empty()
        return enabled

    def end(self) -> None:
        """End it. Launches that run go on, and the user objects live until then."""
        executables.discard(self.handle)
        with suppress(GridlaneError):  # a kernel failed: nothing runs
            if self._last is not None and self._queue is not None and not self._last.query():
                self._queue.submit(self.graph.end, always=True)
                return
        self.graph.end()


executables = Handles[Executable]("executable graph", INVALID_VALUE)
executable = executables.get


def _leaves(graph: Graph) -> Iterator[Node]:
    """The nodes of a graph and of the graphs in it, in the order of their execution."""
    for node in graph.order():
        if isinstance(node.work, Child):
            yield from _leaves(node.work.graph)
        else:
            yield node


def _all(graph: Graph) -> Iterator[Node]:
    """The nodes of a graph and of all graphs in it."""
    for node in graph.nodes:
        yield node
        for each in node.work.graphs if isinstance(node.work, Compound) else ():
            yield from _all(each)


def put(node: Node, work: Work) -> None:
    """Give a node of an executable its work, with staging memory of its own."""
    node.work = replace(work, staging=Staging()) if isinstance(work, Copy) else work


def unordered(graph: Graph) -> Node | None:
    """A node of a cycle, of the graph or of one in it, if there is one."""
    order = set(graph.order())
    for node in graph.nodes:
        if node not in order:
            return node
        for each in node.work.graphs if isinstance(node.work, Compound) else ():
            culprit = unordered(each)
            if culprit is not None:
                return culprit
    return None


def check(graph: Graph, context: Context) -> None:
    """Compile the kernels of a graph.

    Raises:
        Failure, LaunchError, PtxError, TargetError: a launch that does not exist, or a kernel that
            the device cannot have.
    """
    for node in _all(graph):
        check_work(node.work, context)


def check_work(work: Work, context: Context) -> None:
    """Compile the kernel of work that launches one; see ``check``."""
    if isinstance(work, Launch):
        work.check(context)
