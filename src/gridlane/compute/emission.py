"""The text of kernels and of what launches them, from isl's syntax tree of a nest.

Loops around parallel ones run on the host. Up to three parallel loops that stand in each other are
the threads of a kernel, and all that is inside of them is a thread's. What has no parallel loop is
a kernel of one thread.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace

import islpy as isl

from gridlane.compute.emitted import Emitted, KernelText, Span
from gridlane.compute.expressions import BLOCK, FOR, IF, USER, python
from gridlane.compute.polyhedra import Polyhedra
from gridlane.compute.schedules import SHORT_STRIP, STRIP, Order, text_order
from gridlane.compute.splitting import Splits, Splitter
from gridlane.compute.strides import (
    PROCESSOR,
    Rates,
    Stride,
    Strides,
    cost_of,
    cost_of_tiles,
    cost_of_walks,
)
from gridlane.compute.threads import WORD, Body, Lines
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
        self.cost, self.is_strided = 0.0, False
        self.strips: dict[str, tuple[int, int]] = {}
        self.aligned = ""
        self.tiled: dict[str, float] = {}  # the costs of statements in tiles
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
            self.cost,
            self.is_strided,
            strips=self.strips,
            aligned=self.aligned,
        )

    def _tree(self) -> isl.AstNode:
        order, count = self.order.map, self.order.count
        build = isl.AstBuild.from_context(self.polyhedra.context)
        names = isl.IdList.alloc(order.get_ctx(), count)
        for number in range(count):
            names = names.add(isl.Id.read_from_str(order.get_ctx(), f"{self.letter}{number}"))
        return build.set_iterators(names).node_from_schedule_map(order)

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
            self.host.add(f"for {loop.name} in {loop.range}:")
            self._nested(node.for_get_body(), loop.name)

    def _band_kernel(self, band: list[isl.AstNode]) -> None:
        """Add a kernel of parallel loops: its threads are lanes, or walk if that costs less."""
        walk = self.walk_of(band)
        if walk is None:
            self._want_strips([band[-1].for_get_body()], band)
            self._kernel([band[-1].for_get_body()], band)
        else:
            self._kernel(*walk)

    def walk_of(
        self, band: list[isl.AstNode]
    ) -> tuple[list[isl.AstNode], list[isl.AstNode], float] | None:
        """What threads walk through in parallel loops, which loops are threads, and the cost;
        None where lanes cost less."""
        inner = [band[-1].for_get_body()]
        if self.rates.vector == 1 or self.is_block:
            return None
        if self.order.tiles:
            return inner, band, 0.0
        is_flat = depth_of(inner[0]) == 0
        threads, nodes = (band[:-1], [band[-1]]) if is_flat else (band, inner)
        if not threads or not self.walks.are_vectors(nodes):
            return None
        depth = max(map(depth_of, nodes))
        depth -= any(self._dimension(Loop(each).name) in self.order.strips for each in threads)
        walks = cost_of_walks(self.rates, len(self.outer), len(threads), depth, True)
        walks *= self.walks.count(nodes)
        return (nodes, threads, walks) if walks < self._cost_of_lanes(inner, band) else None

    def _want_strips(self, nodes: list[isl.AstNode], band: list[isl.AstNode]) -> None:
        """Note a parallel loop that would step along memory, were it innermost, where a loop in it
        adds to the same elements: these stay in the nearest cache, and other elements would not."""
        if self.rates.vector == 1 or self.is_block:
            return
        inside = {name for each in nodes for name in users(each)}
        loops, order = [Loop(each) for each in band], self._x_first(band, inside)
        statements = [self.statements[each] for each in inside]
        names = {a.name for s in statements for a in (s.write, *s.reads)}
        x = loops[order[0]]
        if (
            max(map(depth_of, nodes))
            and not names & {*self.nest.variables}
            and self.walks.add_up(nodes)
            and self._rows(nodes, loops, order, inside) == 1
            and Stride.MANY not in self.strides.strides(self._dimension(x.name), x.step, inside)
            and x.step == 1
        ):
            place = self._dimension(x.name), SHORT_STRIP if self.outer else STRIP
            self.strips |= dict.fromkeys(inside, place)
            hosts = {*map(self._dimension, self.outer)}
            self.aligned = self.aligned or self.strides.walked(place[0], inside, hosts)

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

    def _nested(self, node: isl.AstNode, name: str) -> None:
        self.outer.append(name)
        self.host.depth += 1
        self._host(node)
        self.host.depth -= 1
        self.outer.pop()

    def _host_branch(self, node: isl.AstNode) -> None:
        self.host.add(f"if {python(node.if_get_cond())}:")
        self.host.depth += 1
        self._host(node.if_get_then_node())
        self.host.depth -= 1
        if node.if_has_else_node():
            self.host.add("else:")
            self.host.depth += 1
            self._host(node.if_get_else_node())
            self.host.depth -= 1

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
        dimension, names = self._dimension(Loop(node).name), set(users(node))
        if self.order.tiles and dimension >= self.order.tiles:
            return False  # a thread's
        return self.polyhedra.is_parallel(names, dimension, self.order.map, self.order.count)

    def _dimension(self, name: str) -> int:
        return int(name[len(self.letter) :])

    def _band(self, node: isl.AstNode) -> list[isl.AstNode]:
        """Parallel loops that stand in each other, from a node on."""
        band: list[isl.AstNode] = []
        while len(band) < MOST_DIMENSIONS and node.get_type() == FOR and self._is_parallel(node):
            band.append(node)
            node = node.for_get_body()
        return band

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
        order = self._x_first(band, deepest)
        if walks is not None:
            order = [*reversed(range(len(band)))]
        spans = [self._span(loops[number], inside) for number in order]
        rows = 1 if walks is not None else self._rows(nodes, loops, order, inside)
        before = self.cost
        if self.order.tiles:
            self._add_tiles(nodes, loops)
        elif walks is None:
            self._add_cost(nodes, loops, order, deepest, rows)
        else:
            self.cost += walks
        if self.is_block:
            self._block_part(nodes, loops, spans, inside)
            return
        body, typing = Lines(), self.typing
        if self.rates.vector > 1 and not self.plain and (walks is not None or not loops):
            self.typing, self.walks_alone = typing.checked(), True
        for place, number in enumerate(order):
            name, step = loops[number].name, loops[number].step
            if place == 1 and rows > 1:
                body.add(f"{name}_row = {name}__first + {_THREADS[place]} * {rows}")
                spans[1] = replace(spans[1], step=rows)
            else:
                body.add(f"{name} = {name}__first + {_THREADS[place]} * {step}")
        if rows > 1:
            others = [loop for number, loop in enumerate(loops) if number != order[1]]
            self._threads_of_rows(nodes, loops[order[1]], others, inside, body, rows)
        else:
            self._threads(nodes, loops, inside, body)
        self.typing, self.walks_alone = typing, False
        number = len(self.kernels)
        name = f"{self.nest.name}_{number}"
        text = "\n".join(body.lines or ["    pass"])
        arguments = self._arguments_of(text, spans)
        head = f"def {name}({', '.join(arguments)}):"
        text = f"{head}\n{text}\n"
        shown = tuple([self._loop_text(span, inside) for span in spans])
        is_walk = walks is not None
        splits = self._splits(nodes, [loops[n] for n in order], name, arguments)
        if splits.texts:
            self.cost = min(self.cost, before + splits.cost)
        self.kernels.append(
            KernelText(
                name, text, arguments, tuple(spans), shown, 1, is_walk, splits.texts,
                splits.is_strided, splits.notes,
            )
        )  # fmt: skip
        ranges = "".join(f"({each.first}, {each.last}, {each.step}), " for each in spans)
        given = "".join(f"{each}, " for each in arguments if not each.endswith("__first"))
        lengths = f", {splits.lengths(self._span)}" if splits.scopes else ""
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

    def _rows(
        self, nodes: list[isl.AstNode], loops: list[Loop], order: list[int], inside: set[str]
    ) -> int:
        """How many iterations along y a thread has at once."""
        if len(order) < 2 or not max(map(depth_of, nodes)) or self.rates.rows == 1:
            return 1
        row, body, count = loops[order[1]], Body(self, inside, Lines()), self.rates.rows
        taken = {f"{v}_{self.letter}{n}" for v in self.nest.variables for n in range(count)}
        if any(each.step > 1 for each in loops) or taken & self.nest.names:
            return 1
        return count if all(body.can_have_rows(each, row.name) for each in nodes) else 1

    def _threads_of_rows(
        self,
        nodes: list[isl.AstNode],
        row: Loop,
        others: list[Loop],
        inside: set[str],
        body: Lines,
        rows: int,
    ) -> None:
        """Add what a thread does of all of its rows at once, or of each where some are outside."""
        depth, base, last = body.depth, f"{row.name}_row", f"({row.name}_row + {rows - 1})"
        uses = {row.name: True}
        for loop in others:
            text = f"{loop.name} >= {loop.first} and {loop.condition}"
            uses[loop.name] = row.name in WORD.findall(text)
            if not uses[loop.name]:
                body.add(f"if {text}:")
                body.depth += 1
        tests = [each for each in (row, *others) if uses[each.name]]
        whole = [f"({each.name} >= {each.first} and {each.condition})" for each in tests]
        own = rf"\b{row.name}\b"
        both = [re.sub(own, f"({base} + {n})", each) for each in whole for n in range(rows)]
        body.add(f"if {' and '.join(both)}:")
        body.depth += 1
        body.add(f"{row.name} = {base}")
        kernel = Body(self, inside, body, row.name, rows)
        for each in nodes:
            kernel.walk(each)
        body.depth -= 1
        body.add("else:")
        body.depth += 1
        body.add(f"for {row.name} in range({base}, {last} + 1):")
        body.depth += 1
        self._threads(nodes, tests, inside, body)
        body.depth = depth

    def _threads(
        self, nodes: list[isl.AstNode], loops: list[Loop], inside: set[str], body: Lines
    ) -> None:
        """Add what a thread does, if it is one of the loops' iterations."""
        depth = body.depth
        for loop in loops:
            body.add(f"if {loop.name} >= {loop.first} and {loop.condition}:")
            body.depth += 1
            if loop.step > 1:
                body.add(f"if ({loop.name} - {loop.first}) % {loop.step} == 0:")
                body.depth += 1
        kernel = Body(self, inside, body)
        for each in nodes:
            kernel.walk(each)
        body.depth = depth

    def _block_part(
        self, nodes: list[isl.AstNode], loops: list[Loop], spans: list[Span], inside: set[str]
    ) -> None:
        """Add a part of a kernel of one block: its threads take turns along x."""
        body, depth = self.host, self.host.depth
        if not spans:
            body.add("if cuda.threadIdx.x == 0:")
            body.depth += 1
        for span in reversed(spans):
            start, step = f"{span.first}", f"{span.step}"
            if span is spans[0]:
                start, step = f"{start} + cuda.threadIdx.x * {step}", f"{self.rates.block} * {step}"
            body.add(f"for {span.name} in range({start}, {span.last} + 1, {step}):")
            body.depth += 1
        self._threads(nodes, loops, inside, body)
        body.depth = depth
        body.add("cuda.syncthreads()")

    def _finish_block(self) -> None:
        """Make the text of the host that of one kernel."""
        name, text = f"{self.nest.name}_block", "\n".join(self.host.lines)
        arguments = self._arguments_of(text, [])
        text = f"def {name}({', '.join(arguments)}):\n{text}\n"
        self.kernels = [KernelText(name, text, arguments, (), (), self.rates.block)]
        self.cost += self.rates.launch
        self.host = Lines()
        self.host.add(f"{self.launch}(0, (), ({', '.join(arguments)},))")

    def _loop_text(self, span: Span, inside: set[str]) -> str:
        """The text's loop that a loop of the order is."""
        moves = self.strides.moves(self._dimension(span.name), span.step, inside)
        texts = {each.name: each.text for s in self.nest.statements for each in s.loops}
        found = [texts[name] for steps in moves.values() for name, by in steps.items() if by > 0]
        return found[-1] if found else span.name

    def _x_first(self, band: list[isl.AstNode], inside: set[str]) -> list[int]:
        """The loops of a band by how many accesses they step through memory, most first."""

        def score(number: int) -> tuple[int, int]:
            loop = Loop(band[number])
            found = self._steps(self._dimension(loop.name), loop.step, inside)
            return found.count(Stride.ONE) - found.count(Stride.MANY), number

        return sorted(range(len(band)), key=score, reverse=True)

    def _steps(self, dimension: int, step: int, inside: set[str]) -> list[Stride]:
        """The strides of accesses, those of stores twice on processors: vectors are scattered more
        slowly than gathered."""
        found = self.strides.strides(dimension, step, inside)
        if self.rates.vector == 1:
            return found
        return [*found, *self.strides.strides(dimension, step, inside, writes=True)]

    def _add_cost(
        self,
        nodes: list[isl.AstNode],
        loops: list[Loop],
        order: list[int],
        deepest: set[str],
        rows: int,
    ) -> None:
        x = loops[order[0]] if loops else None
        found = self._steps(self._dimension(x.name), x.step, deepest) if x else []
        self.is_strided = self.is_strided or Stride.MANY in found
        inner, rates, outer = max(map(depth_of, nodes)), self.rates, len(self.outer)
        if not loops and rates.vector > 1 and not self.is_block:
            cost = cost_of_walks(rates, outer, 0, inner, self.walks.are_vectors(nodes))
            self.cost += self.walks.count(nodes) * cost
            return
        count = self.walks.count(nodes)
        self.cost += count * cost_of(rates, outer, len(loops), inner, found, self.is_block, rows)

    def _add_tiles(self, nodes: list[isl.AstNode], loops: list[Loop]) -> None:
        """Add the cost of tiles. isl has kernels for parts of them, so that of a statement is the
        least."""
        depth, outer = self.polyhedra.depth, len(self.outer)
        is_vector = self.walks.are_vectors(nodes)
        cost = cost_of_tiles(self.rates, outer, len(loops), depth, is_vector)
        for name in {name for each in nodes for name in users(each)}:
            statement = self.statements[name]
            if len(statement.loops) == depth and statement.write.name in self.nest.tensors:
                self.tiled[name] = min(self.tiled.get(name, math.inf), cost)
        self.cost = sum(self.tiled.values()) or math.inf

    def _cost_of_lanes(self, nodes: list[isl.AstNode], band: list[isl.AstNode]) -> float:
        depth = max(map(depth_of, nodes))
        deepest = {name for each in nodes for name in users_at(each, depth)}
        order, loops = self._x_first(band, deepest), [Loop(each) for each in band]
        loop, inside = loops[order[0]], {name for each in nodes for name in users(each)}
        found = self._steps(self._dimension(loop.name), loop.step, deepest)
        rows, count = self._rows(nodes, loops, order, inside), self.walks.count(nodes)
        return count * cost_of(self.rates, len(self.outer), len(band), depth, found, rows=rows)

    def _span(self, loop: Loop, inside: set[str]) -> Span:
        """The values of a loop of all threads, whatever the other loops of the band are."""
        dimension = self._dimension(loop.name)
        orders = self.order.map
        wanted = [s for s in self.nest.statements if s.name in inside]
        domains = [isl.UnionSet.from_set(self.polyhedra.domain(s)) for s in wanted]
        whole = domains[0]
        for each in domains[1:]:
            whole = whole.union(each)
        points = isl.Set.from_union_set(whole.apply(orders))
        hosts = [self._dimension(each) for each in self.outer]
        kind = isl.dim_type
        for shift, each in enumerate(sorted(hosts)):
            place = points.dim(kind.param)
            points = points.move_dims(kind.param, place, kind.set, each - shift, 1)
            points = points.set_dim_name(kind.param, place, f"{self.letter}{each}")
        place = dimension - sum(each < dimension for each in hosts)
        context = self.polyhedra.context
        if self.order.tiles:
            return self._span_of_tiles(loop, points, place)
        ends: list[str] = []
        for bound in (points.dim_min(place), points.dim_max(place)):
            build = isl.AstBuild.from_context(context)
            ends.append(python(build.expr_from_pw_aff(bound.coalesce())))
        return Span(loop.name, ends[0], ends[1], loop.step)

    def _span_of_tiles(self, loop: Loop, points: isl.Set, place: int) -> Span:
        """The same of a set around the values that has one part: threads test where they are."""
        kind = isl.dim_type
        points = points.remove_divs()
        after = points.dim(kind.set) - place - 1
        points = points.project_out(kind.set, place + 1, after).project_out(kind.set, 0, place)
        hull = isl.Set.from_basic_set(points.remove_divs().simple_hull())
        build = isl.AstBuild.from_context(self.polyhedra.context)
        node = build.node_from_schedule_map(isl.UnionMap.from_map(hull.identity()))
        while node.get_type() == IF:
            node = node.if_get_then_node()
        values = Loop(node)
        return Span(loop.name, values.first, f"({values.end}) - 1", loop.step)


_THREADS = ("cuda.grid(3)[0]", "cuda.grid(3)[1]", "cuda.grid(3)[2]")
