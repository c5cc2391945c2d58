"""Whether what two launches have in common is each thread's own, or each block's.

Two accesses are compared digit by digit: an address is a constant and a sum of digits, which are
bounded forms (an index behind its guard) or single symbols. Where the factors of the digits are far
enough apart, two addresses that overlap have the same digits, and so belong to the same thread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import IntEnum

from gridlane.analysis.footprints.linear import Linear, Range, Symbol, in_order, part, split
from gridlane.analysis.footprints.walk import Access, Bound, Footprint
from gridlane.core.source import Loc

Memory = Callable[[int], tuple[int, int] | None]
"""The range of bytes, its end not included, of the allocation that a pointer is in."""
Terms = frozenset[tuple[Symbol, int]]


class Reach(IntEnum):
    """Whose accesses meet: nobody's, each thread's own, a block's, those of several blocks."""

    NONE = 0
    THREAD = 1
    BLOCK = 2
    GRID = 3


class Meeting:
    """How far two launches of one shape are from each other.

    Attributes:
        reach: the farthest of all pairs of accesses, one of which writes.
        places: the two accesses that decide it.
    """

    def __init__(self, reach: Reach, places: tuple[Loc, Loc] | None = None) -> None:
        self.reach, self.places = reach, places


class Side:
    """A launch: its footprint, the values of its pointer parameters and their allocations."""

    def __init__(self, found: Footprint, numbers: Mapping[int, int], memory: Memory) -> None:
        self.found, self.numbers, self.memory = found, numbers, memory
        self.known: dict[Access, tuple[int, int] | None] = {}

    def extent(self, access: Access) -> tuple[int, int] | None:
        """The bytes that an access may touch; None for anything."""
        if access not in self.known:
            self.known[access] = self._extent(access)
        return self.known[access]

    def _extent(self, access: Access) -> tuple[int, int] | None:
        if access.form is not None:
            digits = _digits(access.form, access.bounds, self.found.ranges)
            low = high = access.form.constant
            for factor, (least, most) in digits.values():
                if most is None:
                    break
                ends = factor * least, factor * most
                low, high = low + min(ends), high + max(ends)
            else:
                return low, high + access.size
        if access.roots is None:
            return None
        ranges = [self.memory(self.numbers[root]) for root in access.roots]
        known = [each for each in ranges if each is not None]
        if len(known) < len(ranges):
            return None
        return min(low for low, _ in known), max(high for _, high in known)


def meeting(one: Side, other: Side, extents: Mapping[Symbol, int]) -> Meeting:
    """How far the accesses of two launches reach into each other.

    Args:
        extents: of the grid and of the block along each axis, by the symbols of the indices.
    """
    farthest = Meeting(Reach.NONE)
    for mine in one.found.accesses:
        for theirs in other.found.accesses:
            if not (mine.writes or theirs.writes) or _are_apart(one, mine, other, theirs):
                continue
            reach = _reach(_Pair(one, mine, other, theirs), extents)
            if reach > farthest.reach:
                farthest = Meeting(reach, (mine.loc, theirs.loc))
            if reach is Reach.GRID:
                return farthest
    return farthest


def _are_apart(one: Side, mine: Access, other: Side, theirs: Access) -> bool:
    first, last = one.extent(mine), other.extent(theirs)
    if first is None or last is None:
        return False
    return first[1] <= last[0] or last[1] <= first[0]


def _reach(pair: _Pair, extents: Mapping[Symbol, int]) -> Reach:
    if pair.first.form is None or pair.last.form is None:
        shared = {symbol for symbol, extent in extents.items() if extent > 1}
        return Reach.THREAD if not shared else Reach.GRID
    for reach, names in ((Reach.THREAD, ("thread", "block")), (Reach.BLOCK, ("block",))):
        own = {symbol for symbol, n in extents.items() if n > 1 and symbol[0] in names}
        if pair.is_owned(own):
            return reach
    return Reach.GRID


