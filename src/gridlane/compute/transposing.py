"""Kernels that read arrays through tiles in shared memory, where threads would step over memory.

A block has 32 by 32 iterations of two parallel loops. Its threads load what these read with the
loops in each other's places, so that neighbours in x load neighbours in memory; then they compute,
with neighbours in x that write neighbours. That is legal as far as no array of a tile is written.
"""

from __future__ import annotations

import ast
from itertools import permutations

import islpy as isl

from gridlane.compute.combining import Way, neutral
from gridlane.compute.lanes import tests_of
from gridlane.compute.model import Access, Statement
from gridlane.compute.splitting import Rewriter, Splits, SplitText
from gridlane.compute.strides import Stride, cost_of
from gridlane.compute.threads import WORD, Body, Context, Lines, in_place
from gridlane.compute.tree import depth_of
from gridlane.compute.typing import NAMES
from gridlane.core.frozen import frozen

TILE, ROWS = 32, 8
"""Iterations of a tile along each loop, and those along y that threads have at once."""
_MOST_BYTES = 40_000
Key = tuple[str, tuple[str, ...] | None]
"""An array and the indices of an access."""


@frozen
class Staged:
    """An access that reads from a tile.

    Attributes:
        text: of the element.
        tile: the name of the tile.
    """

    access: Access
    text: str
    tile: str


