"""Orders in which a nest's iterations may run: that of the text, and those of isl's scheduler.

Verdoolaege and Janssens, "Scheduling for PPCG", 2017. Dependences are those of memory, reductions'
included, so every sum keeps its order of evaluation. Statements between which a variable's values
flow within iterations of some loops are one statement of these loops to the scheduler: each thread
has one variable, so these iterations may not interleave.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager

import islpy as isl

from gridlane.compute.bands import CHANGES, changed
from gridlane.compute.model import Statement
from gridlane.compute.polyhedra import Polyhedra
from gridlane.core.frozen import frozen

STRIP, SHORT_STRIP = 128, 64
"""Iterations of a strip; and where each launch is in loops, and has a part of the work."""
_MOST_OPERATIONS = 20_000_000
"""isl's operations for one order, after which there is none; about a second."""


@frozen
class Order:
    """When iterations run.

    Attributes:
        name: what it is, for ``explain``.
        map: the time of each iteration: as many numbers for all statements.
        count: how many.
        tiles: how many of its outermost numbers are of loops over tiles.
        strips: numbers of loops over strips of parallel loops, which are innermost.
        shift: a parameter that strips begin before multiples of their size, in iterations.
        aligned: the tensor whose lines of memory strips begin with, by the shift of a launch.
    """

    name: str
    map: isl.UnionMap
    count: int
    tiles: int = 0
    strips: frozenset[int] = frozenset()
    shift: str = ""
    aligned: str = ""

    @property
    def parameters(self) -> tuple[str, ...]:
        """What kernels need of a launch beside what the nest does."""
        return (self.shift,) if self.shift else ()


def text_order(polyhedra: Polyhedra) -> Order:
    """The order of the text."""
    return Order("the text's order", polyhedra.orders, 2 * polyhedra.depth + 1)


def in_strips(
    polyhedra: Polyhedra,
    order: Order,
    wanted: Mapping[str, tuple[int, int]],
    aligned: str = "",
) -> Order:
    """An order whose parallel loops are in strips: over strips in their places, and innermost.

    Args:
        wanted: the place of a loop, and a strip's iterations, for each statement that has one.
        aligned: a tensor with whose lines of memory strips are to begin.
    """
    found: isl.UnionMap | None = None
    shift, names = "shift" if aligned else "", polyhedra.nest.names
    while shift in names:
        shift += "_"
    more, start = ([shift], f" + {shift}") if shift else ([], "")
    for each in polyhedra.nest.statements:
        domain = isl.UnionSet.from_set(polyhedra.domain(each))
        if domain.is_empty():
            continue
        times = isl.Map.from_union_map(order.map.intersect_domain(domain))
        ins = [f"i{n}'" for n in range(order.count)]
        outs, last = [*ins], "0"
        if each.name in wanted:
            place, size = wanted[each.name]
            outs[place], last = f"floor((i{place}'{start})/{size})", f"i{place}'"
        text = f"{{ [{', '.join(ins)}] -> [{', '.join([*outs, last])}] }}"
        one = isl.UnionMap.from_map(times.apply_range(polyhedra.map(text, *more)))
        found = one if found is None else found.union(one)
    assert found is not None
    places = frozenset([place for place, _ in wanted.values()])
    name = f"{order.name}, in strips"
    return Order(name, found, order.count + 1, 0, places, shift, aligned)


def orders_of(polyhedra: Polyhedra) -> Iterator[Order]:
    """Orders that should keep all dependences, that of the text first; see ``keeps``."""
    yield text_order(polyhedra)
    scheduler = Scheduler(polyhedra)
    if scheduler.is_one:
        return
    seen: list[isl.UnionMap] = []
    for is_apart in (False, True):
        with bounded(is_apart) as is_done:
            schedule = scheduler.schedule()
        if not is_done():
            continue
        for word, change in CHANGES.items():
            with bounded(is_apart) as is_done:
                found = scheduler.order(changed(schedule, change))
                is_new = not any(found.map.is_equal(each) for each in seen)
            if is_done() and is_new:
                seen.append(found.map)
                loops = "loops apart" if is_apart else "loops together"
                yield Order(f"isl's order, {loops}{word}", found.map, found.count)