class _Pair:
    """Two accesses, in the same symbols."""

    def __init__(self, one: Side, mine: Access, other: Side, theirs: Access) -> None:
        self.ranges: dict[Symbol, Range] = {}
        self.splits = {**one.found.splits, **other.found.splits}
        self.agrees = all(
            side.found.splits.get(axis, divisor) == divisor
            for axis, divisor in self.splits.items()
            for side in (one, other)
        )
        self.first = self._unified(one, mine)
        self.last = self._unified(other, theirs)

    def _unified(self, side: Side, access: Access) -> Access:
        """The access with split indices of blocks, and loops named by their steps in bytes."""
        ranges = side.found.ranges
        for symbol, range_ in ranges.items():
            if symbol[0] != "loop":
                self.ranges.setdefault(symbol, range_)
        for axis, divisor in self.splits.items():
            count = ranges[("block", axis)][1]
            assert count is not None
            self.ranges[part("quotient", axis, divisor)] = (0, count // divisor)
            self.ranges[part("rest", axis, divisor)] = (0, min(divisor, count + 1) - 1)
        if access.form is None:
            return access
        form = self._split(access.form)
        names: dict[Symbol, Symbol] = {}
        for symbol, factor in form.terms.items():
            if symbol[0] == "loop":
                names[symbol] = ("loop", "by", factor)
                self.ranges[("loop", "by", factor)] = (0, None)
        if len(set(names.values())) < len(names):
            return replace(access, form=None)
        bounds = [
            replace(each, terms=_renamed(self._split(Linear(0, each.terms)).terms, names))
            for each in access.bounds
        ]
        form = Linear(form.constant, _renamed(form.terms, names))
        kept = tuple(
            [each for each in bounds if all(symbol in self.ranges for symbol in each.terms)]
        )
        return replace(access, form=form, bounds=kept)

    def _split(self, form: Linear) -> Linear:
        for axis, divisor in self.splits.items():
            form = split(form, axis, divisor)
        return form

    def is_owned(self, own: set[Symbol]) -> bool:
        """Whether overlapping accesses have the same ``own`` symbols.

        Where the pair is that of a block, symbols of threads are like those of loops.
        """
        first, last = self.first, self.last
        if not self.agrees or first.form is None or last.form is None:
            return False
        own = self._parts(own)
        pinned = self._pinned(first) & self._pinned(last)
        rest = own - {symbol for symbol, _ in pinned}
        hulls = self._hulls()
        one, two = (_taken(form, list(hulls)) for form in (first.form, last.form))
        shared = [terms for terms in hulls if terms in one and one[terms] == two.get(terms)]
        one, two = (_taken(form, shared) for form in (first.form, last.form))
        slack = [last.form.constant - first.form.constant] * 2
        digits: list[tuple[int, Range]] = []
        for terms in {*one, *two}:
            mine, theirs = one.get(terms), two.get(terms)
            if mine == theirs and mine is not None:
                digits.append((mine, self._range(terms, hulls)))
                if not self._is_injective(terms):
                    return False
                continue
            parts = (mine, -1, first.bounds), (theirs, 1, last.bounds)
            is_own = any(symbol in own for symbol, _ in terms)
            if is_own or not all(self._widen(slack, terms, *each) for each in parts):
                return False
        covered = {symbol for terms in one.keys() & two.keys() for symbol, _ in terms}
        least = max(first.size - slack[0], last.size + slack[1], 1)
        return rest <= covered and in_order(digits, least)

    def _widen(
        self,
        slack: list[int],
        terms: Terms,
        factor: int | None,
        sign: int,
        bounds: tuple[Bound, ...],
    ) -> bool:
        """Add what one address may be farther than the other by a digit that they do not share;
        False if that has no bound."""
        if factor is None:
            return True
        low, high = _met(bounds, self.ranges).get(terms) or _natural(terms, self.ranges)
        if high is None:
            return False
        ends = sign * factor * low, sign * factor * high
        slack[0], slack[1] = slack[0] + min(ends), slack[1] + max(ends)
        return True

    def _parts(self, own: set[Symbol]) -> set[Symbol]:
        """Own symbols with the parts of split ones in their place."""
        parts = set(own)
        for axis, divisor in self.splits.items():
            if ("block", axis) in own:
                parts.discard(("block", axis))
                for kind in ("quotient", "rest"):
                    if self.ranges[part(kind, axis, divisor)][1]:
                        parts.add(part(kind, axis, divisor))
        return parts

    def _pinned(self, access: Access) -> set[tuple[Symbol, int]]:
        """Symbols that have one value, the same in all threads that do an access."""
        pinned: set[tuple[Symbol, int]] = set()
        for terms, (low, high) in _met(access.bounds, self.ranges).items():
            if len(terms) == 1 and low == high:
                ((symbol, _),) = terms
                pinned.add((symbol, low))
        return pinned

    def _hulls(self) -> dict[Terms, Range]:
        """The range of each bounded form over both accesses."""
        one = _met(self.first.bounds, self.ranges)
        two = _met(self.last.bounds, self.ranges)
        hulls: dict[Terms, Range] = {}
        for terms in {*one, *two}:
            natural = _natural(terms, self.ranges)
            (a, b), (c, d) = one.get(terms, natural), two.get(terms, natural)
            hulls[terms] = min(a, c), None if b is None or d is None else max(b, d)
        return hulls

    def _range(self, terms: Terms, hulls: Mapping[Terms, Range]) -> Range:
        return hulls[terms] if terms in hulls else _natural(terms, self.ranges)

    def _is_injective(self, terms: Terms) -> bool:
        """Whether a digit has each value for one choice of its symbols."""
        digits = [(factor, self.ranges[symbol]) for symbol, factor in terms]
        return in_order(digits, 1)


def _digits(
    form: Linear, bounds: tuple[Bound, ...], ranges: Mapping[Symbol, Range]
) -> dict[Terms, tuple[int, Range]]:
    """The digits of an address: the factor and the range of each."""
    known = _met(bounds, ranges)
    return {
        terms: (factor, known.get(terms) or _natural(terms, ranges))
        for terms, factor in _taken(form, list(known)).items()
    }


def _met(bounds: tuple[Bound, ...], ranges: Mapping[Symbol, Range]) -> dict[Terms, Range]:
    """The range of each bounded form: where all conditions hold."""
    met: dict[Terms, Range] = {}
    for bound in bounds:
        terms = frozenset(bound.terms.items())
        low, high = met[terms] if terms in met else _natural(terms, ranges)
        low = low if bound.low is None else max(low, bound.low)
        if bound.high is not None:
            high = bound.high if high is None else min(high, bound.high)
        met[terms] = low, high if high is None else max(low, high)
    return met


_FAR = -(1 << 64)


def _natural(terms: Terms, ranges: Mapping[Symbol, Range]) -> Range:
    """The range of a form by its symbols."""
    low, high = 0, 0
    for symbol, factor in terms:
        least, most = ranges[symbol]
        if factor < 0:
            low = low + factor * most if most is not None and low != _FAR else _FAR
            high = None if high is None else high + factor * least
        else:
            low = low if low == _FAR else low + factor * least
            high = None if high is None or most is None else high + factor * most
    return low, high


def _taken(form: Linear, bounded: list[Terms]) -> dict[Terms, int]:
    """A form as a sum of bounded forms, the longest first, and single symbols."""
    rest, digits = dict(form.terms), dict[Terms, int]()
    for terms in sorted(bounded, key=lambda each: (-len(each), repr(sorted(each, key=repr)))):
        ratios = {_ratio(rest.get(symbol, 0), factor) for symbol, factor in terms}
        ratio = ratios.pop() if len(ratios) == 1 else None
        if not ratio:
            continue
        digits[terms] = ratio
        for symbol, _ in terms:
            del rest[symbol]
    for symbol, factor in rest.items():
        terms = frozenset([(symbol, 1)])
        digits[terms] = digits.get(terms, 0) + factor
    return digits


def _ratio(number: int, factor: int) -> int | None:
    return number // factor if not number % factor else None


def _renamed(terms: Mapping[Symbol, int], names: Mapping[Symbol, Symbol]) -> dict[Symbol, int]:
    return {names.get(symbol, symbol): factor for symbol, factor in terms.items()}
