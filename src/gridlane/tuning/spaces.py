"""The candidates of a tuning: values of parameters in all combinations."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from gridlane.core.frozen import frozen
from gridlane.tuning.errors import TuningError

_MOST = 1 << 16
"""Candidates of one space."""
_PLAIN = (bool, int, float, str, type(None))


@frozen
class Candidate:
    """Values of all parameters.

    Attributes:
        place: the number of each value in its parameter's list.
        values: by name, in the order of the parameters.
    """

    place: tuple[int, ...]
    values: tuple[tuple[str, Any], ...]

    @property
    def named(self) -> dict[str, Any]:
        """The values by name."""
        return dict(self.values)

    def __str__(self) -> str:
        return ", ".join(f"{name}={shown(value)}" for name, value in self.values)


class Space:
    """Parameters with the values that each may have.

    Args:
        parameters: numbers, texts, None, or tuples of these.
        plain: the values of the plain schedule; the first of each parameter that it leaves out.
        where: whether a combination of values, by name, is a candidate.

    Raises:
        TuningError: there is no candidate, or too many; the plain schedule is none.
    """

    def __init__(
        self,
        parameters: Mapping[str, Iterable[Any]],
        plain: Mapping[str, Any] | None = None,
        where: Callable[..., bool] | None = None,
    ) -> None:
        self.parameters = {name: _values(name, given) for name, given in parameters.items()}
        if not self.parameters:
            raise TuningError("tune: no candidates: the space has no parameter")
        count = math.prod(map(len, self.parameters.values()))
        if count > _MOST:
            raise TuningError(f"tune: {count} candidates; a space has {_MOST} at the most")
        self._where = where
        self.plain = self._plain_of(plain or {})

    def _plain_of(self, wanted: Mapping[str, Any]) -> Candidate:
        unknown = [name for name in wanted if name not in self.parameters]
        if unknown:
            raise TuningError(
                f"tune: plain={unknown[0]!r} is no parameter; these are "
                f"{', '.join(self.parameters)}"
            )
        place: list[int] = []
        for name, values in self.parameters.items():
            numbers = [
                n for n, value in enumerate(values) if name in wanted and _same(value, wanted[name])
            ]
            if name in wanted and not numbers:
                raise TuningError(
                    f"tune: plain: {name}={shown(wanted[name])} is none of its values, "
                    f"{', '.join(map(shown, values))}"
                )
            place.append(numbers[0] if numbers else 0)
        found = self.at(tuple(place))
        if not self._holds(found):
            raise TuningError(f"tune: the plain schedule, {found}, is none that `where` accepts")
        return found

    def _holds(self, candidate: Candidate) -> bool:
        return self._where is None or bool(self._where(**candidate.named))

    def at(self, place: Sequence[int]) -> Candidate:
        """The candidate with the values of these numbers.

        Raises:
            IndexError: a parameter has no such value.
        """
        pairs: list[tuple[str, Any]] = []
        for (name, values), number in zip(self.parameters.items(), place, strict=True):
            if number < 0:
                raise IndexError(number)
            pairs.append((name, values[number]))
        return Candidate(tuple(place), tuple(pairs))

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """All, the plain one first."""
        return (self.plain, *(each for each in self._all() if each != self.plain))

    def _all(self) -> Iterator[Candidate]:
        for place in itertools.product(*(range(len(v)) for v in self.parameters.values())):
            candidate = self.at(place)
            if self._holds(candidate):
                yield candidate

    def distance(self, one: Candidate, other: Candidate) -> float:
        """How far two candidates are apart; 1 is from end to end of one parameter."""
        total = 0.0
        for values, a, b in zip(self.parameters.values(), one.place, other.place, strict=True):
            total += ((a - b) / max(len(values) - 1, 1)) ** 2
        return math.sqrt(total)


def _values(name: str, given: Iterable[Any]) -> tuple[Any, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TuningError(f"tune: {name}={given!r}: give a list of values")
    values = tuple(map(_plain_value, given))
    if not values:
        raise TuningError(f"tune: no candidates: {name} has no values")
    for value in values:
        if not _is_plain(value):
            raise TuningError(
                f"tune: {name}={value!r}: values are numbers, texts, None, and tuples of these"
            )
    return values


def _plain_value(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_plain_value, value))
    item = getattr(value, "item", None)  # NumPy's numbers
    return item() if callable(item) else value


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_plain, value))
    return type(value) in _PLAIN


def _same(one: Any, other: Any) -> bool:
    """Whether values are the same: 1, True and 1.0 are three."""
    other = _plain_value(other)
    return type(one) is type(other) and one == other


def shown(value: Any) -> str:
    """A value as text.

    >>> shown((32, 4)), shown(0.5)
    ('32x4', '0.5')
    """
    if isinstance(value, tuple) and value:
        return "x".join(map(shown, value))
    return str(value)
