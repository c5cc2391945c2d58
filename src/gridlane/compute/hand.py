"""Schedules that a user writes: the order of loops, tiles, threads, vectors and unrolled loops.

An order is legal if all dependences lead from earlier to later iterations in it, and threads are
those loops that carry none (Feautrier, "Some efficient solutions to the affine scheduling problem",
1992). A variable of a thread has one value at a time, so iterations with variables of their own do
not interleave.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import islpy as isl

from gridlane.compute.emitted import Emitted
from gridlane.compute.model import LoopName, Statement
from gridlane.compute.polyhedra import Polyhedra
from gridlane.compute.schedules import Order
from gridlane.compute.shaped import ShapedEmitter
from gridlane.compute.staging import require_unwritten
from gridlane.compute.strides import Rates
from gridlane.compute.typing import Typing
from gridlane.core.errors import ArgumentError, UnsupportedError
from gridlane.core.frozen import frozen

_ITEM = re.compile(r"([A-Za-z_]\w*)(?:/([1-9]\d*))?")
_MOST_UNROLLED = 64
_MOST_SPLIT = 1024


@frozen
class Item:
    """A loop of the text, or the loop over tiles of so many of its iterations.

    Attributes:
        tile: the extent; 0 for the loop itself.
    """

    loop: str
    tile: int = 0

    def __str__(self) -> str:
        return f"{self.loop}/{self.tile}" if self.tile else self.loop


@frozen
class Schedule:
    """The order of loops, outermost first, and what some of them are.

    Attributes:
        order: all loops of the text, and tiles of them in front of them.
        threads: those that are threads, x first.
        vector: iterations of x that a thread has, next to each other.
        unroll: iterations of a loop that are written out, by its name.
        staged: arrays of which a block has its part in shared memory.
        block: threads of a block along x, y and z, where arrays are staged.
        split: a loop of sums that threads divide, how many of a block, and how many blocks.
    """

    order: tuple[Item, ...]
    threads: tuple[Item, ...]
    vector: int
    unroll: Mapping[str, int]
    staged: tuple[str, ...] = ()
    block: tuple[int, int, int] = (1, 1, 1)
    split: tuple[Item, int, int] | None = None


def schedule_of(
    polyhedra: Polyhedra,
    order: tuple[str, ...],
    threads: tuple[str, ...],
    vector: int,
    unroll: Mapping[str, int],
    staged: tuple[str, ...] = (),
    workgroup: tuple[int, ...] | None = None,
    split: tuple[str, int] | tuple[str, int, int] | None = None,
) -> Schedule:
    """A schedule in words.

    Raises:
        ArgumentError: a word is no loop of the nest, one is missing, or a number does not fit.
    """
    names = {each.text for s in polyhedra.nest.statements for each in s.loops}
    items = [_item(each, names) for each in order]
    for name in sorted(names):
        _check_tiles(name, [each.tile for each in items if each.loop == name], order)
    parallel = tuple([_item(each, names) for each in threads])
    for each in parallel:
        if each not in items:
            raise ArgumentError(f"the thread {each} is not in the order {order}")
    if not 1 <= len(parallel) <= 3 or len({*parallel}) != len(parallel):
        raise ArgumentError(f"one to three loops are threads, not {threads}")
    if not 1 <= vector <= 16:
        raise ArgumentError(f"vector={vector}; it must be 1 to 16")
    if vector > 1 and parallel[0].tile:
        raise ArgumentError(f"vector={vector} is of a loop, and x is the tiles {parallel[0]}")
    for name, count in unroll.items():
        if name not in names:
            raise ArgumentError(f"unroll has {name!r}; loops are {', '.join(sorted(names))}")
        if not 1 <= count <= _MOST_UNROLLED:
            raise ArgumentError(f"unroll has {count} of {name}; it must be 1 to {_MOST_UNROLLED}")
        if Item(name) in parallel:
            raise ArgumentError(f"unroll has {name}, which is a thread")
    if staged and workgroup is None:
        raise ArgumentError("stage is of blocks whose threads are known: give a workgroup")
    x, y, z = (*(workgroup or ()), 1, 1, 1)[:3]
    parts = _split_of(split, names, items, parallel, vector)
    if parts is not None and (staged or workgroup):
        raise ArgumentError("split has the shape of blocks, and stage or workgroup too")
    return Schedule(tuple(items), parallel, vector, dict(unroll), tuple(staged), (x, y, z), parts)


def _check_tiles(name: str, tiles: list[int], order: tuple[str, ...]) -> None:
    """Require that a loop's tiles stand in each other, and the loop in them once."""
    if not tiles or tiles[-1] != 0 or tiles.count(0) != 1:
        raise ArgumentError(f"the order {order} has not the loop {name} once, behind its tiles")
    if sorted(tiles[:-1], reverse=True) != tiles[:-1] or len({*tiles}) != len(tiles):
        raise ArgumentError(f"tiles of {name} are within each other, from large to small")
    for outer, inner in pairwise(tiles):
        if inner and outer % inner:
            raise ArgumentError(f"tiles of {inner} of {name} do not divide those of {outer}")


