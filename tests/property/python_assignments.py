"""Random assignments of plain Python's values, to variables, items and slices."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.property.python_kinds import (
    INT,
    LIST,
    NUMBER,
    NUMBERS,
    Kind,
    tuple_of,
    view_of,
)
from tests.property.python_values import Values
from tests.property.python_wholes import SLICES


@dataclass
class Assignments(Values):
    """Writes assignments."""

    def set(self, name: str, kind: Kind, text: str, symbol: str = "=") -> None:
        self.line(f"{name} {symbol} {text}")
        self.assign(name, kind)

    def assignment(self) -> None:
        kind = self.choice_of_kind()
        text = self.value(kind, 3)
        if kind == NUMBER:  # few digits, so that no device rounds
            text = f"int(({text}) % 512 * 16) / 16" if self.chance(0.8) else f"({text}) % 64"
        self.set(self.target(kind), kind, text)

    def another_kind(self) -> None:
        """A variable that gets a value of another kind than it had."""
        kind = self.choice_of_kind()
        found = [name for name in self.env if self.assignable(name, kind)]
        if found:
            self.set(self.random.choice(found), kind, self.value(kind, 1))

    def unpacking(self) -> None:
        kind = self.tuple_kind()
        for _ in range(3):
            if not kind.items:
                kind = self.tuple_kind()
        if not kind.items:
            return
        text = self.tuple(kind, 2)
        taken: list[str] = []
        names = self.targets(kind, taken)
        self.line(f"{names} = {text}")

    def targets(self, kind: Kind, taken: list[str], outer: bool = False) -> str:
        """Targets of a tuple's items, one of them starred at times; those are assigned."""
        items = list(kind.items)
        star = self.random.randrange(len(items)) if self.chance(0.3) and len(items) > 1 else None
        texts: list[str] = []
        while items:
            item = items.pop(0)
            if star is not None and len(texts) == star:
                many = self.random.randint(0, len(items) + 1)
                rest, items = tuple_of(*[item, *items][:many]), [item, *items][many:]
                texts.append("*" + self.new_target(replace(rest, fields=LIST), taken))
            elif item.name == "tuple" and item.items and self.chance(0.6):
                texts.append(self.targets(item, taken, True))
            else:
                texts.append(self.new_target(item, taken))
        text = ", ".join(texts) + ("," if len(texts) == 1 else "")
        return f"({text})" if outer else text

    def new_target(self, kind: Kind, taken: list[str]) -> str:
        if kind == INT and self.named("view") and self.chance(0.15):
            view, size, _ = self.sequence()
            return f"{view}[{self.index(size, 0)}]"
        name = self.target(kind)
        if name in taken:
            name = self.fresh("v")
        taken.append(name)
        self.assign(name, kind)
        return name

    def swap(self) -> None:
        found = [name for name in self.names(INT) if self.assignable(name, INT)]
        if self.named("view") and self.chance(0.4):
            name, size, *_ = self.sequence()
            i, j = self.index(size, 0), self.index(size, 0)
            self.line(f"{name}[{i}], {name}[{j}] = {name}[{j}], {name}[{i}]")
            return
        if len(found) < 3:
            return
        a, b, c = self.random.sample(found, 3)
        forms = (
            f"{a}, {b} = {b}, {a}",
            f"{a}, {b}, {c} = {c}, {a}, {b}",
            f"{a}, {b} = {b}, {c} % 7",
        )
        self.line(self.random.choice(forms))

    def several_targets(self) -> None:
        text = self.small(2)
        a = self.target(INT)
        self.assign(a, INT)
        if self.named("view") and self.chance(0.5):
            name, size, *_ = self.sequence()
            self.line(f"{a} = {name}[{a} % {size}] = {text}")
            return
        b = self.target(INT)
        self.assign(b, INT)
        self.line(f"{a} = {b} = {text}")

    def in_place(self) -> None:
        found = [name for name in self.names(INT) if self.assignable(name, INT)]
        if not found:
            return
        name, symbol = self.random.choice(found), self.random.choice(_IN_PLACE)
        text = self.small(1)
        text = {"//": f"abs({text}) + 1", "%": f"abs({text}) + 1"}.get(symbol, text)
        text = f"{text} & 7" if symbol in ("<<", ">>") else text
        self.line(f"{name} {symbol}= {text}")
        self.set(name, INT, self.random.choice(("101", "1013", "-89")), "%=")

    def in_place_number(self) -> None:
        """Of a variable that may become a float, and of tuples, which grow."""
        found = [n for n in self.names(*NUMBERS) if self.assignable(n, NUMBER)]
        kinds = [tuple_of(*[INT] * n) for n in range(1, 6)]
        tuples = self.names(*kinds)
        if found and (not tuples or self.chance(0.6)):
            name = self.random.choice(found)
            self.line(
                f"{name} {self.random.choice('+-')}= {self.random.choice(('0.5', '1.25', '2'))}"
            )
            self.set(name, NUMBER, "64.0", "%=")
        elif tuples:
            name = self.random.choice(tuples)
            kind = tuple_of(*self.env[name].kind.items, INT)
            if self.assignable(name, kind):
                self.set(name, kind, f"({self.small(0)},)", "+=")

    def sequence(self) -> tuple[str, int, str]:
        """(view, size, dtype) of one to store to."""
        name = self.random.choice(self.named("view"))
        kind = self.env[name].kind
        return self.use(name), kind.size, kind.element

    def item(self) -> None:
        """A store to an item; the value comes first, then the targets from left to right."""
        name, size, _ = self.sequence()
        choice = self.random.randint(0, 5)
        if choice == 0:
            text = self.small(2)
            self.line(f"{name}[{self.index(size, 2)}] = {text}")
        elif choice == 1:
            symbol = self.random.choice(("+", "-", "^", "|"))
            self.line(f"{name}[tick({name}) % {size}] {symbol}= {self.small(2)} % 100")
        elif choice == 2:
            symbol = self.random.choice(("+", "-", "^"))
            index = self.index(size, 2)
            self.line(f"{name}[{index}] {symbol}= {self.small(1)} % 64")
        elif choice == 3:
            text = self.small(2)
            self.line(f"{name}[::-1][{self.index(size, 1)}] = {text}")
        elif choice == 4:
            index = self.walrus(1)[0]
            self.line(f"{name}[{index} % {size}] += {self.small(1)} % 50")
        else:
            value = self.tuple(tuple_of(INT, INT), 1)
            index = self.index(size, 1)
            target = self.target(INT)
            self.assign(target, INT)
            self.line(f"{name}[{index}], {target} = {value}")

    def part(self) -> None:
        name, size, _ = self.sequence()
        part = self.random.choice(SLICES)
        count = len(range(size)[slice(*[int(n) if n else None for n in part.split(":")])])
        if self.chance(0.4) and 0 < count < 5:
            self.line(f"{name}[{part}] = {self.tuple(tuple_of(*[INT] * count), 1)}")
        elif self.chance(0.5):
            text = self.small(1)
            self.line(f"{name}[{part if self.chance(0.6) else self.slice()}] = {text}")
        else:
            name, size = self.random.choice((("l", 8), ("s", 4)))
            if name in self.env and self.env[name].kind.size == size:
                self.use(name)
                a, b = self.random.choice((("1:", ":-1"), (":-1", "1:"), ("::2", "1::2")))
                self.line(f"{name}[{a}] = {name}[{b}]")

    def view(self) -> None:
        """A variable that is a part of an array."""
        name, size, element = self.sequence()
        part = self.random.choice(SLICES)
        count = len(range(size)[slice(*[int(n) if n else None for n in part.split(":")])])
        if self.chance(0.3) and "m" in self.env:
            part = self.random.choice(
                ("0", "1", "-1", ":, 1", ":, -1", ":, ::2", "1, ::-1", "1, 1:")
            )
            sizes = {"0": 4, "1": 4, "-1": 4, ":, 1": 3, ":, -1": 3, "1, ::-1": 4, "1, 1:": 3}
            if part in sizes:
                name, element, count = self.use("m"), "int64", sizes[part]
            else:
                return
        if count:
            kind = view_of(count, element)
            self.set(self.target(kind, "a"), kind, f"{name}[{part}]")

    def matrix(self) -> None:
        """An element or a row of the matrix."""
        if "m" not in self.env:
            return
        self.use("m")
        row, column = self.index(3, 0), self.index(4, 0)
        forms = ("m[{}, {}]", "m[{}][{}]", "m.T[{1}, {0}]")
        place = self.random.choice(forms).format(row, column)
        if self.chance(0.5):
            self.line(f"{place} = {self.small(0)}")
        else:
            self.set(self.target(INT), INT, f"int({place}) % 1013")

    def real(self) -> None:
        """An item of the array of floats."""
        if "f" in self.env:
            name = self.use("f")
            if self.chance(0.5):
                index = self.index(4, 1)
                self.line(f"{name}[{index}] += {self.random.choice(('0.5', '1', 'GI', '-2.25'))}")
                self.line(f"{name}[{self.index(4, 0)}] %= 64")
            else:
                number = self.random.choice(("sum({})", "max({})", "{}.min()", "{}[1:].sum()"))
                self.set(self.target(NUMBER), NUMBER, f"{number.format(name)} % 512")

    def checked(self) -> None:
        self.line(f"assert {self.small(1)} > -9999999, 'never'")


_IN_PLACE = ("+", "-", "*", "//", "%", "&", "|", "^", ">>", "<<")
ASSIGNMENTS = (
    *[Assignments.assignment] * 7,
    *[Assignments.unpacking, Assignments.in_place] * 2,
    Assignments.another_kind,
    Assignments.swap,
    Assignments.several_targets,
    Assignments.in_place_number,
    Assignments.checked,
)
OF_VIEWS = (
    *[Assignments.item] * 3,
    Assignments.part,
    Assignments.view,
    Assignments.matrix,
    Assignments.real,
)
