"""Linear forms over the coordinates of a thread, with exact integers.

A symbol is ("thread", axis), ("block", axis), ("loop", number), or a part of a block's index:
("quotient", axis, divisor) and ("rest", axis, divisor).
"""

from __future__ import annotations

from collections.abc import Mapping

Symbol = tuple[str | int, ...]
Range = tuple[int, int | None]
"""The least and the largest value, both included; None where there is no bound."""


class Linear:
    """``constant`` and a sum of symbols by their coefficients, none of which is 0.

    >>> x = Linear(3, {("thread", 0): 4})
    >>> (x + x).times(2).constant, (x - x).is_constant
    (12, True)
    """

    __slots__ = ("constant", "terms")

    def __init__(self, constant: int, terms: Mapping[Symbol, int] | None = None) -> None:
        self.constant = constant
        self.terms: dict[Symbol, int] = dict(terms) if terms else {}

    @property
    def is_constant(self) -> bool:
        """Whether it has no symbol."""
        return not self.terms

    def __add__(self, other: Linear) -> Linear:
        return self._joined(other, 1)

    def __sub__(self, other: Linear) -> Linear:
        return self._joined(other, -1)

    def _joined(self, other: Linear, sign: int) -> Linear:
        terms = dict(self.terms)
        for symbol, factor in other.terms.items():
            total = terms.pop(symbol, 0) + sign * factor
            if total:
                terms[symbol] = total
        return Linear(self.constant + sign * other.constant, terms)

    def times(self, factor: int) -> Linear:
        """The form by a number."""
        if not factor:
            return Linear(0)
        return Linear(self.constant * factor, {s: n * factor for s, n in self.terms.items()})

    def same(self, other: Linear) -> bool:
        """Whether two forms are equal."""
        return self.constant == other.constant and self.terms == other.terms

    def __repr__(self) -> str:
        return f"Linear({self.constant}, {self.terms})"


def range_of(form: Linear, ranges: Mapping[Symbol, Range]) -> tuple[int | None, int | None]:
    """The least and the largest value of a form; None where there is no bound."""
    low: int | None = form.constant
    high: int | None = form.constant
    for symbol, factor in form.terms.items():
        least, most = ranges[symbol]
        ends = least * factor, None if most is None else most * factor
        first, last = ends if factor > 0 else (ends[1], ends[0])
        low = None if low is None or first is None else low + first
        high = None if high is None or last is None else high + last
    return low, high


def split(form: Linear, axis: int, divisor: int) -> Linear:
    """A form with a block's index as a quotient and a rest."""
    factor = form.terms.get(("block", axis))
    if factor is None:
        return form
    terms = {symbol: n for symbol, n in form.terms.items() if symbol != ("block", axis)}
    parts = Linear(0, {part("quotient", axis, divisor): divisor, part("rest", axis, divisor): 1})
    return Linear(form.constant, terms) + parts.times(factor)


def part(kind: str, axis: int, divisor: int) -> Symbol:
    """The symbol of a part of a block's index."""
    return (kind, axis, divisor)


def in_order(digits: list[tuple[int, Range]], least: int) -> bool:
    """Whether sums of digits by their factors differ by ``least`` at the least wherever one digit
    differs, as the digits of a number with several bases do.

    Args:
        digits: (factor, range) of each.

    >>> in_order([(1, (0, 31)), (32, (0, None))], 1), in_order([(1, (0, 32)), (32, (0, 9))], 1)
    (True, False)
    """
    reach: int | None = 0
    for factor, (low, high) in sorted(digits, key=lambda each: abs(each[0])):
        if low == high:
            continue
        if reach is None or abs(factor) - reach < least:
            return False
        reach = None if high is None else reach + abs(factor) * (high - low)
    return True