def _split_of(
    split: Sequence[Any] | None,
    names: set[str],
    items: list[Item],
    threads: tuple[Item, ...],
    vector: int,
) -> tuple[Item, int, int] | None:
    if split is None:
        return None
    if not isinstance(split, tuple) or len(split) not in (2, 3) or not isinstance(split[0], str):
        raise ArgumentError(
            f"split={split!r}; it is a loop, threads of a block, and blocks if many"
        )
    item, counts = _item(split[0], names), split[1:]
    if item not in items or item in threads:
        raise ArgumentError(f"split has {item}, which is no loop of a thread")
    if vector > 1:
        raise ArgumentError("split and vector are not of one schedule")
    for count, least in zip(counts, (2, 1)):
        if type(count) is not int or not least <= count <= _MOST_SPLIT:
            raise ArgumentError(f"split={split!r}; it must be {least} to {_MOST_SPLIT}")
    return item, split[1], split[2] if len(split) == 3 else 1


def _item(text: str, names: set[str]) -> Item:
    match = _ITEM.fullmatch(text)
    if match is None or match[1] not in names:
        raise ArgumentError(
            f"{text!r} in a schedule is no loop, nor a loop/extent: loops are "
            f"{', '.join(sorted(names))}"
        )
    return Item(match[1], int(match[2] or 0))


@frozen
class _Dimension:
    """A number of the time of an iteration.

    Attributes:
        name: of the loop; empty for positions among siblings.
        depth: the loop's, of positions.
        text: of a loop's value, with ``x`` for the loop.
        count: how many of the loop's values an iteration has.
    """

    name: str
    depth: int
    text: str
    item: Item | None = None
    is_unrolled: bool = False
    count: int = 1


