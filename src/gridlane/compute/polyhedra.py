"""Dependences between the iterations of a nest, and which of its loops they leave parallel.

Sets and relations are isl's (Verdoolaege 2010): they are exact for affine accesses. An access that
is not affine may be to any element.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property, reduce

import islpy as isl

from gridlane.compute.model import Access, Nest, Statement
from gridlane.core.errors import TypingError

_WORD = re.compile(r"[A-Za-z_]\w*")


class Polyhedra:
    """The iterations of a nest.

    Attributes:
        depth: the most loops around a statement.
        same: tensors that are the same array as another one.
        private: how many of the loops around a variable's statements each have a variable of
            their own.
    """

    def __init__(
        self, nest: Nest, same: Mapping[str, str] | None = None, private: bool = True
    ) -> None:
        self.nest, self.same = nest, same or {}
        self.depth = max(len(each.loops) for each in nest.statements)
        self._head = f"[{', '.join(nest.parameters)}] -> "
        self._domains: dict[str, isl.Set] = {}
        self._kept: dict[int, tuple[isl.UnionMap, bool]] = {}
        self.private: dict[str, int] = {}
        for name in nest.variables if private else ():
            self.private[name] = self._privacy(name)

    # ---- sets and relations

    def set(self, text: str) -> isl.Set:
        """A set of isl's text without its parameters."""
        return isl.Set(self._head + text)

    def map(self, text: str, *more: str) -> isl.Map:
        """A relation of isl's text without its parameters, and more parameters."""
        names = ", ".join((*self.nest.parameters, *more))
        return isl.Map(f"[{names}] -> {text}")

    @cached_property
    def context(self) -> isl.Set:
        """What is known of the parameters."""
        conditions = ["1 = 1"]
        for name, (low, high) in self.nest.extents.items():
            conditions.append(f"{name} >= {low}")
            conditions += [] if high is None else [f"{name} <= {high}"]
        return isl.Set(f"{self._head}{{ : {' and '.join(conditions)} }}")

    def _tuple(self, statement: Statement) -> str:
        return f"{statement.name}[{', '.join(each.name for each in statement.loops)}]"

    def domain(self, statement: Statement) -> isl.Set:
        """The iterations of a statement."""
        if statement.name not in self._domains:
            self._domains[statement.name] = self._domain(statement)
        return self._domains[statement.name]

    def _domain(self, statement: Statement) -> isl.Set:
        conditions = " and ".join((*statement.domain, "1 = 1"))
        found = self.set(f"{{ {self._tuple(statement)} : {conditions} }}")
        return found.intersect_params(self.context)

    def order(self, statement: Statement) -> isl.Map:
        """When each iteration runs: positions and loops in turn, as many for all statements."""
        parts: list[str] = []
        for number in range(self.depth):
            is_inside = number < len(statement.loops)
            parts.append(str(statement.place[number]) if number < len(statement.place) else "0")
            loop = statement.loops[number] if is_inside else None
            parts.append("0" if loop is None else f"-{loop.name}" if loop.downward else loop.name)
        parts.append(str(statement.place[self.depth]) if len(statement.place) > self.depth else "0")
        text = f"{{ {self._tuple(statement)} -> [{', '.join(parts)}] }}"
        return self.map(text).intersect_domain(self.domain(statement))

    def access(self, statement: Statement, access: Access) -> isl.Map:
        """The elements that a statement's iterations access."""
        indices, name = access.indices, self.memory(access)
        if access.name in self.nest.tensors:
            rank = len(self.nest.tensors[access.name].extents)
        else:
            rank = self.private.get(access.name, 0)
            indices = tuple([each.name for each in statement.loops[:rank]])
        if indices is None:
            names = ", ".join(f"e{n}'" for n in range(rank))
            text = f"{{ {self._tuple(statement)} -> {name}[{names}] }}"
        else:
            text = f"{{ {self._tuple(statement)} -> {name}[{', '.join(indices)}] }}"
        return self.map(text).intersect_domain(self.domain(statement))

    def memory(self, access: Access) -> str:
        """The name of the array, or variable, that an access is to."""
        return self.same.get(access.name, access.name)

    @cached_property
    def orders(self) -> isl.UnionMap:
        """When each iteration of all statements runs."""
        return _union([self.order(each) for each in self.nest.statements])

    # ---- dependences

    @cached_property
    def dependences(self) -> isl.UnionMap:
        """The iterations that depend on an earlier one by memory: one of the two writes. Those of
        reductions among themselves are left out."""
        return self._dependences(self.nest.statements, relaxed=True)

    @cached_property
    def strict(self) -> isl.UnionMap:
        """The same with those of reductions."""
        return self._dependences(self.nest.statements, relaxed=False)

    def _dependences(self, statements: Iterable[Statement], relaxed: bool) -> isl.UnionMap:
        found = isl.UnionMap(f"{self._head}{{ }}")
        every = [*statements]
        for one in every:
            for other in every:
                pairs = [(one.write, each) for each in (other.write, *other.reads)]
                pairs += [(each, other.write) for each in one.reads]
                for first, second in pairs:
                    if self.memory(first) != self.memory(second):
                        continue
                    own = one is other and first.name == second.name == one.write.name
                    if relaxed and own and one.operator and _is_same(first, second):
                        continue
                    there = self.access(one, first), self.access(other, second)
                    both = there[0].apply_range(there[1].reverse())
                    found = found.union(isl.UnionMap.from_map(both))
        return self._without_parallel(found.intersect(self._before()))

    def _without_parallel(self, found: isl.UnionMap) -> isl.UnionMap:
        """Dependences without those between iterations that the user calls parallel."""
        for one in self.nest.statements:
            for number, loop in enumerate(one.loops):
                if not loop.parallel:
                    continue
                for other in self.nest.statements:
                    if loop in other.loops:
                        apart = self.map(_pairs_apart(one, other, number))
                        found = found.subtract(isl.UnionMap.from_map(apart))
        return found

    def _before(self) -> isl.UnionMap:
        """Pairs of iterations, the first of which runs before the second."""
        return self.orders.lex_lt_union_map(self.orders)

    def keeps(self, orders: isl.UnionMap) -> bool:
        """Whether an order runs all iterations, and what they depend on before them."""
        key = id(orders)
        if key not in self._kept or self._kept[key][0] is not orders:
            domain = _union_set([self.domain(each) for each in self.nest.statements])
            is_whole = domain.is_subset(orders.domain())
            later = orders.lex_lt_union_map(orders) if is_whole else None
            self._kept[key] = orders, later is not None and bool(self.strict.is_subset(later))
        return self._kept[key][1]

    def is_parallel(
        self,
        names: set[str],
        dimension: int,
        orders: isl.UnionMap,
        count: int,
        relaxed: bool = False,
    ) -> bool:
        """Whether no dependence among some statements is carried by a dimension of the order.

        Args:
            names: of the statements.
            orders: the time of each iteration, of ``count`` numbers.
            relaxed: dependences of reductions among themselves do not count.
        """
        inside = _union_set([self.domain(s) for s in self.nest.statements if s.name in names])
        every = self.dependences if relaxed else self.strict
        among = every.intersect_domain(inside).intersect_range(inside)
        moved = among.apply_domain(orders).apply_range(orders)
        one = [f"i{n}'" for n in range(count)]
        other = [f"i{n}'" if n < dimension else f"o{n}'" for n in range(count)]
        text = f"{{ [{', '.join(one)}] -> [{', '.join(other)}] : o{dimension}' != i{dimension}' }}"
        return moved.intersect(isl.UnionMap.from_map(self.map(text))).is_empty()

    def may_turn(
        self, names: set[str], outer: int, inner: int, orders: isl.UnionMap, count: int
    ) -> bool:
        """Whether no dependence among some statements leads forwards in one dimension of the order,
        where all before are equal, and backwards in another: iterations of the first may then be
        innermost.

        Args:
            names: of the statements.
            orders: the time of each iteration, of ``count`` numbers.
        """
        inside = _union_set([self.domain(s) for s in self.nest.statements if s.name in names])
        among = self.strict.intersect_domain(inside).intersect_range(inside)
        moved = among.apply_domain(orders).apply_range(orders)
        one = [f"i{n}'" for n in range(count)]
        other = [f"i{n}'" if n < outer else f"o{n}'" for n in range(count)]
        against = f"o{outer}' > i{outer}' and o{inner}' < i{inner}'"
        text = f"{{ [{', '.join(one)}] -> [{', '.join(other)}] : {against} }}"
        return moved.intersect(isl.UnionMap.from_map(self.map(text))).is_empty()

    def carried(
        self, names: set[str], dimension: int, orders: isl.UnionMap, count: int
    ) -> tuple[Statement, Statement] | None:
        """Two statements with a dependence that a dimension of the order carries, if any are."""
        one = [f"i{n}'" for n in range(count)]
        other = [f"i{n}'" if n < dimension else f"o{n}'" for n in range(count)]
        text = f"{{ [{', '.join(one)}] -> [{', '.join(other)}] : o{dimension}' != i{dimension}' }}"
        apart = isl.UnionMap.from_map(self.map(text))
        pairs = self.strict.intersect(orders.apply_range(apart).apply_range(orders.reverse()))
        inside = _union_set([self.domain(s) for s in self.nest.statements if s.name in names])
        found = pairs.intersect_domain(inside).intersect_range(inside)
        return None if found.is_empty() else self.ends(found)

    def ends(self, pairs: isl.UnionMap) -> tuple[Statement, Statement]:
        """Two statements of which a relation has iterations."""
        statements = {each.name: each for each in self.nest.statements}
        first = pairs.get_map_list().get_at(0)
        one, other = (first.get_tuple_name(each) for each in (isl.dim_type.in_, isl.dim_type.out))
        return statements[str(one)], statements[str(other)]

    def is_one_element(self, statement: Statement, moving: set[str]) -> bool:
        """Whether a statement changes one element, and no other of its array, along a loop.

        Args:
            moving: the names of the statement's loops that move.
        """
        write = statement.write
        if write.name not in self.nest.tensors or not write.indices or statement.tests:
            return False
        own = [each for each in statement.reads if self.memory(each) == self.memory(write)]
        names = {word for index in write.indices for word in _WORD.findall(index)}
        if names & moving or not any(_is_same(each, write) for each in own):
            return False
        others = [e for e in own if e.name != write.name or not _is_same(e, write)]
        return not any(self._can_meet(statement, each, moving) for each in others)

    def _can_meet(self, statement: Statement, read: Access, moving: set[str]) -> bool:
        """Whether a read may be of the element that is written, as some loops move."""
        pairs = self.access(statement, statement.write).apply_range(
            self.access(statement, read).reverse()
        )
        for number, loop in enumerate(statement.loops):
            if loop.name not in moving:
                pairs = pairs.intersect(self.map(_pairs(statement, statement, number)))
        return not pairs.is_empty()

    # ---- variables

    def users(self, name: str) -> list[Statement]:
        """The statements that read or write a variable."""
        return [
            each
            for each in self.nest.statements
            if any(access.name == name for access in (each.write, *each.reads))
        ]

    def _privacy(self, name: str) -> int:
        """How many loops around a variable have one each: values flow within their iterations.

        Raises:
            TypingError: the variable may be read before it is written.
        """
        users = self.users(name)
        common = 0
        while all(len(each.loops) > common for each in users) and (
            len({each.loops[common].name for each in users}) == 1
        ):
            common += 1
        self.private[name] = 0
        values = self.flow(name)
        for count in range(common, 0, -1):
            if all(values.is_subset(self._equal(users, number)) for number in range(count)):
                return count
        return 0

    def flow(self, name: str) -> isl.UnionMap:
        """The iterations that write a variable, and those that may read the value.

        Raises:
            TypingError: the variable may be read before it is written.
        """
        users = self.users(name)
        reads = [each for each in users if any(a.name == name for a in each.reads)]
        if not reads:
            return _union([], self._head)
        writes = [each for each in users if each.write.name == name]
        sure = [each for each in writes if not each.tests]
        info = isl.UnionAccessInfo.from_sink(_union([self._scalar(s, name) for s in reads]))
        info = info.set_must_source(_union([self._scalar(s, name) for s in sure], self._head))
        may = [each for each in writes if each.tests]
        if may:
            info = info.set_may_source(_union([self._scalar(s, name) for s in may]))
        flow = info.set_schedule_map(self.orders).compute_flow()
        if not flow.get_must_no_source().is_empty():
            place = next(a.loc for s in reads for a in s.reads if a.name == name)
            raise TypingError(f"{name} may be read before it is assigned to", place)
        return flow.get_may_dependence()

    def flow_in(self, name: str, orders: isl.UnionMap, memory: isl.UnionMap) -> isl.UnionMap:
        """The same in another order of iterations.

        Args:
            orders: the time of each iteration.
            memory: the element that an iteration at a time has for the variable.
        """
        users = self.users(name)
        places = orders.apply_range(memory)

        def of(wanted: list[Statement]) -> isl.UnionMap:
            if not wanted:
                return _union([], self._head)
            return places.intersect_domain(_union_set([self.domain(each) for each in wanted]))

        reads = [each for each in users if any(a.name == name for a in each.reads)]
        writes = [each for each in users if each.write.name == name]
        info = isl.UnionAccessInfo.from_sink(of(reads))
        info = info.set_must_source(of([each for each in writes if not each.tests]))
        info = info.set_may_source(of([each for each in writes if each.tests]))
        return info.set_schedule_map(orders).compute_flow().get_may_dependence()

    def _scalar(self, statement: Statement, name: str) -> isl.Map:
        text = f"{{ {self._tuple(statement)} -> {name}[] }}"
        return self.map(text).intersect_domain(self.domain(statement))

    def before(self, one: Statement, other: Statement) -> isl.Map:
        """The iterations of a statement, with those of another one that come before."""
        return self.order(one).lex_gt_map(self.order(other))

    def first_loops(self, pairs: isl.Map, statement: Statement, depth: int) -> isl.Map:
        """A relation to iterations of a statement as one to the numbers of its outermost loops."""
        names = ", ".join(each.name for each in statement.loops[:depth])
        return pairs.apply_range(self.map(f"{{ {self._tuple(statement)} -> [{names}] }}"))

    def same_iterations(self, one: Statement, other: Statement, depth: int) -> isl.Map:
        """Pairs of iterations of two statements that are one iteration of the outermost loops."""
        left = [f"i{n}'" for n in range(len(one.loops))]
        right = [f"i{n}'" if n < depth else f"o{n}'" for n in range(len(other.loops))]
        return self.map(f"{{ {one.name}[{', '.join(left)}] -> {other.name}[{', '.join(right)}] }}")

    def _equal(self, users: list[Statement], number: int) -> isl.UnionMap:
        """Pairs of iterations with the same value of a common loop."""
        return _union([self.map(_pairs(one, other, number)) for one in users for other in users])


