"""Where ops stand, and what happens between two of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from gridlane.core.frozen import frozen
from gridlane.ir.op import Op
from gridlane.ir.ops import atomic, control, grid, memory, tile_memory
from gridlane.ir.types import PointerType, Space
from gridlane.ir.values import Function, Region, Var

STORES = (
    memory.Store, atomic.Atomic, atomic.AtomicCas, atomic.AtomicCasPair, tile_memory.TileStore,
    tile_memory.TileStoreBlock, tile_memory.TileAtomic, tile_memory.TileAtomicCas,
)  # fmt: skip
"""Ops that write memory which others see."""

ORDERS = (grid.Barrier, grid.Fence, grid.GridSync, control.Call)
"""Ops behind which memory may differ."""


def writes_memory(op: Op) -> bool:
    """Whether what a load returns may differ behind an op."""
    if isinstance(op, memory.Store):
        type_ = op.pointer.type
        assert isinstance(type_, PointerType)
        return type_.space is not Space.LOCAL
    return isinstance(op, (*STORES, *ORDERS)) or op.barrier


@frozen
class Effects:
    """The ops in a region that write memory, and the variables that it writes."""

    stores: tuple[Op, ...] = ()
    variables: frozenset[Var] = frozenset()

    def joined(self, other: Effects) -> Effects:
        """The effects of both."""
        if not other.stores and not other.variables:
            return self
        return Effects(self.stores + other.stores, self.variables | other.variables)


@dataclass(slots=True)
class Order:
    """The ops of a function, by their places.

    Attributes:
        ops: all in program order, outer before inner.
        number: the place of each among them.
        last: the place of the last op inside of each.
        path: the regions around each with the construct of each and the index in it.
    """

    function: Function
    ops: list[Op] = field(default_factory=list[Op])
    number: dict[Op, int] = field(default_factory=dict[Op, int])
    last: dict[Op, int] = field(default_factory=dict[Op, int])
    path: dict[Op, tuple[tuple[Op | None, Region, int], ...]] = field(
        default_factory=dict[Op, tuple[tuple[Op | None, Region, int], ...]]
    )
    _effects: dict[Op, Effects] = field(default_factory=dict[Op, Effects])

    def __post_init__(self) -> None:
        self._enter(None, self.function.body, ())

    def _enter(
        self, holder: Op | None, region: Region, path: tuple[tuple[Op | None, Region, int], ...]
    ) -> None:
        for index, op in enumerate(region.ops):
            own = (*path, (holder, region, index))
            self.path[op] = own
            self.number[op] = len(self.ops)
            self.ops.append(op)
            for inner in op.regions():
                self._enter(op, inner, own)
            self.last[op] = len(self.ops) - 1

    def effects(self, op: Op) -> Effects:
        """The effects of an op, with those inside."""
        if op not in self._effects:
            written = frozenset([op.var]) if isinstance(op, memory.WriteVar) else frozenset[Var]()
            found = Effects((op,) if writes_memory(op) else (), written)
            for region in op.regions():
                for inner in region.ops:
                    found = found.joined(self.effects(inner))
            self._effects[op] = found
        return self._effects[op]

    def between(self, first: Op, second: Op) -> Effects:
        """What may happen behind ``first`` before ``second`` runs, which is in the region of the
        first or inside of it: all of a loop around the second alone, as an iteration follows
        another one. Without the second's own effects."""
        found = Effects()
        depth = len(self.path[first]) - 1
        _, region, index = self.path[first][depth]
        start = index + 1
        for holder, inside, end in self.path[second][depth:]:
            if isinstance(holder, control.Loop) and inside is not region:
                for part in holder.regions():
                    for op in part.ops:
                        found = found.joined(self.effects(op))
            for op in inside.ops[start:end]:
                found = found.joined(self.effects(op))
            start = 0
        return found

    def loops(self, op: Op) -> list[Op]:
        """The loops around an op, outermost first."""
        return [h for h, _, _ in self.path[op] if isinstance(h, control.Loop)]
