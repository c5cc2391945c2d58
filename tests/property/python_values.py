"""Random expressions of plain Python's values: floats, bools, texts, ranges, tuples, views.

Floats are multiples of small negative powers of 2, so that no order of rounding matters.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.property.python_kinds import (
    BOOL,
    INT,
    NUMBER,
    NUMBERS,
    PAIR,
    RANGE,
    TEXT,
    Kind,
    tuple_of,
)
from tests.property.python_wholes import Wholes

TEXTS = ("", "a", "ab", "xyz", "abcab", "yz")
CONSTANTS = """\
from collections import namedtuple
from enum import IntEnum

import numpy

Pair = namedtuple("Pair", "a b")
GI, GF, GT, GN = 3, 1.5, (4, 2.5, (1, 2)), Pair(5, 2.5)


TABLE = numpy.arange(-3, 9, 2).reshape(2, 3)


class Level(IntEnum):
    LOW = 1
    HIGH = 4
"""


@dataclass
class Values(Wholes):
    """Writes expressions of any kind."""

    # ---- any kind

    def value(self, kind: Kind, depth: int = 2) -> str:
        if kind == INT:
            return self.small(depth)
        if kind == NUMBER:
            return self.number(depth)
        if kind == BOOL:
            return self.condition(depth)
        if kind == TEXT:
            return self.text(depth)
        if kind == RANGE:
            return self.range(depth)
        if kind.name == "view":
            return self.read(self.names(kind))
        return self.tuple(kind, depth)

    def either(self, kind: Kind, depth: int) -> str:
        """A conditional expression, whose condition comes first."""
        test = self.condition(depth)
        before = dict(self.env)
        one = self.value(kind, depth)
        after, self.env = self.env, before
        other = self.value(kind, depth)
        self.merge(after, self.env)
        return f"({one} if {test} else {other})"

    def choice_of_kind(self, nested: bool = True) -> Kind:
        kinds = [INT, INT, NUMBER, BOOL, TEXT, RANGE] if self.chance(0.3) else [INT, NUMBER, BOOL]
        return self.tuple_kind() if nested and self.chance(0.25) else self.random.choice(kinds)

    def tuple_kind(self) -> Kind:
        if self.chance(0.15):
            return PAIR
        if self.chance(0.6):
            return tuple_of(*[INT] * self.random.randint(1, 4))
        return tuple_of(*[self.choice_of_kind() for _ in range(self.random.randint(0, 3))])

    # ---- numbers

    def number(self, depth: int) -> str:
        found = self.names(*NUMBERS)
        if depth <= 0 or self.chance(0.15):
            if found and self.chance(0.7):
                return self.read(found)
            constants = ("0.5", "1.25", "-2.5", "(-0.75)", "3", "GF", "GT[1]", "GN.b", "True")
            return self.random.choice(constants)
        form = self.random.choice(_NUMBER)
        if isinstance(form, str):
            return form.format(self.number(depth - 1))
        return form(self, depth - 1)

    def sum_of_numbers(self, depth: int) -> str:
        a, b = self.number(depth), self.number(depth)
        return f"({a} {self.random.choice('+-')} {b})"

    def either_number(self, depth: int) -> str:
        return self.either(NUMBER, depth)

    def true_number(self, depth: int) -> str:
        a = self.number(depth)
        return f"({a} {self.random.choice(('and', 'or'))} {self.maybe(self.number, depth)})"

    def number_of(self, depth: int) -> str:
        """One that a call or a namedtuple gives, or a whole one."""
        if "f" in self.env and self.chance(0.3):
            return f"{self.use('f')}[{self.index(4, depth)}]"
        if "y" in self.env and self.chance(0.1):
            return f"float({self.use('y')}[{self.index(16, 0)}])"
        pairs = self.names(PAIR)
        if pairs and self.chance(0.5):
            return f"{self.read(pairs)}.b"
        return self.call(NUMBER, depth) or self.small(depth)

    # ---- conditions

    def condition(self, depth: int) -> str:
        forms = _CONDITION if depth > 0 else _CONDITION[:4]
        return self.random.choice(forms)(self, depth - 1)

    def compared(self, depth: int) -> str:
        a, b = self.whole(depth)[0], self.whole(depth)[0]
        return f"({a} {self.random.choice(('<', '<=', '>', '>=', '==', '!='))} {b})"

    def remainder(self, depth: int) -> str:
        return f"({self.leaf()[0]} % {self.random.choice('234')} == {self.random.choice('012')})"

    def known(self, depth: int) -> str:
        found = self.names(BOOL)
        return self.read(found) if found else self.remainder(depth)

    def chained(self, depth: int) -> str:
        """Of which what follows a comparison that fails is not evaluated."""
        text = f"{self.whole(depth)[0]} < {self.whole(0)[0]}"
        for _ in range(self.random.randint(1, 2)):
            more = self.maybe(self.whole, depth)[0]
            text += f" {self.random.choice(('<', '<=', '!=', '>=', '=='))} {more}"
        return f"({text})"

    def both(self, depth: int) -> str:
        a = self.condition(depth)
        return f"({a} {self.random.choice(('and', 'or'))} {self.maybe(self.condition, depth)})"

    def negated(self, depth: int) -> str:
        return self.random.choice(("(not {})", "bool({})")).format(self.condition(depth))

    def member(self, depth: int) -> str:
        a = self.whole(depth)[0]
        word = self.random.choice(("in", "not in"))
        if self.chance(0.4):
            return f"({a} {word} {self.range(0)})"
        return f"({a} {word} ({self.small(0)}, {self.small(0)}, 3))"

    def compared_numbers(self, depth: int) -> str:
        a, b = self.number(depth), self.number(depth)
        return f"({a} {self.random.choice(('<', '>=', '!=', '=='))} {b})"

    def compared_tuples(self, depth: int) -> str:
        kind = tuple_of(*[INT] * self.random.randint(1, 3))
        if self.chance(0.3):
            return f"{self.random.choice(('any', 'all'))}({self.tuple(kind, depth)})"
        a, b = self.tuple(kind, depth), self.tuple(kind, 0)
        return f"({a} {self.random.choice(('==', '<', '>=', '!='))} {b})"

    def compared_texts(self, depth: int) -> str:
        forms = ("({} == {})", "({} != {})", "({} in {})", "{}.startswith({})", "({} < {})")
        a, b = self.text(depth), self.text(0)
        return self.random.choice(forms).format(a, b)

    def truth(self, depth: int) -> str:
        return f"({self.small(depth)} != 0)" if self.chance(0.5) else f"bool({self.number(depth)})"

    # ---- texts, ranges and tuples

    def range(self, depth: int) -> str:
        found = self.names(RANGE)
        if found and self.chance(0.4):
            return self.read(found)
        if self.chance(0.3):
            return f"range({self.random.randint(0, 5)})"
        step = self.random.choice(("1", "2", "-1", "-3"))
        return f"range({self.small(depth)} % 6, {self.small(0)} % 9, {step})"

    def text(self, depth: int) -> str:
        found = self.names(TEXT)
        if found and self.chance(0.6):
            return self.read(found)
        if depth > 0 and self.chance(0.4):
            return self.either(TEXT, depth - 1)
        return f'"{self.random.choice(TEXTS)}"'

    def tuple(self, kind: Kind, depth: int = 1) -> str:
        found = self.names(kind)
        if found and self.chance(0.25):
            return self.read(found)
        if depth > 0 and self.chance(0.15):
            return self.either(kind, depth - 1)
        if kind == PAIR:
            return f"Pair({self.small(depth)}, {self.number(depth)})"
        if depth > 0 and self.chance(0.15):
            text = self.call(kind, depth)
            if text:
                return text
        if set(kind.items) == {INT} and self.chance(0.3):
            text = self.made_of_others(len(kind.items))
            if text:
                return text
        items = [self.value(item, depth) for item in kind.items]
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"

    def made_of_others(self, size: int) -> str | None:
        """A tuple of whole numbers from slices and sums of tuples."""
        sizes = {n: s for s in range(1, 7) for n in self.names(tuple_of(*[INT] * s))}
        if size in sizes.values() and self.chance(0.2):
            return f"{self.read([n for n, own in sizes.items() if own == size])}[::-1]"
        if size % 2 == 0 and self.chance(0.2):
            return f"({self.tuple(tuple_of(*[INT] * (size // 2)), 0)} * 2)"
        longer = [name for name, own in sizes.items() if own > size]
        shorter = [name for name, own in sizes.items() if own < size]
        if longer and self.chance(0.5):
            part = f":{size}" if self.chance(0.5) else f"-{size}:"
            return f"{self.read(longer)}[{part}]"
        if shorter:
            name = self.random.choice(shorter)
            rest = self.tuple(tuple_of(*[INT] * (size - sizes[name])), 0)
            self.use(name)
            return f"({name} + {rest})"
        return f"divmod({self.small(1)}, {self.divisor(0)})" if size == 2 else None


_NUMBER = (
    *[Values.sum_of_numbers] * 3,
    Values.either_number,
    Values.true_number,
    *[Values.number_of] * 2,
    *("({} * 0.5)", "({} * -1.5)", "({} / 4)", "({} / -8)", "({} // 2)", "({} // 0.5)"),
    *("({} % 7)", "({} % 2.5)", "({} % -3)", "abs({})", "float({})", "(-{})"),
)
_CONDITION = (
    Values.compared,
    Values.compared,
    Values.remainder,
    Values.known,
    Values.chained,
    Values.both,
    Values.both,
    Values.negated,
    Values.member,
    Values.compared_numbers,
    Values.compared_tuples,
    Values.compared_texts,
    Values.truth,
)
