"""Turns of two warpgroups in a loop of chained products: one starts its products while the other
one computes of its sums, so that both kinds of units are busy (Shah et al., "FlashAttention-3").

Warpgroup g begins at barrier ``FIRST + g``, at which the other one arrives once it has started its
products. The second warpgroup arrives in front of the loop, so that the first one begins; the first
one waits behind the loop for the last turn of the second.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from gridlane.core.dtypes import b1, i32, u32
from gridlane.ir.builder import Builder
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, grid
from gridlane.ir.ops.warpgroups import WARPS
from gridlane.ir.values import Value
from gridlane.passes.tiles.machine import WARP
from gridlane.passes.tiles.placement import Placement

FIRST = 2
"""The number of the first warpgroup's barrier."""
_GROUP = WARP * WARPS
_COUNT = 2 * _GROUP


@dataclass(slots=True)
class Turns:
    """The loops of a program whose warpgroups take turns.

    Attributes:
        firsts, lasts: by loop, the products that a turn begins and ends with.
    """

    firsts: dict[Op, Op] = field(default_factory=dict[Op, Op])
    lasts: dict[Op, Op] = field(default_factory=dict[Op, Op])

    def chosen(self, placement: Placement) -> Turns:
        """Those of loops whose products two warpgroups compute."""
        result = Turns()
        if placement.threads != _COUNT:
            return result
        for loop, first in self.firsts.items():
            last = self.lasts[loop]
            schedules = [placement.products.get(each) for each in (first, last)]
            if all(each is not None and each.groups is not None for each in schedules):
                result.firsts[loop], result.lasts[loop] = first, last
        return result

    def has_first(self, op: Op) -> bool:
        """Whether a turn begins with an op."""
        return any(op is each for each in self.firsts.values())

    def has_last(self, op: Op) -> bool:
        """Whether a turn ends with an op."""
        return any(op is each for each in self.lasts.values())


class TurnCode:
    """Emits the code of turns."""

    def __init__(self, b: Builder, thread: Value) -> None:
        self.b = b
        self.group = b.cast(b.value(arith.Shr(thread, b.const(_GROUP.bit_length() - 1, i32))), u32)

    def begin(self) -> None:
        """Wait for this warpgroup's turn."""
        b = self.b
        self._wait(b.add(self.group, b.const(FIRST, u32)))

    def end(self) -> None:
        """Let the other one have its turn."""
        b = self.b
        b.emit(grid.BarrierArrive(b.sub(b.const(FIRST + 1, u32), self.group), self._count()))

    @contextmanager
    def around(self) -> Generator[None]:
        """Around a loop."""
        b = self.b
        with b.if_(b.eq(self.group, b.const(1, u32))):
            self.end()
        yield
        with b.if_(b.eq(self.group, b.const(0, u32))):
            self._wait(b.const(FIRST, u32))

    def _count(self) -> Value:
        return self.b.const(_COUNT, u32)

    def _wait(self, number: Value) -> None:
        none = self.b.const(False, b1)
        self.b.emit(grid.BarrierPart(grid.Reduction.NONE, number, self._count(), none))
