"""Emits loops whose threads and unrolled ones are chosen, not found."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import islpy as isl

from gridlane.compute.combining import Way
from gridlane.compute.emission import Emitter
from gridlane.compute.model import Statement
from gridlane.compute.polyhedra import Polyhedra
from gridlane.compute.schedules import Order
from gridlane.compute.sharing import loops_in
from gridlane.compute.splitting import Splits, Splitter
from gridlane.compute.staging import Range, constant_range, part_of, require_space, texts
from gridlane.compute.strides import Rates
from gridlane.compute.threads import Lines
from gridlane.compute.tree import Loop, users
from gridlane.compute.typing import Typing
from gridlane.core.errors import UnsupportedError


class ShapedEmitter(Emitter):
    """An emitter of an order some of whose dimensions are threads or unrolled.

    Args:
        threads: dimensions of the order that are threads, x first; they carry no dependence.
        unrolled: dimensions whose loops have a constant number of iterations, written out.
        names: of all dimensions, for ``explain``.
        staged: arrays of which blocks have parts in shared memory.
        block: threads of a block along x, y and z, where arrays are staged.
        items: for each dimension of a loop its name in the text, and how many of its values an
            iteration of the dimension has.
        split: a dimension that threads divide, how many of a block, and how many blocks.
    """

    def __init__(
        self,
        polyhedra: Polyhedra,
        typing: Typing,
        order: Order,
        rates: Rates,
        threads: tuple[int, ...],
        unrolled: Collection[int],
        names: Sequence[str] = (),
        staged: Sequence[str] = (),
        block: tuple[int, int, int] = (1, 1, 1),
        items: Mapping[int, tuple[str, int]] | None = None,
        split: tuple[int, int, int] | None = None,
    ) -> None:
        super().__init__(polyhedra, typing, order=order, rates=replace(rates, rows=1))
        self.threads, self.unrolled, self.names = threads, unrolled, names
        self.staged, self.block, self.items = staged, block, items or {}
        self.split = split

    def _splits(
        self, nodes: list[isl.AstNode], loops: list[Loop], name: str, arguments: tuple[str, ...]
    ) -> Splits:
        if self.split is None:
            return Splits()
        number, threads, blocks = self.split
        inner = {self.dimension(each.name) for node in nodes for each in loops_in(node)}
        if number not in inner:
            return Splits()
        ways = Way(True, threads, 1, blocks > 1), Way(False, threads, 1024 // threads, blocks > 1)
        ways = ways[0], replace(ways[1], across=min(32, ways[1].across))
        known = [each for each in arguments if not each.endswith("__first")]
        found = Splitter(self, nodes, loops, name, known).splits(ways, blocks)
        divided = {self.dimension(each.loop.name) for each in found.divided}
        if found.texts and divided == {number}:
            return found
        inside = {each for node in nodes for each in users(node)}
        moved = {*self.strides.moves(number, 1, inside)} or inside
        loc = min((self.statements[each].loc for each in moved), key=lambda loc: loc.line)
        reason = "; ".join(found.notes) or "it adds up nothing that threads could share"
        if found.texts:
            others = ", ".join(sorted(self.names[each] for each in divided - {number}))
            reason = f"threads would divide {others or 'another loop'}: put that into the split"
        raise UnsupportedError(f"split of {self.names[number]}: {reason}", loc)

    def _build(self) -> isl.AstBuild:
        if not self.unrolled:
            return super()._build()
        dims = ", ".join(f"i{n}'" for n in range(self.order.count))
        options = [f"[{dims}] -> unroll[{each}]" for each in self.unrolled]
        return super()._build().set_options(isl.UnionMap(f"{{ {'; '.join(options)} }}"))

    def _is_parallel(self, node: isl.AstNode) -> bool:
        return not node.for_is_degenerate() and self.dimension(Loop(node).name) in self.threads

    def x_first(self, band: list[isl.AstNode], inside: set[str]) -> list[int]:
        places = [self.threads.index(self.dimension(Loop(each).name)) for each in band]
        return sorted(range(len(band)), key=lambda n: places[n])

    def _threads(
        self, nodes: list[isl.AstNode], loops: list[Loop], inside: set[str], body: Lines
    ) -> None:
        if not self.staged:
            super()._threads(nodes, loops, inside, body)
            return
        statements = [each for each in self.nest.statements if each.name in inside]
        ranges = self._ranges(loops)

        def range_of(statement: Statement, name: str) -> Range | None:
            loop = next(each for each in statement.loops if each.name == name)
            if loop.downward:
                return None
            return ranges.get(loop.text) or constant_range(self.polyhedra, statement, name)

        found = {n: part_of(self.polyhedra, n, statements, range_of) for n in self.staged if loops}
        parts = {name: part for name, part in found.items() if part is not None}
        if not parts:
            super()._threads(nodes, loops, inside, body)
            return
        require_space(parts.values())
        prefix, (x, y, z) = f"{self.letter}0_part", self.block
        shape = [extent if axis < len(loops) else 1 for axis, extent in enumerate((x, y, z))]
        thread = "cuda.threadIdx.x"
        thread += f" + {shape[0]} * (cuda.threadIdx.y + {shape[1]} * cuda.threadIdx.z)"
        for part in parts.values():
            for line in part.copied(prefix, thread, math.prod(shape)):
                body.add(line)
        body.add("cuda.syncthreads()")
        typing, self.typing = self.typing, self.typing.staged(texts(parts, prefix))
        super()._threads(nodes, loops, inside, body)
        self.typing = typing

    def _ranges(self, loops: list[Loop]) -> dict[str, Range]:
        """The values of the text's loops in a block, by name: those that are threads, or loops of
        the host. The innermost of tiles decides."""
        found: dict[str, Range] = {}
        for name in self.outer:
            if self.dimension(name) in self.items:
                text, count = self.items[self.dimension(name)]
                found[text] = Range(name, count)
        places = [self.threads.index(self.dimension(each.name)) for each in loops]
        threads: dict[str, int] = {}
        for loop, place in zip(loops, places, strict=True):
            axis = sum(each < place for each in places)
            text, count = self.items[self.dimension(loop.name)]
            if text in threads and threads[text] < count:
                continue
            threads[text] = count
            extent = self.block[axis]
            first = f"({loop.name}__first + cuda.blockIdx.{'xyz'[axis]} * {extent * loop.step})"
            found[text] = Range(first, (extent - 1) * loop.step + count)
        return found
