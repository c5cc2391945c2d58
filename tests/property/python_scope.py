"""The variables that a random program may read and assign on its way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.property.python_kinds import (
    NUMBERS,
    Environment,
    Function,
    Kind,
    Variable,
    has_range,
    holds,
    meet,
)
from tests.property.python_text import Text


@dataclass
class Scope(Text):
    """Knows the variables.

    Attributes:
        env: the variables that have a value here.
        level: how many functions stand around.
        reads: (name, kind, level) of outer variables that each function around reads.
        pins: for each loop around the kinds that its variables have at its head.
        own: for each function around the names that were ever made in it.
    """

    env: Environment = field(default_factory=dict)
    level: int = 0
    reads: list[set[tuple[str, Kind, int]]] = field(default_factory=list)
    pins: list[dict[str, Kind]] = field(default_factory=list)
    own: list[list[str]] = field(default_factory=lambda: [[]])

    def names(self, *kinds: Kind) -> list[str]:
        return [name for name, variable in self.env.items() if variable.kind in kinds]

    def named(self, kind: str) -> list[str]:
        """Variables of a kind by its name."""
        return [name for name, variable in self.env.items() if variable.kind.name == kind]

    def use(self, name: str) -> str:
        """A variable to be read."""
        variable = self.env[name]
        for level, reads in enumerate(self.reads, 1):
            if variable.level < level:
                reads.add((name, variable.kind, variable.level))
                if isinstance(variable.kind, Function):
                    reads.update(each for each in variable.kind.reads if each[2] < level)
        return name

    def read(self, names: list[str]) -> str:
        return self.use(self.random.choice(names))

    def assignable(self, name: str, kind: Kind) -> bool:
        """Whether a value may be assigned to a variable, or to a name that has no value yet."""
        variable = self.env.get(name)
        if variable is not None and (variable.fixed or variable.level < self.level):
            return False
        if self.pins and (has_range(kind) or (variable and has_range(variable.kind))):
            return variable is None and all(name not in pins for pins in self.pins)
        return all(name not in pins or holds(pins[name], kind) for pins in self.pins)

    def target(self, kind: Kind, hint: str = "v", old: float = 0.65) -> str:
        """The variable for a value; ``assign`` tells of it."""
        like = NUMBERS if kind in NUMBERS else {kind}
        found = [n for n in self.env if self.env[n].kind in like and self.assignable(n, kind)]
        if not found or not self.chance(old):
            lost = [n for n in self.own[-1] if n not in self.env and self.assignable(n, kind)]
            return self.random.choice(lost) if lost and self.chance(0.15) else self.fresh(hint)
        return self.random.choice(found)

    def assign(self, name: str, kind: Kind) -> None:
        self.env[name] = Variable(kind, self.level)
        if name not in self.own[-1]:
            self.own[-1].append(name)

    def merge(self, *ends: Environment) -> None:
        """Go on where paths meet that all arrive."""
        met = meet(ends)
        assert met is not None
        self.env = met

    def maybe(self, write: Any, *args: Any) -> Any:
        """Write something that is not always evaluated."""
        before = dict(self.env)
        found = write(*args)
        self.merge(before, self.env)
        return found