class HandSchedule:
    """A schedule of a nest.

    Raises:
        UnsupportedError: it breaks a dependence; located at the statement that depends.
    """

    def __init__(self, polyhedra: Polyhedra, schedule: Schedule) -> None:
        self.polyhedra, self.schedule = polyhedra, schedule
        self.depths: dict[str, int] = {}
        for statement in polyhedra.nest.statements:
            for depth, loop in enumerate(statement.loops):
                if self.depths.setdefault(loop.text, depth) != depth:
                    raise ArgumentError(
                        f"loops {loop.text} stand at two depths, so that an order cannot name them"
                    )
        self._set_order(True)
        require_unwritten(polyhedra, schedule.staged)
        self._check_order()
        self._check_threads()
        try:
            self._check_variables()
        except UnsupportedError:
            if schedule.vector == 1:
                raise
            self._set_order(False)  # each of them has the variables for itself
            self._check_variables()

    def emitter(self, typing: Typing, rates: Rates) -> ShapedEmitter:
        """What emits the kernels."""
        threads = tuple([self._number(each) for each in self.schedule.threads])
        unrolled = [n for n, each in enumerate(self.dimensions) if each.is_unrolled]
        names = [str(each.item or "") for each in self.dimensions]
        order = self.order
        items = {
            n: (each.name, each.count)
            for n, each in enumerate(self.dimensions)
            if each.item is not None and not each.is_unrolled
        }
        known, split = self.schedule, self.schedule.split
        numbers = None if split is None else (self._number(split[0]), *split[1:])
        return ShapedEmitter(
            self.polyhedra, typing, order, rates, threads, unrolled, names, known.staged,
            known.block, items, numbers,
        )  # fmt: skip

    def emitted(self, typing: Typing, rates: Rates) -> Emitted:
        """The kernels.

        Raises:
            UnsupportedError: threads do not stand in each other.
        """
        emitter = self.emitter(typing, rates)
        emitted = emitter.emitted()
        split = self.schedule.split
        if split is not None and not any(kernel.splits for kernel in emitted.kernels):
            raise UnsupportedError(
                f"split has {split[0]}, which is no loop of a thread",
                self.polyhedra.nest.statements[-1].loc,
            )
        spans = {span.name for kernel in emitted.kernels for span in kernel.spans}
        for item in self.schedule.threads:
            if f"{emitter.letter}{self._number(item)}" not in spans:
                raise UnsupportedError(
                    f"the threads {_listed(self.schedule.threads)} do not stand directly in each "
                    f"other: {item} would be no thread", self.polyhedra.nest.statements[-1].loc,
                )  # fmt: skip
        return emitted

    def _number(self, item: Item) -> int:
        found = [n for n, e in enumerate(self.dimensions) if e.item == item and not e.is_unrolled]
        return found[0]

    # ---- the order

    def _set_order(self, is_inmost: bool) -> None:
        """Set the dimensions, with a vector's iterations inside of all loops or of x's alone."""
        self.dimensions = self._dimensions(is_inmost)
        self.map = self._map()
        self.order = Order("the user's order", self.map, len(self.dimensions))

    def _dimensions(self, is_inmost: bool) -> list[_Dimension]:
        found: list[_Dimension] = []
        seen: set[str] = set()
        vectors: list[_Dimension] = []
        for item in self.schedule.order:
            name = item.loop
            if name not in seen:
                seen.add(name)
                found.append(_Dimension("", self.depths[name], ""))
            is_thread = item in self.schedule.threads
            count = self.schedule.unroll.get(name, 1) if not item.tile else 1
            if is_thread and item == self.schedule.threads[0]:
                count = self.schedule.vector
            text = f"{item.tile} * floor(x / {item.tile})" if item.tile else "x"
            if count == 1:
                found.append(_Dimension(name, 0, text, item, count=item.tile or 1))
                continue
            tiles = f"{count} * floor(x / {count})"
            found.append(_Dimension(name, 0, tiles, item, count=count))
            inner = _Dimension(name, 0, f"x - {tiles}", item, True)
            if is_thread and is_inmost:
                vectors.append(inner)
            else:
                found.append(inner)
        last = max(len(each.loops) for each in self.polyhedra.nest.statements)
        return [*found, _Dimension("", last, ""), *vectors]

    def _map(self) -> isl.UnionMap:
        whole: isl.UnionMap | None = None
        for statement in self.polyhedra.nest.statements:
            names = [each.name for each in statement.loops]
            times = [self._time(statement, each) for each in self.dimensions]
            text = f"{{ {statement.name}[{', '.join(names)}] -> [{', '.join(times)}] }}"
            one = self.polyhedra.map(text).intersect_domain(self.polyhedra.domain(statement))
            part = isl.UnionMap.from_map(one)
            whole = part if whole is None else whole.union(part)
        assert whole is not None
        return whole

    def _time(self, statement: Statement, dimension: _Dimension) -> str:
        if not dimension.name:
            place = statement.place
            return str(place[dimension.depth]) if dimension.depth < len(place) else "0"
        loop = _loop_of(statement, dimension.name)
        if loop is None:
            return "0"
        value = f"(-{loop.name})" if loop.downward else loop.name
        return dimension.text.replace("x", value)

    # ---- legality

    def _check_order(self) -> None:
        strict = self.polyhedra.strict
        broken = strict.subtract(self.map.lex_lt_union_map(self.map))
        if not broken.is_empty():
            words = _listed(self.schedule.order)
            message = f"the order {words} would run it before what it depends on"
            raise _error(*self.polyhedra.ends(broken), message)

    def _check_threads(self) -> None:
        names = {each.name for each in self.polyhedra.nest.statements}
        count = len(self.dimensions)
        for item in self.schedule.threads:
            number = self._number(item)
            found = self.polyhedra.carried(names, number, self.map, count)
            if found is not None:
                raise _error(*found, f"{item} as threads would run both at once")

    def _check_variables(self) -> None:
        """Require that each thread's variables have the values that the text's order gives them."""
        last = max(self._number(each) for each in self.schedule.threads)
        count = len(self.dimensions)
        names = [f"i{n}'" for n in range(count)]
        for variable, rank in self.polyhedra.private.items():
            users = self.polyhedra.users(variable)
            if rank == 0 or not users:
                continue
            text = f"{{ [{', '.join(names)}] -> {variable}[{', '.join(names[: last + 1])}] }}"
            memory = isl.UnionMap.from_map(self.polyhedra.map(text))
            flow = self.polyhedra.flow(variable)
            if not flow.is_equal(self.polyhedra.flow_in(variable, self.map, memory)):
                loops = ", ".join(loop.text for loop in users[0].loops[:rank])
                raise UnsupportedError(
                    f"{variable} is one variable of a thread, and the order "
                    f"{_listed(self.schedule.order)} interleaves iterations of {loops}: add to an "
                    "element in its place", users[0].loc,
                )  # fmt: skip


def _error(earlier: Statement, later: Statement, message: str) -> UnsupportedError:
    """The error of a dependence that a schedule breaks, at the statement that depends."""
    shared = _shared(earlier, later)
    return UnsupportedError(
        f"this accesses {shared} after another iteration, and {message}", later.loc,
        () if earlier is later else ((f"the other accesses {shared}", earlier.loc),),
    )  # fmt: skip


def _shared(earlier: Statement, later: Statement) -> str:
    """What two statements access, one of which writes it."""
    first = {each.name for each in earlier.reads}
    second = {each.name for each in later.reads}
    if earlier.write.name in {later.write.name, *second}:
        return earlier.write.name
    return later.write.name if later.write.name in first else "the same element"


def _loop_of(statement: Statement, name: str) -> LoopName | None:
    return next((each for each in statement.loops if each.text == name), None)


def _listed(items: tuple[Item, ...]) -> str:
    return ", ".join(map(str, items))
