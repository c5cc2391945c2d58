"""How accesses step through memory along the loops of an order, and what an order costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum

import islpy as isl

from gridlane.compute.model import Access, Statement
from gridlane.compute.polyhedra import Polyhedra
from gridlane.compute.schedules import Order
from gridlane.core.frozen import frozen

_EXTENT = 1024.0
"""A loop's iterations, where costs are compared."""
_WALKS = 1.2
"""How much faster a walk along memory is than lanes that step over it."""


@frozen
class Rates:
    """What an order costs on a kind of devices, in iterations of one thread.

    Attributes:
        launch: the cost of a launch.
        at_once: threads beyond which more of them do not help.
        block: threads of a kernel of one block.
        block_at_once: those of them beyond which more do not help.
        barrier: the cost of a barrier of a block.
        rows: iterations along y that a thread has at once, where its inner loops are the same.
        strided: what threads of one block cost more if their accesses are strided.
        vector: iterations that a thread of its own block has at once, in loops that are vectors;
            1 where threads are lanes only.
        sums: sums of floats may be evaluated in any order.
        splits: several threads may share a sum, where there are few without that.
    """

    launch: float
    at_once: float
    block: int
    block_at_once: float
    barrier: float
    strided: float
    rows: int
    vector: int = 1
    sums: bool = False
    splits: bool = False

    @property
    def of_lanes(self) -> Rates:
        """The same where no threads walk."""
        return replace(self, vector=1)


PROCESSOR = Rates(2500.0, 64.0, 32, 8.0, 50.0, 21.0, 4, 8)
GPU = Rates(100.0, 16_384.0, 256, 256.0, 10.0, 3.0, 1, splits=True)


class Stride(Enum):
    """What an access steps over from a thread to the next: nothing, one element, or more."""

    NONE = 0
    ONE = 1
    MANY = 2


class Strides:
    """The accesses of a nest along the loops of an order."""

    def __init__(self, polyhedra: Polyhedra, order: Order) -> None:
        self.polyhedra, self.order = polyhedra, order
        self._steps: dict[tuple[str, int, int], isl.Map | None] = {}

    def moves(self, dimension: int, step: int, inside: set[str]) -> dict[str, dict[str, int]]:
        """How far each loop of statements goes at a step of one dimension of the order alone."""
        found: dict[str, dict[str, int]] = {}
        for statement in self.polyhedra.nest.statements:
            pairs = self._pairs(statement, dimension, step) if statement.name in inside else None
            if pairs is not None:
                deltas = _single(pairs.deltas())
                names = [each.name for each in statement.loops]
                found[statement.name] = dict(zip(names, deltas or [0] * len(names), strict=True))
        return found

    def strides(
        self, dimension: int, step: int, inside: set[str], writes: bool = False
    ) -> list[Stride]:
        """The strides of all accesses to tensors, or of what is written."""
        found: list[Stride] = []
        for statement in self.polyhedra.nest.statements:
            if statement.name not in inside:
                continue
            pairs = self._pairs(statement, dimension, step)
            if pairs is None:
                continue
            reads = () if writes else statement.reads
            for access in dict.fromkeys((statement.write, *reads)):
                if access.name in self.polyhedra.nest.tensors:
                    found.append(self._stride(statement, access, pairs))
        return found

    def walked(self, dimension: int, inside: set[str], hosts: set[int]) -> str:
        """The tensor along whose rows a dimension goes: the one that is accessed by the most
        dimensions, and written. Empty if there is none of several rows.

        Args:
            inside: the names of statements.
            hosts: dimensions that do not count.
        """
        tensors, found = self.polyhedra.nest.tensors, [(0, False, "")]
        dimensions = [n for n in range(self.order.count) if n not in hosts]
        for statement in [s for s in self.polyhedra.nest.statements if s.name in inside]:
            for place, access in enumerate((statement.write, *statement.reads)):
                if access.name not in tensors or len(tensors[access.name].extents) < 2:
                    continue
                if self._stride_of(statement, access, dimension) is Stride.ONE:
                    strides = [self._stride_of(statement, access, each) for each in dimensions]
                    moving = len(strides) - strides.count(Stride.NONE)
                    found.append((moving, place == 0, access.name))
        return max(found, key=lambda each: each[:2])[2]

    def _stride_of(self, statement: Statement, access: Access, dimension: int) -> Stride:
        pairs = self._pairs(statement, dimension, 1)
        return Stride.NONE if pairs is None else self._stride(statement, access, pairs)

    def _pairs(self, statement: Statement, dimension: int, step: int) -> isl.Map | None:
        """Iterations of a statement that are a step of one dimension apart, if there are any."""
        key = statement.name, dimension, step
        if key not in self._steps:
            domain = isl.UnionSet.from_set(self.polyhedra.domain(statement))
            times = isl.Map.from_union_map(self.order.map.intersect_domain(domain))
            names = [f"i{n}'" for n in range(self.order.count)]
            moved = [f"{n} + {step}" if k == dimension else n for k, n in enumerate(names)]
            text = f"{{ [{', '.join(names)}] -> [{', '.join(moved)}] }}"
            stepped = times.apply_range(self.polyhedra.map(text)).apply_range(times.reverse())
            self._steps[key] = None if stepped.is_empty() else stepped
        return self._steps[key]

    def _stride(self, statement: Statement, access: Access, pairs: isl.Map) -> Stride:
        if access.indices is None:
            return Stride.MANY
        elements = self.polyhedra.access(statement, access)
        deltas = _single(pairs.apply_domain(elements).apply_range(elements).deltas())
        if deltas is None or any(deltas[:-1]) or abs(deltas[-1]) > 1:
            return Stride.MANY
        return Stride.ONE if deltas[-1] else Stride.NONE