class Transposer(Rewriter):
    """Tiles of one kernel."""

    def reason(self, keys: set[Key]) -> str:
        """Why accesses are not those of tiles; empty if they are."""
        if len(self.loops) < 2 or max(map(depth_of, self.nodes)):
            return "tiles are of two loops that are threads, and no loop is inside of them"
        nest, same = self.source.nest, self.source.polyhedra.same
        written = {same.get(s.write.name, s.write.name) for s in nest.statements}
        for name, indices in keys:
            if same.get(name, name) in written:
                return f"{name} is written"
            if indices is None:
                return f"an index of {name} depends on data"
        widest = max([nest.tensors[name].dtype.size for name, _ in keys], default=1)
        if len(self._staged(keys)) * TILE * (TILE + 1) * widest > _MOST_BYTES:
            return "its tiles are more than shared memory"
        mine = {a.name for s in self.statements for a in (s.write, *s.reads)}
        for each in nest.statements:
            others = {each.write.name, *(read.name for read in each.reads)}
            if each.name not in self.inside and others & mine & {*nest.variables}:
                return "other kernels read its variables"
        return ""

    def found(self, other: Splits) -> Splits:
        """The kernel with tiles, where fewer accesses step over memory with them, else another."""
        best: tuple[int, int, int, set[Key]] | None = None
        if len(self.loops) < 2 or max(map(depth_of, self.nodes)):
            return other
        plain = self._steps(0).count(Stride.MANY)
        for x, y in permutations(range(len(self.loops)), 2):
            keys = self._wanted(x, y)
            if not keys or self.reason(keys):
                continue
            many = self._left(x, keys).count(Stride.MANY)
            if many < plain and (best is None or (many, x) < best[:2]):
                best = many, x, y, keys
        return other if best is None else self.splits(*best[1:])

    def splits(self, x: int, y: int, keys: set[Key]) -> Splits:
        """The kernel whose threads along x are iterations of one loop, with tiles of accesses."""
        order = (x, y, *(n for n in range(len(self.loops)) if n not in (x, y)))
        text, arguments = self._text(order, keys)
        way, source = Way(False, ROWS, TILE, order=order), self.source
        count = f"{self.prefix}_count"
        split = SplitText(way, (text,), (self.name,), (arguments,), count)
        names = ", ".join(sorted({name for name, _ in keys}))
        note = f"{names} by tiles of {TILE} by {TILE} in shared memory, so that neighbours along x "
        note += "read and write neighbours"
        outer, steps = len(source.outer), self._left(x, keys)
        cost = cost_of(source.rates, outer, len(self.loops), 0, steps)
        return Splits((split,), notes=(note,), cost=cost)

    # ---- accesses

    def _accesses(self) -> list[tuple[Statement, Access]]:
        tensors = self.source.nest.tensors
        return [
            (statement, access)
            for statement in self.statements
            for access in dict.fromkeys((statement.write, *statement.reads))
            if access.name in tensors
        ]

    def _steps(self, number: int) -> list[Stride]:
        """The strides of all accesses along one of the loops."""
        loop = self.loops[number]
        dimension = int(loop.name[len(self.source.letter) :])
        found: list[Stride] = []
        for statement in self.statements:
            steps = self.source.strides.strides(dimension, loop.step, {statement.name})
            count = sum(each is statement for each, _ in self._accesses())
            found += steps if steps else [Stride.NONE] * count
        return found

    def _wanted(self, x: int, y: int) -> set[Key]:
        """Reads that step by one along y, and over more along x."""
        pairs = zip(self._accesses(), self._steps(x), self._steps(y), strict=True)
        return {
            (access.name, access.indices)
            for (statement, access), across, along in pairs
            if access is not statement.write and (across, along) == (Stride.MANY, Stride.ONE)
        }

    def _left(self, x: int, keys: set[Key]) -> list[Stride]:
        """The strides along x of accesses that no tile has."""
        pairs = zip(self._accesses(), self._steps(x), strict=True)
        return [Stride.ONE if (a.name, a.indices) in keys else step for (_, a), step in pairs]

    # ---- texts

    def _text(self, order: tuple[int, ...], keys: set[Key]) -> tuple[str, tuple[str, ...]]:
        lines, source = Lines(), self.source
        staged = self._staged(keys)
        for tile, name in {each.tile: each.access.name for each in staged}.items():
            kind = NAMES[str(source.nest.tensors[name].dtype)]
            lines.add(f"{tile} = cuda.shared.array(({TILE}, {TILE + 1}), {kind})")
        x, y, *others = [self.loops[number] for number in order]
        for each in others:
            lines.add(f"{each.name} = {each.name}__first + cuda.blockIdx.z * {each.step}")
        written = {each.write.name for each in self.statements}
        for name in source.nest.variables:
            if name in written:
                lines.add(f"{name} = {neutral('+', source.typing.type_of(name))}")
        row = f"{self.prefix}_row"
        moved = f"cuda.threadIdx.y + {row}"
        for is_load in (True, False):
            lines.add(f"for {row} in range(0, {TILE}, {ROWS}):")
            lines.depth += 1
            places = (moved, "cuda.threadIdx.x") if is_load else ("cuda.threadIdx.x", moved)
            for loop, place, block in zip((x, y), places, "xy", strict=True):
                whole = f"cuda.blockIdx.{block} * {TILE} + {place}"
                lines.add(f"{loop.name} = {loop.name}__first + ({whole}) * {loop.step}")
            for test in (test for loop in reversed(self.loops) for test in tests_of(loop)):
                lines.add(f"if {test}:")
                lines.depth += 1
            where = f"{places[0]}, {places[1]}"
            body = _Tiled(source, set(self.inside), lines, staged, is_load, where)
            for node in self.nodes:
                body.walk(node)
            lines.depth = 1
            if is_load:
                lines.add("cuda.syncthreads()")
        text = "\n".join(lines.lines)
        words = {*WORD.findall(text)}
        known = dict.fromkeys((*self.known, *(f"{each.name}__first" for each in self.loops)))
        arguments = tuple([each for each in known if each in words])
        return f"def {self.name}({', '.join(arguments)}):\n{text}\n", arguments

    def _staged(self, keys: set[Key]) -> list[Staged]:
        """The accesses with tiles: each statement's has one."""
        found: dict[tuple[str, Key], str] = {}
        staged: list[Staged] = []
        for statement in self.statements:
            nodes = [statement.node, *statement.tests]
            for each in (sub for node in nodes for sub in ast.walk(node)):
                if not isinstance(each, ast.Subscript):
                    continue
                loc = self.source.nest.place(each)
                access = next((read for read in statement.reads if read.loc == loc), None)
                if access is None or (access.name, access.indices) not in keys:
                    continue
                key = statement.name, (access.name, access.indices)
                tile = found.setdefault(key, f"{self.prefix}_tile_{len(found)}")
                text = self.source.typing.expression(each)[0]
                staged.append(Staged(access, text, tile))
        return staged


class _Tiled(Body):
    """The code of threads that load tiles, or compute with them."""

    def __init__(
        self, emitter: Context, inside: set[str], lines: Lines, staged: list[Staged],
        is_load: bool, where: str,
    ) -> None:  # fmt: skip
        super().__init__(emitter, inside, lines)
        self.staged, self.is_load, self.where = staged, is_load, where
        self.current: list[Staged] = []

    def _statement(self, call: isl.AstExpr) -> None:
        name = str(call.get_op_arg(0).get_id().get_name())
        statement = self.emitter.statements[name]
        self.current = [each for each in self.staged if each.access in statement.reads]
        if not self.is_load:
            super()._statement(call)
        elif self.current:
            self._set_loops(call, statement, 0)
            for tile, text in {each.tile: each.text for each in self.current}.items():
                self.lines.add(f"{tile}[{self.where}] = {text}")
        else:
            self.lines.add("pass")
        self.current = []

    def _cells(self, text: str) -> str:
        for each in self.current:
            tile = f"{each.tile}[{self.where}]"
            text = in_place(text, each.text, tile)
        return super()._cells(text)
