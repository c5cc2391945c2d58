"""Random expressions of whole numbers, and calls.

A whole number comes with a bound, so that none leaves 64 bits. What an expression assigns in a part
that may not be evaluated counts as assigned where it must be.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from tests.property.python_kinds import INT, PAIR, RANGE, Function, Kind
from tests.property.python_scope import Scope

Whole = tuple[str, int]
"""A text and a bound of its magnitude."""
SMALL, LARGE = 1 << 20, 1 << 55
"""Bounds of variables and of what an expression computes on the way."""
_INDICES = (
    "({a}) % {n} - {h}",
    "-(({a}) % {n})",
    "~(({a}) % {n})",
    "min(max({a}, -{n}), {last})",
    "max(min({a}, {last}), 0)",
    "abs({a}) % {n} - {n}",
    "({a}) % -{n}",
    "(({a}) & 1) - 1",
    "(({a}) % {n}) // 2 - {h}",
    "int((({a}) % {n}) / 2)",
    "(({a}) % {n} + ({a}) % {n}) // 2",
    "({a}) % {n} - {n} * (({a}) % 2)",
    "(({a}) % {n}) * (({a}) % 3 - 1)",
    "(({a}) % 4 - 4) >> 2",
)
"""Indices of a sequence of ``n`` items, from a number ``a``."""
SLICES = ("1:", "::-1", ":-1", "::2", "-2:", "1:3", "::-2")


@dataclass
class Wholes(Scope):
    """Writes whole numbers and calls."""

    # What the parts of these expressions are: expressions of all kinds hold each other.

    @abstractmethod
    def value(self, kind: Kind, depth: int = 2) -> str: ...

    @abstractmethod
    def either(self, kind: Kind, depth: int) -> str: ...

    @abstractmethod
    def number(self, depth: int) -> str: ...

    @abstractmethod
    def condition(self, depth: int) -> str: ...

    @abstractmethod
    def text(self, depth: int) -> str: ...

    # ---- whole numbers

    def small(self, depth: int = 2) -> str:
        """A whole number below SMALL."""
        text, bound = self.whole(depth)
        return self.wrapped(text, bound)[0] if bound >= SMALL else text

    def wrapped(self, text: str, bound: int, limit: int = 1) -> Whole:
        if bound < limit:
            return text, bound
        by = self.random.choice(("% 97", "% 1009", "% -31", "& 63", "& 1023"))
        return f"(({text}) {by})", 1023

    def whole(self, depth: int) -> Whole:
        if depth <= 0 or self.chance(0.15):
            return self.leaf()
        weights = [weight for weight, _ in _WHOLE]
        form = self.random.choices(_WHOLE, weights)[0][1]
        text, bound = form(self, depth - 1) or self.leaf()
        return (text, bound) if bound < LARGE else self.wrapped(text, bound)

    def leaf(self) -> Whole:
        found = self.names(INT)
        if found and self.chance(0.7):
            return self.read(found), SMALL
        if self.chance(0.3):
            return self.random.choice(("GI", "GT[0]", "GN.a", "GT[2][1]", "Level.HIGH.value")), 8
        value = self.random.choice((0, 1, 2, 3, 5, 7, -1, -2, -7, 10, 63))
        return (str(value) if value >= 0 else f"({value})"), 64

    def sum(self, depth: int) -> Whole:
        (a, low), (b, high) = self.whole(depth), self.whole(depth)
        return f"({a} {self.random.choice('+-')} {b})", low + high

    def product(self, depth: int) -> Whole:
        (a, low), (b, high) = self.whole(depth), self.whole(depth)
        if low * high >= LARGE:
            (a, low), (b, high) = self.wrapped(a, low), self.wrapped(b, high)
        return f"({a} * {b})", low * high

    def divisor(self, depth: int) -> str:
        """A whole number that is not 0."""
        forms = ("(abs({}) + 1)", "({} | 1)", "3", "-4", "7", "(-2)")
        form = self.random.choice(forms)
        return form.format(self.small(depth)) if "{}" in form else form

    def quotient(self, depth: int) -> Whole:
        a, bound = self.whole(depth)
        divisor = self.divisor(depth)
        if self.chance(0.3):
            return f"divmod({a}, {divisor})[{self.random.randint(0, 1)}]", max(bound, SMALL)
        return f"({a} {self.random.choice(('//', '%'))} {divisor})", max(bound, SMALL)

    def bits(self, depth: int) -> Whole:
        (a, low), (b, high) = self.whole(depth), self.whole(depth)
        return f"({a} {self.random.choice('&|^')} {b})", 2 * max(low, high)

    def shift(self, depth: int) -> Whole:
        a, bound = self.wrapped(*self.whole(depth), limit=SMALL)
        return f"({a} {self.random.choice(('<<', '>>'))} ({self.leaf()[0]} & 7))", bound << 7

    def unary(self, depth: int) -> Whole:
        a, bound = self.whole(depth)
        return self.random.choice(("(-{})", "(~{})", "abs({})", "(+{})")).format(a), bound + 1

    def least(self, depth: int) -> Whole:
        (a, low), (b, high), (c, top) = (self.whole(depth) for _ in range(3))
        forms = ("min({}, {}, {})", "max({}, {}, {})", "min(({}, {}, {}))", "max(({}, {}, {}))")
        return self.random.choice(forms).format(a, b, c), max(low, high, top)

    def chosen(self, depth: int) -> Whole:
        return self.either(INT, depth), SMALL

    def either_true(self, depth: int) -> Whole:
        a = self.small(depth)
        return f"({a} {self.random.choice(('and', 'or'))} {self.maybe(self.small, depth)})", SMALL

    def walrus(self, depth: int) -> Whole:
        value = self.small(depth)
        name = self.target(INT, "w", 0.7)
        self.assign(name, INT)
        text = f"({name} := {value})"
        return (f"({text} + {name} * 2)", 3 * SMALL) if self.chance(0.3) else (text, SMALL)

    def of_bool(self, depth: int) -> Whole:
        test = self.condition(depth)
        return self.random.choice(("int({})", "({} + 1)", "((not {}) * 2)")).format(test), 2

    def of_number(self, depth: int) -> Whole:
        return f"int({self.number(depth)})", 1 << 24

    def of_text(self, depth: int) -> Whole:
        form = self.random.choice(("len({})", "{}.find('b')"))
        return form.format(self.text(depth)), 8

    def of_tuple(self, depth: int) -> Whole | None:
        found = [name for name in self.named("tuple") if self.env[name].kind.items]
        if not found:
            return None
        name = self.random.choice(found)
        kind = self.env[name].kind
        if kind == PAIR:
            return f"{self.use(name)}.a", SMALL
        if set(kind.items) != {INT}:
            places = [n for n, item in enumerate(kind.items) if item == INT]
            place = self.random.choice(places) if places else None
            name = self.use(name)
            return (f"{name}[{place}]", SMALL) if places else (f"len({name})", 8)
        return self.of_items(name, len(kind.items), depth)

    def of_items(self, name: str, size: int, depth: int) -> Whole:
        """Of a tuple of whole numbers, or of a view."""
        is_view = self.env[name].kind.name == "view"
        forms = [
            *(["{}.sum()", "{}.max()", "{}.size", "{}.shape[0]"] if is_view else []),
            *([f"{word}({{}}[{self.slice()}])" for word in ("sum", "len")] if is_view else []),
            f"{{}}[{self.random.randrange(size)}]",
            f"{{}}[-{self.random.randint(1, size)}]",
            "len({})",
            "sum({})",
            "max({})",
            f"sum({{}}[{self.random.choice(SLICES)}])",
            f"len({{}}[{self.random.choice(SLICES)}])",
        ]
        form = self.random.choice([*forms, ""])
        if form:
            return form.format(self.use(name)), 1 << 24
        if not is_view:  # whose items may be of several types
            self.use(name)
            items = ", ".join(f"{name}[{n}] + 0" for n in range(size))
            return f"({items},)[{self.index(size, depth)}]", SMALL
        return f"{self.use(name)}[{self.index(size, depth)}]", SMALL

    def of_view(self, depth: int) -> Whole | None:
        found = self.named("view")
        if not found:
            return None
        name = self.random.choice(found)
        size = self.env[name].kind.size
        if self.chance(0.2):
            return f"int({self.use(name)}[::-1][{self.index(size, 0)}])", 1 << 24
        return f"int({self.of_items(name, size, depth)[0]})", 1 << 24

    def slice(self) -> str:
        """A slice of a view by numbers that only the run knows."""
        start, stop = (self.leaf()[0] if self.chance(0.7) else "" for _ in range(2))
        step = self.random.choice(("", "", ":2", ":-1", f":{self.leaf()[0]} or 3"))
        return f"{start}:{stop}{step}"

    def index(self, size: int, depth: int) -> str:
        """One that a sequence has, from either end; of most the sign is known by their parts."""
        if self.chance(0.3):
            return str(self.random.randrange(-size, size))
        text = self.whole(depth)[0]
        if self.chance(0.4):
            return f"({text}) % {size}"
        return self.random.choice(_INDICES).format(a=text, n=size, h=size // 2, last=size - 1)

    def of_input(self, depth: int) -> Whole | None:
        """An element of a captured array, of an argument, or an item of a range."""
        form = self.random.choice(("table", "input", "range"))
        if form == "table":
            return f"int(TABLE[{self.index(2, 0)}, {self.index(3, 0)}])", SMALL
        if form == "input" and "x" in self.env:
            return f"int({self.use('x')}[{self.index(16, depth)}])", SMALL
        found = self.names(RANGE)
        if not found:
            return None
        name = self.read(found)
        return f"(len({name}) and {name}[{self.random.choice(('0', '-1'))}])", SMALL

    def power(self, depth: int) -> Whole:
        form = self.random.choice(("(({}) % 7) ** 2", "(({}) % -5) ** 3", "2 ** (({}) & 7)"))
        return f"({form.format(self.whole(depth)[0])})", 256

    def rounded(self, depth: int) -> Whole:
        return f"round({self.number(depth)})", 1 << 24

    def of_display(self, depth: int) -> Whole:
        (a, low), (b, high) = self.whole(depth), self.whole(depth)
        return f"({a} + 0, {b} + 0)[{self.leaf()[0]} % 2]", max(low, high)  # of one type

    def called(self, depth: int) -> Whole | None:
        text = self.call(INT, depth)
        return (text, SMALL) if text else None

    # ---- calls

    def callable(self, function: Kind) -> bool:
        return isinstance(function, Function) and all(
            name in self.env and (self.env[name].kind, self.env[name].level) == (kind, level)
            for name, kind, level in function.reads
        )

    def call(self, result: Kind, depth: int) -> str | None:
        """A call of a function that gives a kind, None where there is none."""
        found = [
            name
            for name, variable in self.env.items()
            if isinstance(variable.kind, Function)
            and variable.kind.result == result
            and self.callable(variable.kind)
            and all(p.name != "view" or self.names(p) for p in variable.kind.params)
        ]
        if not found:
            return None
        name = self.random.choice(found)
        function = self.env[name].kind
        assert isinstance(function, Function)
        self.use(name)
        return f"{name}({', '.join(self.given(function, depth - 1))})"

    def given(self, function: Function, depth: int) -> list[str]:
        """The arguments of a call, some by name."""
        texts: list[str] = []
        names = function.names or ("",) * len(function.params)
        last = len(names) - 1
        by_name = False
        for number, (name, kind) in enumerate(zip(names, function.params, strict=True)):
            if number > last - function.optional and self.chance(0.5):
                continue
            by_name = by_name or (bool(name) and self.chance(0.15))
            by_name = by_name or (number == last and function.only_named)
            value = self.value(kind, depth)
            texts.append(f"{name}={value}" if by_name else value)
        return texts


_WHOLE = (
    (4, Wholes.sum),
    (2, Wholes.product),
    (2, Wholes.quotient),
    (2, Wholes.bits),
    (2, Wholes.shift),
    (3, Wholes.unary),
    (1, Wholes.least),
    (1, Wholes.chosen),
    (1, Wholes.either_true),
    (2, Wholes.walrus),
    (1, Wholes.of_bool),
    (1, Wholes.of_number),
    (1, Wholes.of_text),
    (2, Wholes.of_tuple),
    (2, Wholes.of_view),
    (1, Wholes.of_display),
    (4, Wholes.called),
    (2, Wholes.of_input),
    (1, Wholes.power),
    (1, Wholes.rounded),
)