def _single(deltas: isl.Set) -> list[int] | None:
    """The numbers of a set of one point."""
    count = deltas.dim(isl.dim_type.set)
    values: list[int] = []
    for place in range(count):
        value = deltas.plain_get_val_if_fixed(isl.dim_type.set, place)
        if not value.is_int():
            return None
        values.append(value.to_python())
    return values


_TILED = _EXTENT / 32
"""Tiles along a loop."""
_TILES = 0.7
"""What an iteration costs whose elements are in a cache."""
_ROWS = 0.5
"""What an iteration costs of which a thread has several at once."""


def cost_of_walks(rates: Rates, outer: int, threads: int, inner: int, is_vector: bool) -> float:
    """The cost of a kernel whose threads walk; see ``cost_of``."""
    at_once = min(_EXTENT**threads, rates.at_once / rates.vector)
    if is_vector:
        at_once *= rates.vector * _WALKS
    start = rates.launch if outer or threads else 0.0
    streams = 2 if outer else 1
    return _EXTENT**outer * (start + streams * _EXTENT ** (threads + inner) / at_once)


def cost_of_tiles(rates: Rates, outer: int, threads: int, depth: int, is_vector: bool) -> float:
    """The cost of a kernel whose threads walk through tiles; see ``cost_of``.

    Args:
        outer, threads: loops over tiles.
        depth: of the nest.
    """
    at_once = min(_TILED**threads, rates.at_once / rates.vector)
    at_once *= rates.vector * _WALKS if is_vector else 1
    share = _TILES if depth > 2 else 4.0  # rows of tiles are short, and little is read twice
    return _TILED**outer * rates.launch + share * _EXTENT**depth / at_once


def cost_of(
    rates: Rates,
    outer: int,
    threads: int,
    inner: int,
    strides: Sequence[Stride],
    is_block: bool = False,
    rows: int = 1,
) -> float:
    """The cost of a kernel, where every loop has as many iterations.

    Args:
        outer: loops of the host around its launch.
        threads: loops that are threads.
        inner: loops of a thread.
        strides: of accesses along x.
        is_block: it is a part of a kernel of one block, with a barrier.
        rows: iterations along y that a thread has at once.
    """
    share = strides.count(Stride.MANY) / len(strides) if strides else 0.0
    count = _EXTENT**threads
    again = 3 if not inner else 2 if rates.vector > 1 else 1
    streams = again if outer else 1  # each launch reads and writes memory once more
    start, most, strided = rates.launch, rates.at_once, 3.0
    if is_block:
        streams, start, most, strided = 1, rates.barrier, rates.block_at_once, rates.strided
    work = streams * count * _EXTENT**inner * (1 + strided * share / rows) / min(count, most)
    work *= _ROWS if rows > 1 else 1
    return _EXTENT**outer * (start + work)
