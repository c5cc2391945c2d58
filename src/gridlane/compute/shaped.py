"""Emits loops whose threads and unrolled ones are chosen, not found."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import islpy as isl

from gridlane.compute.emission import Emitter
from gridlane.compute.polyhedra import Polyhedra
from gridlane.compute.schedules import Order
from gridlane.compute.strides import Rates
from gridlane.compute.tree import Loop
from gridlane.compute.typing import Typing


class ShapedEmitter(Emitter):
    """An emitter of an order some of whose dimensions are threads or unrolled.

    Args:
        threads: dimensions of the order that are threads, x first; they carry no dependence.
        unrolled: dimensions whose loops have a constant number of iterations, written out.
        names: of all dimensions, for ``explain``.
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
    ) -> None:
        super().__init__(polyhedra, typing, order=order, rates=replace(rates, rows=1))
        self.threads, self.unrolled, self.names = threads, unrolled, names

    def _tree(self) -> isl.AstNode:
        order, count = self.order.map, self.order.count
        build = isl.AstBuild.from_context(self.polyhedra.context)
        names = isl.IdList.alloc(order.get_ctx(), count)
        for number in range(count):
            names = names.add(isl.Id.read_from_str(order.get_ctx(), f"{self.letter}{number}"))
        dims = ", ".join(f"i{n}" for n in range(count))
        if self.unrolled:
            options = [f"[{dims}] -> unroll[{each}]" for each in self.unrolled]
            build = build.set_options(isl.UnionMap(f"{{ {'; '.join(options)} }}"))
        return build.set_iterators(names).node_from_schedule_map(order)

    def _is_parallel(self, node: isl.AstNode) -> bool:
        return not node.for_is_degenerate() and self._dimension(Loop(node).name) in self.threads

    def _x_first(self, band: list[isl.AstNode], inside: set[str]) -> list[int]:
        places = [self.threads.index(self._dimension(Loop(each).name)) for each in band]
        return sorted(range(len(band)), key=lambda n: places[n])
