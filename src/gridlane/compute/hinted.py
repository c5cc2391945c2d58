"""A chosen schedule with vectors and unrolled loops, or with accesses next to each other."""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from gridlane.compute.emission import Emitter
from gridlane.compute.emitted import Emitted
from gridlane.compute.expressions import BLOCK, FOR, IF
from gridlane.compute.hints import Hints
from gridlane.compute.polyhedra import Polyhedra
from gridlane.compute.schedules import Order, orders_of
from gridlane.compute.shaped import ShapedEmitter
from gridlane.compute.strides import Rates, Stride
from gridlane.compute.tree import Loop, children, depth_of
from gridlane.compute.typing import Typing
from gridlane.core.errors import UnsupportedError


class HintedEmitter(ShapedEmitter):
    """An emitter that finds threads by itself, but not among unrolled dimensions."""

    def _is_parallel(self, node: isl.AstNode) -> bool:
        if node.for_is_degenerate() or self.dimension(Loop(node).name) in self.unrolled:
            return False
        return Emitter._is_parallel(self, node)

    def x_first(self, band: list[isl.AstNode], inside: set[str]) -> list[int]:
        return Emitter.x_first(self, band, inside)


class _Looker(Emitter):
    """What the loops of an order are."""

    def across(self) -> set[int]:
        """The dimensions that are threads along x."""
        kernels = self.emitted().kernels
        return {self.dimension(each.spans[0].name) for each in kernels if each.spans}

    def inmost(self) -> set[int]:
        """The dimensions that are innermost loops of threads."""
        return {self.dimension(Loop(each).name) for each in self._loops(self._tree())}

    def strided(self) -> str | None:
        """A statement whose accesses step along x by more than an element."""
        for kernel in self.emitted().kernels:
            for statement in self.nest.statements if kernel.spans else ():
                span = kernel.spans[0]
                dimension = self.dimension(span.name)
                found = self.strides.strides(dimension, span.step, {statement.name})
                if Stride.MANY in found:
                    return statement.name
        return None

    def _loops(self, node: isl.AstNode, inside: bool = False) -> Iterator[isl.AstNode]:
        kind = node.get_type()
        if kind == BLOCK:
            for each in children(node):
                yield from self._loops(each, inside)
        elif kind == IF:
            yield from self._loops(node.if_get_then_node(), inside)
            if node.if_has_else_node():
                yield from self._loops(node.if_get_else_node(), inside)
        elif kind == FOR:
            is_own = inside or self._is_thread_code(node)
            if is_own and depth_of(node.for_get_body()) == 0 and not node.for_is_degenerate():
                yield node
                return
            band = [] if is_own else self._band(node)
            inner = band[-1] if band else node
            yield from self._loops(inner.for_get_body(), is_own or bool(band))


def hinted(
    polyhedra: Polyhedra, typing: Typing, rates: Rates, hints: Hints, chosen: Emitted
) -> Emitted:
    """The chosen kernels with what hints ask of them.

    Raises:
        UnsupportedError: no order has accesses next to each other, located at one that has not.
    """
    if hints.coalesced:
        chosen = _coalesced(polyhedra, typing, rates, chosen)
    if hints.vector_width == 1 and hints.unroll == 1:
        return chosen
    looker = _Looker(polyhedra, typing, order=chosen.order, rates=rates)
    across = looker.across()
    factors = dict.fromkeys(looker.inmost() - across, hints.unroll)
    factors |= dict.fromkeys(across, hints.vector_width)
    factors = {number: factor for number, factor in factors.items() if factor > 1}
    order, unrolled = _split(polyhedra, chosen.order, factors)
    return HintedEmitter(polyhedra, typing, order, rates, (), unrolled).emitted()


def _coalesced(polyhedra: Polyhedra, typing: Typing, rates: Rates, chosen: Emitted) -> Emitted:
    at = _Looker(polyhedra, typing, order=chosen.order, rates=rates).strided()
    if at is None:
        return chosen
    for order in orders_of(polyhedra):
        looker = _Looker(polyhedra, typing, order=order, rates=rates)
        if looker.strided() is None and polyhedra.keeps(order.map):
            return Emitter(polyhedra, typing, order=order, rates=rates).emitted()
    statement = next(each for each in polyhedra.nest.statements if each.name == at)
    raise UnsupportedError(
        "coalesced=True: in every order threads next to each other access elements that are not",
        statement.loc,
    )


def _split(
    polyhedra: Polyhedra, order: Order, factors: dict[int, int]
) -> tuple[Order, tuple[int, ...]]:
    """The same order with dimensions as tiles and the iterations of a tile."""
    names = [f"i{number}'" for number in range(order.count)]
    moved: list[str] = []
    unrolled: list[int] = []
    for number, name in enumerate(names):
        factor = factors.get(number, 1)
        if factor == 1:
            moved.append(name)
            continue
        tiles = f"{factor} * floor({name} / {factor})"
        moved += [tiles, f"{name} - {tiles}"]
        unrolled.append(len(moved) - 1)
    text = f"{{ [{', '.join(names)}] -> [{', '.join(moved)}] }}"
    whole = order.map.apply_range(isl.UnionMap.from_map(polyhedra.map(text)))
    name, own = f"{order.name}, by hints", (order.shift, order.aligned)
    return Order(name, whole, len(moved), 0, frozenset(), *own), tuple(unrolled)
