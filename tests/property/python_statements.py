"""Random statements of plain Python's values: all kinds that the dialect has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from tests.property.python_assignments import ASSIGNMENTS, OF_VIEWS, Assignments
from tests.property.python_kinds import (
    INT,
    NUMBER,
    NUMBERS,
    RANGE,
    Environment,
    Kind,
    has_range,
    joined,
    meet,
    tuple_of,
)

Statement = Callable[[Any], bool | None]
"""Writes a statement; whether it leaves the block."""
Body = Callable[[], bool]
"""Writes statements; whether the last of them leaves the block."""


@dataclass
class Loop:
    """The variables before a loop and at each ``break`` and ``continue``; ``closed``: it has none
    of these."""

    before: Environment
    breaks: list[Environment] = field(default_factory=list)
    continues: list[Environment] = field(default_factory=list)
    closed: bool = False


@dataclass
class Statements(Assignments):
    """Writes statements.

    Attributes:
        budget: how many more may be written.
        loops: those that stand around, of this function.
        result: what the function returns, None where it returns nothing.
        early: it may return before its end.
    """

    budget: int = 0
    loops: list[Loop] = field(default_factory=list)
    result: Kind | None = None
    early: bool = True

    def statements(self, count: int) -> bool:
        """Whether their end is not reached."""
        for _ in range(count):
            if self.budget <= 0:
                return False
            self.budget -= 1
            if self.random.choice(self.kinds())(self):
                return True
        return False

    def kinds(self) -> list[Statement]:
        """What may be written here."""
        found = list(ASSIGNMENTS)
        if self.named("view"):
            found += [*OF_VIEWS, Statements.guarded]
        if self.depth < 5:
            found += _COMPOUND
        if self.loops and not self.loops[-1].closed:
            found += [Statements.leave_loop] * 2
        if self.early and self.depth > 1:
            found.append(Statements.leave_function)
        return found

    # ---- blocks

    def block(self, head: str, start: Environment, body: Body) -> Environment | None:
        """The variables at its end; None where that is not reached."""
        self.line(head)
        self.depth += 1
        self.env, count = dict(start), len(self.lines)
        ended = body()
        if len(self.lines) == count:
            self.line("pass")
        self.depth -= 1
        return None if ended else self.env

    def some(self) -> bool:
        return self.statements(self.random.randint(1, 3))

    def arrive(self, *ends: Environment | None) -> bool:
        """Go on where paths meet; whether none arrives."""
        met = meet(ends)
        self.env = met if met is not None else self.env
        return met is None

    def branch(self) -> bool:
        test = self.condition(2)
        start = self.env
        ends = [self.block(f"if {test}:", start, self.some)]
        while self.chance(0.3):
            self.env = dict(start)
            test = self.condition(1)
            start = self.env
            ends.append(self.block(f"elif {test}:", start, self.some))
        ends.append(self.block("else:", start, self.some) if self.chance(0.55) else start)
        return self.arrive(*ends)

    def guarded(self) -> bool:
        """An index whose sign is known by a condition that holds."""
        name, size, _ = self.sequence()
        found = [each for each in self.names(INT) if self.assignable(each, INT)]
        if not found:
            return False
        v, low = self.use(self.random.choice(found)), self.random.choice((-size, -1, 0, 1))
        high = self.random.randint(low + 1, size)
        shift = self.random.randint(-size - low, size - high)
        head = self.random.choice(_GUARDS).format(v=v, low=low, high=high, last=high - 1)
        step = self.random.choice((1, -1, -2))

        def body() -> bool:
            index = f"{v} + {shift}" if shift >= 0 else f"{v} - {-shift}"
            if head[0] == "w":
                self.line(f"{name}[{index}] = {name}[{index}] % 99 + 2")
                self.set(v, INT, str(step), "+=")
            elif self.chance(0.5):
                self.set(v, INT, str(shift), "+=")
                self.set(self.target(INT), INT, f"int({name}[{v}]) % 1013")
            else:
                self.line(f"{name}[{index}] = {name}[{index}] % 99 + 3")
            return False

        start = self.env
        return self.arrive(start, self.block(head, start, body))

    def match(self) -> bool:
        pair = self.chance(0.4)
        subject = f"{self.small(1)}, {self.small(1)} % 3" if pair else f"{self.small(1)} % 5"
        self.line(f"match {subject}:")
        self.depth += 1
        start, ends = self.env, []
        for _ in range(self.random.randint(1, 3)):
            self.env = dict(start)
            capture = self.target(INT, "c", 0.3)
            pattern = self.random.choice(_PAIRS if pair else _PATTERNS).format(capture)
            if capture in pattern:  # it stays assigned where the guard fails
                self.assign(capture, INT)
                start = meet([start, self.env]) or start
            # A pattern that always matches is the last one.
            if pattern == capture or self.chance(0.3):
                pattern += f" if {self.condition(1)}"
                start = meet([start, self.env]) or start
            ends.append(self.block(f"case {pattern}:", self.env, self.some))
        ends.append(self.block("case _:", start, self.some) if self.chance(0.5) else start)
        self.depth -= 1
        return self.arrive(*ends)

    # ---- loops

    def at_head(self) -> Environment:
        """The variables at the head of a loop, some of which change their kind in it or are not
        read before they are assigned again."""
        start: Environment = {}
        for name, variable in self.env.items():
            own = variable.level == self.level and not variable.fixed
            if own and self.chance(0.12):
                continue
            if own and variable.kind in NUMBERS and self.chance(0.15):
                if all(name not in p or p[name] == NUMBER for p in self.pins):
                    variable = replace(variable, kind=NUMBER)
            start[name] = variable
        return start

    def iterate(self, head: str, start: Environment, body: Body, runs: bool) -> bool:
        """Write a loop whose head is written; ``runs``: it has an iteration."""
        before, loop, made = self.env, Loop(self.env), set(self.own[-1])
        # Else an iteration of a loop around it may have left another kind of value.
        runs = runs and not self.pins
        self.loops.append(loop)
        self.pins.append({name: variable.kind for name, variable in start.items()})
        end = self.block(head, start, body)
        self.loops.pop()
        self.pins.pop()
        ended = meet([end, *loop.continues])
        if not runs:
            return self.after(loop, meet([before, ended]))

        def as_before(env: Environment) -> Environment:
            """The kinds of before, too: no compiler needs to know that the loop runs."""
            return {n: before.get(n, v) for n, v in env.items() if n in before or n not in made}

        if self.after(loop, ended and meet([ended, as_before(ended)])):  # nor that it returns
            self.env = dict(before)
            return False
        return self.arrive(self.env, as_before(self.env))

    def after(self, loop: Loop, ended: Environment | None) -> bool:
        for end in (*loop.breaks, *([] if ended is None else [ended])):
            for name in [n for n, v in end.items() if has_range(v.kind) and n not in loop.before]:
                del end[name]
                self.own[-1] = [each for each in self.own[-1] if each != name]
        if ended is not None and self.chance(0.25):
            ended = self.block("else:", ended, self.some)
        return self.arrive(ended, *loop.breaks)

    def while_(self) -> bool:
        count, limit = self.fresh("n"), self.random.randint(1, 5)
        self.set(count, INT, self.random.choice(("0", "-1")))
        before = self.env
        before[count] = replace(before[count], fixed=True)
        self.env = start = self.at_head()
        loop = Loop(before)
        self.loops.append(loop)
        self.pins.append({name: variable.kind for name, variable in start.items()})
        endless = self.chance(0.3)
        test = "True" if endless else f"{count} < {limit}"
        self.env = dict(start)
        if not endless and self.chance(0.5):
            if self.chance(0.5):
                test = f"{self.condition(1)} and {test}"
            else:
                test += f" and {self.maybe(self.condition, 1)}"
        tested = self.env

        def body() -> bool:
            self.line(f"{count} += 1")
            if endless:
                self.line(f"if {count} > {limit}: break")
                loop.breaks.append(dict(self.env))
            return self.some()

        end = self.block(f"while {test}:", tested, body)
        self.loops.pop()
        self.pins.pop()
        ended = None if endless else meet([before, end, *loop.continues])
        for name, variable in tested.items():
            if ended is not None and variable is not start.get(name):
                ended[name] = variable
        return self.after(loop, ended)

    def for_(self) -> bool:
        a, b = self.whole(1)[0], self.whole(1)[0]
        count, step = self.random.randint(0, 5), self.random.choice((2, 3))
        heads = (
            f"range({count})",
            f"range({a} % 4, {b} % 7)",
            f"range({a} % 7, {b} % 4, -1)",
            f"range({a} % 5, {b} % 11, {step})",
            f"range(5 + {a} % 2, {b} % 4 - 2, -{step})",
            f"range({a} % 9, {b} % 9, ({b} % 2) * 2 - 1)" if ":=" not in b else "range(3)",
            f"reversed(range({a} % 2 + {b} % 5))",
            f"range({a} % 3, 3 + {b} % 4)",
        )
        head = self.random.choice(heads)
        ranges = self.names(RANGE)
        if ranges and self.chance(0.3):
            head = self.read(ranges)
        if ":=" in a + b and not all(part in head for part in (a, b)):
            head = heads[1]
        runs = head in (heads[0], heads[-1]) and (count > 0 or head == heads[-1])
        start = self.at_head()
        if "l" in self.env and self.chance(0.08):
            target = f"{self.use('l')}[{self.random.randint(-8, 7)}]"
            return self.iterate(f"for {target} in {head}:", start, self.some, runs)
        name = self.target(INT, "j", 0.3)
        return self.iterate(f"for {name} in {head}:", start, lambda: self.bound(name), runs)

    def bound(self, *names: str, kind: Kind = INT) -> bool:
        for name in names:
            self.assign(name, kind)
        return self.some()

    def over_items(self) -> bool:
        """Over tuples and views, and what enumerate, zip and reversed make of them."""
        choice, size = (
            self.random.randint(0, 7 if self.named("view") else 3),
            self.random.randint(1, 3),
        )
        name, e = self.fresh("j"), self.fresh("e")
        both, names = f"{name}, {e}", (name, e)
        runs = True
        if choice > 3:
            items, size, _ = self.sequence()
            part = self.random.choice(("", "[1:]", "[::-1]", "[::2]", "[:2]", f"[{self.slice()}]"))
            items, runs = items + part, part in ("", "[::-1]", "[::2]", "[:2]")
        else:
            items = self.tuple(tuple_of(*[INT] * size))
        if choice in (0, 4):
            both, names = name, (name,)
        elif choice in (1, 5):
            items = f"enumerate({items}{self.random.choice(('', ', 2', ', -1'))})"
        elif choice == 2:
            items = f"zip({items}, {self.tuple(tuple_of(INT, INT))})"
        elif choice == 6:
            count = self.leaf()[0]
            items, runs = f"zip({items}, range({count} % 5))", False
        elif choice == 3:
            pairs = [self.tuple(tuple_of(INT, INT), 0) for _ in range(2)]
            items = f"({items}[0], {size}), {', '.join(pairs)}"
        elif self.chance(0.5):
            third = self.fresh("e")
            items = f"enumerate(zip({items}, {self.tuple(tuple_of(INT, INT, INT))}))"
            both, names = f"{name}, ({e}, {third})", (name, e, third)
        else:
            items, both, names = f"reversed({items})", name, (name,)
        return self.iterate(
            f"for {both} in {items}:", self.at_head(), lambda: self.bound(*names), runs
        )

    def over_kinds(self) -> bool:
        """Over a tuple of several kinds, of which each iteration has its own; nothing jumps out."""
        kinds = [self.choice_of_kind() for _ in range(self.random.randint(1, 3))]
        met: Kind | None = kinds[0]
        for kind in kinds[1:]:
            met = met and joined(met, kind)
        name, items = self.fresh("j"), self.tuple(tuple_of(*kinds), 1)

        def body() -> bool:
            self.loops[-1].closed = True
            return self.bound(name, kind=met) if met else self.some()

        return self.iterate(f"for {name} in {items}:", self.at_head(), body, True)

    def leave_loop(self) -> bool:
        word = self.random.choice(("break", "continue"))
        some = self.chance(0.7)
        if some:
            self.line(f"if {self.condition(1)}:")
        self.line(f"{'    ' * some}{word}")
        loop = self.loops[-1]
        (loop.breaks if word == "break" else loop.continues).append(dict(self.env))
        return not some

    def leave_function(self) -> bool:
        value = ""
        some = self.chance(0.8)
        if some:
            # No constant, with which what follows would not be reached.
            known = f"{self.use('x')}[0] < 99 and " if "x" in self.env else ""
            self.line(f"if {known}{self.condition(1)}:")
        if self.result is not None:
            before = dict(self.env)
            value = f" {self.returned()}"
            self.env = before if some else self.env
        self.line(f"{'    ' * some}return{value}")
        return not some

    def returned(self) -> str:
        assert self.result is not None
        if self.result != NUMBER:
            return self.value(self.result, 2)
        return self.small(1) if self.chance(0.3) else f"int(({self.number(2)}) % 64 * 16) / 16"


_PATTERNS = ("0", "2", "1 | 3", "0 | 2 | 4", "{}", "Level.LOW", "-1 | Level.HIGH")
_PAIRS = ("(0, {})", "(1, {})", "({}, 1 | 2)", "(_, 0)", "(Level.HIGH, 1)")
_GUARDS = (
    "if {low} <= {v} < {high}:",
    "if {v} >= {low} and {v} <= {last}:",
    "if not ({v} < {low} or {v} > {last}):",
    "if {high} > {v} and not {low} > {v}:",
    "if min({v}, {last}) == {v} and {v} == max({v}, {low}):",
    "while {low} <= {v} < {high}:",
    "while {v} >= {low} and {high} > {v}:",
)
_COMPOUND = (
    *[Statements.branch] * 5,
    *[Statements.for_] * 3,
    *[Statements.over_items] * 2,
    Statements.while_,
    Statements.match,
    Statements.over_kinds,
)