@contextmanager
def bounded(
    is_apart: bool = False, is_coincident: bool = True, most: int = _MOST_OPERATIONS
) -> Generator[Callable[[], bool]]:
    """isl's options and the limit of its operations; the value says whether it was kept."""
    context, done = isl.DEFAULT_CONTEXT, [False]
    kept = context.get_schedule_serialize_sccs(), context.get_schedule_outer_coincidence()
    try:  # a signal may come between any two of these
        context.set_schedule_serialize_sccs(int(is_apart))
        context.set_schedule_outer_coincidence(int(is_coincident))
        context.set_tile_scale_tile_loops(0)
        context.set_tile_shift_point_loops(0)
        context.reset_operations()
        context.set_max_operations(most)
        yield lambda: done[0]
        done[0] = True
    except isl.Error:
        pass  # no order within the limit, or none at all
    finally:
        context.set_max_operations(0)
        context.reset_operations()
        context.set_schedule_serialize_sccs(kept[0])
        context.set_schedule_outer_coincidence(kept[1])


class Scheduler:
    """The statements of a nest in groups, and isl's constraints among them."""

    def __init__(self, polyhedra: Polyhedra) -> None:
        self.polyhedra = polyhedra
        self.groups = _groups(polyhedra)
        self.is_one = len(self.groups) == 1 and self.groups[0][1] == 0
        parts: list[isl.Map] = []
        for number, (group, rank) in enumerate(self.groups):
            for each in group:
                names = [loop.name for loop in each.loops]
                text = (
                    f"{{ {each.name}[{', '.join(names)}] -> G{number}[{', '.join(names[:rank])}] }}"
                )
                parts.append(polyhedra.map(text).intersect_domain(polyhedra.domain(each)))
        self.contraction = isl.UnionMap.from_map(parts[0])
        for part in parts[1:]:
            self.contraction = self.contraction.union(isl.UnionMap.from_map(part))
        self.is_one = self.is_one or self.contraction.is_empty()

    def schedule(self) -> isl.Schedule:
        """isl's schedule of the groups."""
        domain = self.contraction.range()
        strict = self.polyhedra.strict
        moved = strict.apply_domain(self.contraction).apply_range(self.contraction)
        moved = moved.subtract(domain.identity())
        constraints = isl.ScheduleConstraints.on_domain(domain)
        constraints = constraints.set_context(self.polyhedra.context)
        constraints = constraints.set_validity(moved).set_coincidence(moved)
        return constraints.set_proximity(moved).compute_schedule()

    def order(self, schedule: isl.Schedule, apart: Mapping[int, int] | None = None) -> Order:
        """The order of the statements: that of their groups, and in each that of the text.

        Args:
            apart: loops of groups, by their places, that are loops of their own.
        """
        times = schedule.get_map()
        found: list[isl.Map] = []
        widths: list[int] = []
        for number, (group, rank) in enumerate(self.groups):
            wanted = f"G{number}"
            listed = times.get_map_list()
            maps = [listed.get_at(n) for n in range(listed.n_map())]
            one = next((m for m in maps if m.get_tuple_name(isl.dim_type.in_) == wanted), None)
            if one is None:
                continue  # its loops have no iteration
            if apart is not None and number in apart:
                one = one.insert_dims(isl.dim_type.out, apart[number], 1)
                one = one.fix_val(isl.dim_type.out, apart[number], isl.Val(number))
            for each in group:
                contraction = self.contraction.intersect_domain(
                    isl.UnionSet.from_set(self.polyhedra.domain(each))
                )
                outer = isl.Map.from_union_map(contraction).apply_range(one)
                inner = self.polyhedra.order(each).project_out(isl.dim_type.out, 0, 2 * rank)
                whole = outer.flat_range_product(inner)
                found.append(whole)
                widths.append(whole.dim(isl.dim_type.out))
        count = max(widths)
        total: isl.UnionMap | None = None
        for each in found:
            more = count - each.dim(isl.dim_type.out)
            each = each.add_dims(isl.dim_type.out, more)
            for place in range(count - more, count):
                each = each.fix_val(isl.dim_type.out, place, isl.Val(0))
            one = isl.UnionMap.from_map(each)
            total = one if total is None else total.union(one)
        assert total is not None
        return Order("", total, count)


def _groups(polyhedra: Polyhedra) -> list[tuple[list[Statement], int]]:
    """Statements in the text's order that stay together, and how many of their loops move."""
    statements = polyhedra.nest.statements
    found = [([number], len(each.loops)) for number, each in enumerate(statements)]
    for name, rank in polyhedra.private.items():
        if rank == 0:
            continue  # memory of one element, with the dependences of it
        users = {each.name for each in polyhedra.users(name)}
        numbers = [n for n, each in enumerate(statements) if each.name in users]
        first, last = numbers[0], numbers[-1]
        joined = [each for each in found if each[0][-1] >= first and each[0][0] <= last]
        others = [each for each in found if each not in joined]
        inside = sorted(n for each in joined for n in each[0])
        least = min(rank, *(each[1] for each in joined))
        found = sorted([*others, (inside, least)])
    return [([statements[n] for n in numbers], rank) for numbers, rank in found]
