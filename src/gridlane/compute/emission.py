"""The text of kernels and of what launches them, from isl's syntax tree of a nest.

Loops around parallel ones run on the host. Up to three parallel loops that stand in each other are
the threads of a kernel, and all that is inside of them is a thread's. What has no parallel loop is
a kernel of one thread.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

import islpy as isl

from gridlane.compute.costs import Costs
from gridlane.compute.emitted import Emitted, KernelText, Span
from gridlane.compute.expressions import BLOCK, FOR, IF, USER, python
from gridlane.compute.lanes import add_rows, add_threads
from gridlane.compute.polyhedra import Polyhedra
from gridlane.compute.schedules import Order, text_order
from gridlane.compute.spans import span_of
from gridlane.compute.splitting import Splits, Splitter
from gridlane.compute.strides import (
    PROCESSOR,
    Rates,
    Strides,
)
from gridlane.compute.threads import WORD, Lines
from gridlane.compute.transposing import Transposer
from gridlane.compute.tree import Loop, children, depth_of, users, users_at
from gridlane.compute.typing import Typing
from gridlane.compute.walks import Walks

MOST_DIMENSIONS = 3


class Emitter:
    """Emits the loops of a nest in an order.

    Args:
        plain: all is one thread's.
        order: the text's by default.
        rates: of the devices for which the cost is.
        is_block: loops around parallel ones run in a kernel of one block, with barriers.
        is_single: one thread runs all loops of the order.
    """

    def __init__(
        self,
        polyhedra: Polyhedra,
        typing: Typing,
        plain: bool = False,
        order: Order | None = None,
        rates: Rates = PROCESSOR,
        is_block: bool = False,
        is_single: bool = False,
    ) -> None:
        self.rates, self.is_block, self.is_single = rates, is_block, is_single
        self.order = order or text_order(polyhedra)
        self.strides = Strides(polyhedra, self.order)
        self.costs = Costs(self)
        self.polyhedra, self.typing, self.plain = polyhedra, typing, plain
        self.nest = polyhedra.nest
        self.statements = {each.name: each for each in self.nest.statements}
        self.kernels: list[KernelText] = []
        self.cells: dict[str, None] = {}
        self.host = Lines()
        self.outer: list[str] = []  # iterators of the host's loops
        self.letter = "c"  # of iterators, which are no names of the function
        names = self.nest.names
        while any(re.fullmatch(rf"{self.letter}\d+.*", each) for each in names):
            self.letter += "_"
        self.launch = "launch"
        while self.launch in names:
            self.launch += "_"
        self.walks = Walks(polyhedra, self.order, self.strides, rates, self.letter)
        self.walks_alone = False

    def emitted(self) -> Emitted:
        """The kernels and the host's function."""
        tree = self._tree()
        if self.plain or self.is_single:
            self._kernel([tree], [])
        else:
            self._host(tree)
        if self.is_block:
            self._finish_block()
        names = (*self.nest.arguments, *self.nest.extents, *self.order.parameters)
        cells = [f"{name}__cell" for name in self.cells]
        known = dict.fromkeys((*names, *cells))
        head = f"def host({self.launch}, {', '.join(known)}):"
        return Emitted(
            tuple(self.kernels),
            "\n".join([head, *(self.host.lines or ["    pass"])]) + "\n",
            tuple(self.cells),
            self.order,
            self.costs.total,
            self.costs.is_strided,
            strips=self.costs.strips,
            aligned=self.costs.aligned,
        )

    def _tree(self) -> isl.AstNode:
        order, count = self.order.map, self.order.count
        names = isl.IdList.alloc(order.get_ctx(), count)
        for number in range(count):
            names = names.add(isl.Id.read_from_str(order.get_ctx(), f"{self.letter}{number}"))
        return self._build().set_iterators(names).node_from_schedule_map(order)

    def _build(self) -> isl.AstBuild:
        return isl.AstBuild.from_context(self.polyhedra.context)

    # ---- the host

    def _host(self, node: isl.AstNode) -> None:
        kind = node.get_type()
        if kind == BLOCK:
            self._siblings(children(node))
        elif self._is_thread_code(node):
            self._kernel([node], [])
        elif kind == IF:
            self._host_branch(node)
        else:
            band = self._band(node)
            if band:
                self._band_kernel(band)
                return
            loop = Loop(node)
            self.outer.append(loop.name)
            with self.host.block(f"for {loop.name} in {loop.range}:"):
                self._host(node.for_get_body())
            self.outer.pop()

    def _band_kernel(self, band: list[isl.AstNode]) -> None:
        """Add a kernel of parallel loops: its threads are lanes, or walk if that costs less."""
        walk = self.costs.walk_of(band)
        if walk is None:
            self.costs.want_strips([band[-1].for_get_body()], band)
            self._kernel([band[-1].for_get_body()], band)
        else:
            self._kernel(*walk)

    def _siblings(self, nodes: list[isl.AstNode]) -> None:
        """Emit nodes in order: those next to each other that are a thread's are one kernel."""
        run: list[isl.AstNode] = []
        for each in nodes:
            if self._is_thread_code(each):
                run.append(each)
                continue
            if run:
                self._kernel(run, [])
            run = []
            self._host(each)
        if run:
            self._kernel(run, [])

    def _host_branch(self, node: isl.AstNode) -> None:
        with self.host.block(f"if {python(node.if_get_cond())}:"):
            self._host(node.if_get_then_node())
        if node.if_has_else_node():
            with self.host.block("else:"):
                self._host(node.if_get_else_node())

    def _is_thread_code(self, node: isl.AstNode) -> bool:
        """Whether no loop in a node is parallel."""
        kind = node.get_type()
        if kind == USER:
            return True
        if kind == IF:
            inner = [node.if_get_then_node()]
            inner += [node.if_get_else_node()] if node.if_has_else_node() else []
            return all(map(self._is_thread_code, inner))
        if kind == FOR:
            return not self._is_parallel(node) and self._is_thread_code(node.for_get_body())
        return all(map(self._is_thread_code, children(node)))

    def _is_parallel(self, node: isl.AstNode) -> bool:
        if node.for_is_degenerate():
            return False
        dimension, names = self.dimension(Loop(node).name), set(users(node))
        if self.order.tiles and dimension >= self.order.tiles:
            return False  # a thread's
        return self.polyhedra.is_parallel(names, dimension, self.order.map, self.order.count)

    def dimension(self, name: str) -> int:
        return int(name[len(self.letter) :])

    def _band(self, node: isl.AstNode) -> list[isl.AstNode]:
        """Parallel loops that stand in each other, from a node on."""
        band: list[isl.AstNode] = []
        while len(band) < MOST_DIMENSIONS and node.get_type() == FOR and self._is_parallel(node):
            band.append(node)
            node = node.for_get_body()
        return band

    def x_first(self, band: list[isl.AstNode], inside: set[str]) -> list[int]:
        """The loops of a band by their number, x first."""
        return self.costs.by_steps(band, inside)

    # ---- a kernel

    def _kernel(
        self, nodes: list[isl.AstNode], band: list[isl.AstNode], walks: float | None = None
    ) -> None:
        """Add a kernel of nodes, whose threads are the loops of the band around them.

        Args:
            walks: the cost if its threads walk, each a block.
        """
        inside = {name for each in nodes for name in users(each)}
        loops = [Loop(each) for each in band]
        depth = max(map(depth_of, nodes))
        deepest = {name for each in nodes for name in users_at(each, depth)}
        is_walk = walks is not None
        order = [*reversed(range(len(band)))] if is_walk else self.x_first(band, deepest)
        spans = [span_of(self, loops[number], inside) for number in order]
        rows = 1 if is_walk else self.costs.rows(nodes, loops, order, inside)
        before = self.costs.total
        if self.order.tiles:
            self.costs.add_tiles(nodes, loops)
        elif walks is None:
            self.costs.add(nodes, loops, order, deepest, rows)
        else:
            self.costs.total += walks
        if self.is_block:
            self._block_part(nodes, loops, spans, inside)
            return
        if rows > 1:
            spans[1] = replace(spans[1], step=rows)
        body = self._body(nodes, loops, order, inside, rows, is_walk)
        name = f"{self.nest.name}_{len(self.kernels)}"
        text = "\n".join(body.lines or ["    pass"])
        arguments = self._arguments_of(text, spans)
        splits = self._splits(nodes, [loops[n] for n in order], name, arguments)
        if splits.texts:
            self.costs.total = min(self.costs.total, before + splits.cost)
        self._launch(spans, arguments, splits)
        self.kernels.append(
            KernelText(
                name, f"def {name}({', '.join(arguments)}):\n{text}\n", arguments, tuple(spans),
                tuple([self._loop_text(span, inside) for span in spans]), 1, is_walk, splits.texts,
                splits.is_strided, splits.notes,
            )
        )  # fmt: skip

    def _body(
        self, nodes: list[isl.AstNode], loops: list[Loop], order: list[int], inside: set[str],
        rows: int, is_walk: bool,
    ) -> Lines:  # fmt: skip
        """The text of what a thread does, without the kernel's name."""
        body, typing = Lines(), self.typing
        if self.rates.vector > 1 and not self.plain and (is_walk or not loops):
            self.typing, self.walks_alone = typing.checked(), True
        for place, number in enumerate(order):
            name, step = loops[number].name, loops[number].step
            if place == 1 and rows > 1:
                body.add(f"{name}_row = {name}__first + {_THREADS[place]} * {rows}")
            else:
                body.add(f"{name} = {name}__first + {_THREADS[place]} * {step}")
        if rows > 1:
            others = [loop for number, loop in enumerate(loops) if number != order[1]]
            add_rows(self, nodes, loops[order[1]], others, inside, body, rows)
        else:
            self._threads(nodes, loops, inside, body)
        self.typing, self.walks_alone = typing, False
        return body

    def _threads(
        self, nodes: list[isl.AstNode], loops: list[Loop], inside: set[str], body: Lines
    ) -> None:
        add_threads(self, nodes, loops, inside, body)

    def _launch(self, spans: list[Span], arguments: tuple[str, ...], splits: Splits) -> None:
        """Launch the next kernel on the host."""
        ranges = "".join(f"({each.first}, {each.last}, {each.step}), " for each in spans)
        given = "".join(f"{each}, " for each in arguments if not each.endswith("__first"))
        lengths = f", {splits.lengths(partial(span_of, self))}" if splits.scopes else ""
        number = len(self.kernels)
        self.host.add(f"{self.launch}({number}, ({ranges}), ({given}){lengths})")

    def _splits(
        self, nodes: list[isl.AstNode], loops: list[Loop], name: str, arguments: tuple[str, ...]
    ) -> Splits:
        """Kernels of threads that share the iterations of a kernel."""
        if not self.rates.splits or self.plain or self.is_single or self.order.tiles:
            return Splits()
        known = [each for each in arguments if not each.endswith("__first")]
        found = Splitter(self, nodes, loops, name, known).splits()
        return found if found.texts else Transposer(self, nodes, loops, name, known).found(found)

    def _arguments_of(self, text: str, spans: list[Span]) -> tuple[str, ...]:
        """The arguments of a kernel of a text."""
        words = {*WORD.findall(text)}
        cells = [f"{each}__cell" for each in self.nest.variables]
        known = [*self.nest.tensors, *cells, *self.nest.scalars, *self.nest.extents]
        known += [*self.order.parameters, *self.outer]
        known += [f"{span.name}__first" for span in spans]
        return tuple(dict.fromkeys(each for each in known if each in words))

    def _block_part(
        self, nodes: list[isl.AstNode], loops: list[Loop], spans: list[Span], inside: set[str]
    ) -> None:
        """Add a part of a kernel of one block: its threads take turns along x."""
        heads = [] if spans else ["if cuda.threadIdx.x == 0:"]
        for span in reversed(spans):
            start, step = f"{span.first}", f"{span.step}"
            if span is spans[0]:
                start, step = f"{start} + cuda.threadIdx.x * {step}", f"{self.rates.block} * {step}"
            heads.append(f"for {span.name} in range({start}, {span.last} + 1, {step}):")
        with self.host.block(*heads):
            self._threads(nodes, loops, inside, self.host)
        self.host.add("cuda.syncthreads()")

    def _finish_block(self) -> None:
        """Make the text of the host that of one kernel."""
        name, text = f"{self.nest.name}_block", "\n".join(self.host.lines)
        arguments = self._arguments_of(text, [])
        text = f"def {name}({', '.join(arguments)}):\n{text}\n"
        self.kernels = [KernelText(name, text, arguments, (), (), self.rates.block)]
        self.costs.total += self.rates.launch
        self.host = Lines()
        self.host.add(f"{self.launch}(0, (), ({', '.join(arguments)},))")

    def _loop_text(self, span: Span, inside: set[str]) -> str:
        """The text's loop that a loop of the order is."""
        moves = self.strides.moves(self.dimension(span.name), span.step, inside)
        texts = {each.name: each.text for s in self.nest.statements for each in s.loops}
        found = [texts[name] for steps in moves.values() for name, by in steps.items() if by > 0]
        return found[-1] if found else span.name


_THREADS = ("cuda.grid(3)[0]", "cuda.grid(3)[1]", "cuda.grid(3)[2]")
