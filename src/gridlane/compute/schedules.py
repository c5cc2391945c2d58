"""Orders in which a nest's iterations may run: that of the text, and those of isl's scheduler.

Verdoolaege and Janssens, "Scheduling for PPCG", 2017. Dependences are those of memory, reductions'
included, so every sum keeps its order of evaluation. Statements between which a variable's values
flow within iterations of some loops are one statement of these loops to the scheduler: each thread
has one variable, so these iterations may not interleave.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager

import islpy as isl

from gridlane.compute.model import Statement
from gridlane.compute.polyhedra import Polyhedra
from gridlane.core.frozen import frozen

_MOST_OPERATIONS = 20_000_000
"""isl's operations for one order, after which there is none; about a second."""


@frozen
class Order:
    """When iterations run.

    Attributes:
        name: what it is, for ``explain``.
        map: the time of each iteration: as many numbers for all statements.
        count: how many.
    """

    name: str
    map: isl.UnionMap
    count: int


def text_order(polyhedra: Polyhedra) -> Order:
    """The order of the text."""
    return Order("the text's order", polyhedra.orders, 2 * polyhedra.depth + 1)


def orders_of(polyhedra: Polyhedra) -> Iterator[Order]:
    """Orders that should keep all dependences, that of the text first; see ``keeps``."""
    yield text_order(polyhedra)
    scheduler = _Scheduler(polyhedra)
    if scheduler.is_one:
        return
    seen: list[isl.UnionMap] = []
    for is_apart in (False, True):
        with _bounded(is_apart) as is_done:
            schedule = scheduler.schedule()
        if not is_done():
            continue
        for word, change in _CHANGES.items():
            with _bounded(is_apart) as is_done:
                found = scheduler.order(schedule.map_schedule_node_bottom_up(change))
                is_new = not any(found.map.is_equal(each) for each in seen)
            if is_done() and is_new:
                seen.append(found.map)
                loops = "loops apart" if is_apart else "loops together"
                yield Order(f"isl's order, {loops}{word}", found.map, found.count)


@contextmanager
def _bounded(is_apart: bool) -> Generator[Callable[[], bool]]:
    """isl's options and the limit of its operations; the value says whether it was kept."""
    context, done = isl.DEFAULT_CONTEXT, [False]
    kept = context.get_schedule_serialize_sccs(), context.get_schedule_outer_coincidence()
    context.set_schedule_serialize_sccs(int(is_apart))
    context.set_schedule_outer_coincidence(1)
    context.reset_operations()
    context.set_max_operations(_MOST_OPERATIONS)
    try:
        yield lambda: done[0]
        done[0] = True
    except isl.Error:
        pass  # no order within the limit, or none at all
    finally:
        context.set_max_operations(0)
        context.reset_operations()
        context.set_schedule_serialize_sccs(kept[0])
        context.set_schedule_outer_coincidence(kept[1])


class _Scheduler:
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

    def order(self, schedule: isl.Schedule) -> Order:
        """The order of the statements: that of their groups, and in each that of the text."""
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


# ---- changes of bands, whose members may be in any order


def _same(node: isl.ScheduleNode) -> isl.ScheduleNode:
    return node


def _members(node: isl.ScheduleNode) -> int:
    """The members of a band whose loops may change places, else 0."""
    if node.get_type() != isl.schedule_node_type.band or not node.band_get_permutable():
        return 0
    return int(node.band_n_member())


def _parallel_first(node: isl.ScheduleNode) -> isl.ScheduleNode:
    """Members that carry no dependence before the others."""
    count = _members(node)
    flags = [bool(node.band_member_get_coincident(n)) for n in range(count)]
    wanted = sorted(range(count), key=lambda n: not flags[n])
    return _with_members(node, wanted) if wanted != [*range(count)] else node


def _turned(by: int) -> Callable[[isl.ScheduleNode], isl.ScheduleNode]:
    """Another member first."""

    def change(node: isl.ScheduleNode) -> isl.ScheduleNode:
        count = _members(node)
        if count < 2 or by >= count:
            return node
        return _with_members(node, [by, *(n for n in range(count) if n != by)])

    return change


def _wavefront(node: isl.ScheduleNode) -> isl.ScheduleNode:
    """The sum of all members first: it carries every dependence that the band carries."""
    count = _members(node)
    if count < 2 or any(node.band_member_get_coincident(n) for n in range(count)):
        return node
    whole = node.band_get_partial_schedule()
    total = whole.get_at(0)
    for number in range(1, count):
        total = total.add(whole.get_at(number))
    return node.delete().insert_partial_schedule(whole.set_union_pw_aff(0, total))


def _with_members(node: isl.ScheduleNode, order: list[int]) -> isl.ScheduleNode:
    whole = node.band_get_partial_schedule()
    changed = whole
    for place, number in enumerate(order):
        changed = changed.set_union_pw_aff(place, whole.get_at(number))
    return node.delete().insert_partial_schedule(changed)


_CHANGES: dict[str, Callable[[isl.ScheduleNode], isl.ScheduleNode]] = {
    "": _same, ", parallel ones first": _parallel_first, ", the second first": _turned(1),
    ", the third first": _turned(2), ", as wavefronts": _wavefront,
}  # fmt: skip
