"""What the kernels of an order cost, and which of their loops is along x."""

from __future__ import annotations

import math
from typing import Protocol

import islpy as isl

from gridlane.compute.lanes import rows_of
from gridlane.compute.schedules import SHORT_STRIP, STRIP
from gridlane.compute.splitting import Source
from gridlane.compute.strides import (
    Stride,
    cost_of,
    cost_of_tiles,
    cost_of_walks,
)
from gridlane.compute.tree import Loop, depth_of, users, users_at


class Costed(Source, Protocol):
    """The nest whose kernels cost something."""

    is_block: bool

    def x_first(self, band: list[isl.AstNode], inside: set[str]) -> list[int]:
        """The loops of a band by their number, x first."""
        ...


class Costs:
    """Adds up what kernels cost.

    Attributes:
        total: the cost of those so far.
        is_strided: threads of one of them step over memory.
        tiled: the costs of statements in tiles.
        strips, aligned: see ``Emitted``.
    """

    def __init__(self, source: Costed) -> None:
        self.source = source
        self.total, self.is_strided = 0.0, False
        self.tiled: dict[str, float] = {}
        self.strips: dict[str, tuple[int, int]] = {}
        self.aligned = ""

    def by_steps(self, band: list[isl.AstNode], inside: set[str]) -> list[int]:
        """The loops of a band by how many accesses they step through memory, most first."""

        def score(number: int) -> tuple[int, int]:
            found = self._steps(Loop(band[number]), inside)
            return found.count(Stride.ONE) - found.count(Stride.MANY), number

        return sorted(range(len(band)), key=score, reverse=True)

    def _steps(self, loop: Loop, inside: set[str]) -> list[Stride]:
        """The strides of accesses, those of stores twice on processors: vectors are scattered more
        slowly than gathered."""
        strides, dimension = self.source.strides, self.source.dimension(loop.name)
        found = strides.strides(dimension, loop.step, inside)
        if self.source.rates.vector == 1:
            return found
        return [*found, *strides.strides(dimension, loop.step, inside, writes=True)]

    def walk_of(
        self, band: list[isl.AstNode]
    ) -> tuple[list[isl.AstNode], list[isl.AstNode], float] | None:
        """What threads walk through in parallel loops, which loops are threads, and the cost;
        None where lanes cost less."""
        source, inner = self.source, [band[-1].for_get_body()]
        if source.rates.vector == 1 or source.is_block:
            return None
        if source.order.tiles:
            return inner, band, 0.0
        is_flat = depth_of(inner[0]) == 0
        threads, nodes = (band[:-1], [band[-1]]) if is_flat else (band, inner)
        if not threads or not source.walks.are_vectors(nodes):
            return None
        depth = max(map(depth_of, nodes))
        strips = source.order.strips
        depth -= any(source.dimension(Loop(each).name) in strips for each in threads)
        walks = cost_of_walks(source.rates, len(source.outer), len(threads), depth, True)
        walks *= source.walks.count(nodes)
        return (nodes, threads, walks) if walks < self._of_lanes(inner, band) else None

    def want_strips(self, nodes: list[isl.AstNode], band: list[isl.AstNode]) -> None:
        """Note a parallel loop that would step along memory, were it innermost, where a loop in it
        adds to the same elements: these stay in the nearest cache, and other elements would not."""
        source = self.source
        if source.rates.vector == 1 or source.is_block:
            return
        inside = {name for each in nodes for name in users(each)}
        loops, order = [Loop(each) for each in band], source.x_first(band, inside)
        statements = [source.statements[each] for each in inside]
        names = {a.name for s in statements for a in (s.write, *s.reads)}
        x = loops[order[0]]
        if (
            max(map(depth_of, nodes))
            and not names & {*source.nest.variables}
            and source.walks.add_up(nodes)
            and self.rows(nodes, loops, order, inside) == 1
            and Stride.MANY not in source.strides.strides(source.dimension(x.name), x.step, inside)
            and x.step == 1
        ):
            place = source.dimension(x.name), SHORT_STRIP if source.outer else STRIP
            self.strips |= dict.fromkeys(inside, place)
            hosts = {*map(source.dimension, source.outer)}
            self.aligned = self.aligned or source.strides.walked(place[0], inside, hosts)

    def rows(
        self, nodes: list[isl.AstNode], loops: list[Loop], order: list[int], inside: set[str]
    ) -> int:
        """How many iterations along y a thread has at once."""
        if len(order) < 2 or self.source.rates.rows == 1:
            return 1
        row = loops[order[1]]
        return rows_of(self.source, nodes, loops, row, inside, self.source.rates.rows)

    def add(
        self,
        nodes: list[isl.AstNode],
        loops: list[Loop],
        order: list[int],
        deepest: set[str],
        rows: int,
    ) -> None:
        """Add the cost of a kernel whose threads are lanes, or of one thread.

        Args:
            deepest: the statements with the most loops around them.
        """
        source, rates = self.source, self.source.rates
        found = self._steps(loops[order[0]], deepest) if loops else []
        self.is_strided = self.is_strided or Stride.MANY in found
        inner, outer = max(map(depth_of, nodes)), len(source.outer)
        if not loops and rates.vector > 1 and not source.is_block:
            cost = cost_of_walks(rates, outer, 0, inner, source.walks.are_vectors(nodes))
        else:
            cost = cost_of(rates, outer, len(loops), inner, found, source.is_block, rows)
        self.total += source.walks.count(nodes) * cost

    def add_tiles(self, nodes: list[isl.AstNode], loops: list[Loop]) -> None:
        """Add the cost of tiles. isl has kernels for parts of them, so that of a statement is the
        least."""
        source, depth = self.source, self.source.polyhedra.depth
        is_vector = source.walks.are_vectors(nodes)
        cost = cost_of_tiles(source.rates, len(source.outer), len(loops), depth, is_vector)
        for name in {name for each in nodes for name in users(each)}:
            statement = source.statements[name]
            if len(statement.loops) == depth and statement.write.name in source.nest.tensors:
                self.tiled[name] = min(self.tiled.get(name, math.inf), cost)
        self.total = sum(self.tiled.values()) or math.inf

    def _of_lanes(self, nodes: list[isl.AstNode], band: list[isl.AstNode]) -> float:
        source, depth = self.source, max(map(depth_of, nodes))
        deepest = {name for each in nodes for name in users_at(each, depth)}
        order, loops = source.x_first(band, deepest), [Loop(each) for each in band]
        found = self._steps(loops[order[0]], deepest)
        rows = self.rows(nodes, loops, order, {name for each in nodes for name in users(each)})
        cost = cost_of(source.rates, len(source.outer), len(band), depth, found, rows=rows)
        return source.walks.count(nodes) * cost