def _pairs(one: Statement, other: Statement, number: int) -> str:
    """Pairs of iterations of two statements with the same value of a loop, in isl's text."""
    left = [f"i{n}'" for n in range(len(one.loops))]
    right = [f"i{n}'" if n == number else f"o{n}'" for n in range(len(other.loops))]
    return f"{{ {one.name}[{', '.join(left)}] -> {other.name}[{', '.join(right)}] }}"


def _pairs_apart(one: Statement, other: Statement, number: int) -> str:
    """Pairs of iterations with other values of a loop, and the same of those around it."""
    left = [f"i{n}'" for n in range(len(one.loops))]
    right = [f"i{n}'" if n < number else f"o{n}'" for n in range(len(other.loops))]
    pair = f"{one.name}[{', '.join(left)}] -> {other.name}[{', '.join(right)}]"
    return f"{{ {pair} : i{number}' != o{number}' }}"


def _is_same(one: Access, other: Access) -> bool:
    return one.indices is not None and one.indices == other.indices


def _union(maps: list[isl.Map], head: str = "") -> isl.UnionMap:
    if not maps:
        return isl.UnionMap(f"{head}{{ }}")
    return reduce(isl.UnionMap.union, [isl.UnionMap.from_map(each) for each in maps])


def _union_set(sets: list[isl.Set]) -> isl.UnionSet:
    return reduce(isl.UnionSet.union, [isl.UnionSet.from_set(each) for each in sets])
