"""Orders of tiles: those of permutable bands, as wavefronts where each loop carries a dependence.

Bondhugula and others, "A practical automatic polyhedral parallelizer and locality optimizer", 2008:
loops of a band may change places, so tiles of them run one after the other, and tiles whose numbers
have the same sum do not depend on each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import islpy as isl

from gridlane.compute.bands import changed, members, parallel_first, wavefront, with_members
from gridlane.compute.polyhedra import Polyhedra
from gridlane.compute.schedules import Order, Scheduler, bounded
from gridlane.compute.strides import Stride, Strides

_BAND, _SEQUENCE = isl.schedule_node_type.band, isl.schedule_node_type.sequence


def orders_of_tiles(polyhedra: Polyhedra) -> Iterator[Order]:
    """Orders that should keep all dependences: tiles of the outermost bands of isl's schedule,
    with an innermost loop for each statement, and with what they have in common of it."""
    scheduler = Scheduler(polyhedra)
    if scheduler.is_one:
        return
    with bounded(is_apart=False, is_coincident=False) as is_done:
        schedule = scheduler.schedule()
        strides = Strides(polyhedra, scheduler.order(schedule))
    if not is_done():
        return
    tiles = _Tiles(scheduler, strides)
    with bounded(is_apart=False, is_coincident=False) as is_done:
        tiled = changed(schedule, tiles.change)
        found = scheduler.order(tiled)
    if not is_done() or not tiles.rows:
        return
    if len(tiles.rows) > 1:
        apart = scheduler.order(tiled, tiles.rows)
        yield replace(apart, name="tiles of isl's order, rows apart", tiles=tiles.count)
    yield replace(found, name="tiles of isl's order", tiles=tiles.count)


class _Tiles:
    """The change of bands into tiles.

    Attributes:
        rows: the place of the innermost loop of each group in a tile.
        count: of the numbers in front of the loops in tiles.
    """

    def __init__(self, scheduler: Scheduler, strides: Strides) -> None:
        self.scheduler, self.strides = scheduler, strides
        self.rows: dict[int, int] = {}
        self.count = 0

    def change(self, node: isl.ScheduleNode) -> isl.ScheduleNode:
        """Tiles of an outermost band: parallel ones first, or wavefronts of them."""
        count = members(node)
        if count < 2 or _ancestors(node, _BAND):
            return node
        first, most = _ancestors(node, _SEQUENCE), min(count, _MOST)
        size = _SIZE if most == count else _SMALL
        groups = self._groups(node)
        row = min(range(count), key=lambda n: (self._many(first + n, groups), -n))
        node = with_members(node, [*(n for n in range(count) if n != row), row])
        node = node if most == count else node.band_split(most)
        sizes = isl.MultiVal.zero(node.band_get_space())
        for number in range(most):
            sizes = sizes.set_val(number, isl.Val(size))
        self.count = max(self.count, first + most)
        self.rows |= dict.fromkeys(groups, first + most + count - 1)
        return wavefront(parallel_first(node.band_tile(sizes)))

    def _groups(self, node: isl.ScheduleNode) -> list[int]:
        sets = node.get_domain().get_set_list()
        found = [sets.get_at(n).get_tuple_name() for n in range(sets.n_set())]
        return [int(str(name)[1:]) for name in found]

    def _many(self, dimension: int, groups: list[int]) -> int:
        names = {each.name for n in groups for each in self.scheduler.groups[n][0]}
        return self.strides.strides(dimension, 1, names).count(Stride.MANY)


def _ancestors(node: isl.ScheduleNode, kind: object) -> int:
    """How many nodes of a kind are around one."""
    count = 0
    while node.has_parent():
        node = node.parent()
        count += node.get_type() == kind
    return count


Change = Callable[[isl.ScheduleNode], isl.ScheduleNode]
_MOST = 3
"""Loops over tiles."""
_SIZE, _SMALL = 64, 16
"""Iterations of a tile along each of its loops; and where other loops are in a tile."""
