"""How accesses step through memory along the loops of an order, and what an order costs."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import islpy as isl

from gridlane.compute.model import Access, Statement
from gridlane.compute.polyhedra import Polyhedra
from gridlane.compute.schedules import Order
from gridlane.core.frozen import frozen

_EXTENT = 1024.0
"""A loop's iterations, where costs are compared."""


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
    """

    launch: float
    at_once: float
    block: int
    block_at_once: float
    barrier: float
    strided: float
    rows: int


PROCESSOR = Rates(2500.0, 64.0, 32, 8.0, 50.0, 21.0, 4)
GPU = Rates(100.0, 16_384.0, 256, 256.0, 10.0, 3.0, 1)


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

    def strides(self, dimension: int, step: int, inside: set[str]) -> list[Stride]:
        """The strides of all accesses to tensors."""
        found: list[Stride] = []
        for statement in self.polyhedra.nest.statements:
            if statement.name not in inside:
                continue
            pairs = self._pairs(statement, dimension, step)
            if pairs is None:
                continue
            for access in dict.fromkeys((statement.write, *statement.reads)):
                if access.name in self.polyhedra.nest.tensors:
                    found.append(self._stride(statement, access, pairs))
        return found

    def _pairs(self, statement: Statement, dimension: int, step: int) -> isl.Map | None:
        """Iterations of a statement that are a step of one dimension apart, if there are any."""
        key = statement.name, dimension, step
        if key not in self._steps:
            domain = isl.UnionSet.from_set(self.polyhedra.domain(statement))
            times = isl.Map.from_union_map(self.order.map.intersect_domain(domain))
            names = [f"i{n}" for n in range(self.order.count)]
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


def cost_of(
    rates: Rates,
    outer: int,
    threads: int,
    inner: int,
    strides: Sequence[Stride],
    is_block: bool = False,
) -> float:
    """The cost of a kernel, where every loop has as many iterations.

    Args:
        outer: loops of the host around its launch.
        threads: loops that are threads.
        inner: loops of a thread.
        strides: of accesses along x.
        is_block: it is a part of a kernel of one block, with a barrier.
    """
    share = strides.count(Stride.MANY) / len(strides) if strides else 0.0
    count = _EXTENT**threads
    streams = 3 if outer and not inner else 1  # each launch reads and writes memory once more
    start, most, strided = rates.launch, rates.at_once, 3.0
    if is_block:
        streams, start, most, strided = 1, rates.barrier, rates.block_at_once, rates.strided
    work = streams * count * _EXTENT**inner * (1 + strided * share) / min(count, most)
    return _EXTENT**outer * (start + work)
