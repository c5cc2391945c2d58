"""Random functions of plain Python's values, inside of others and beside them, and programs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from tests.property.python_kernels import BLOCK, Program
from tests.property.python_kinds import (
    INT,
    NUMBER,
    NUMBERS,
    TEXT,
    Function,
    Kind,
    Variable,
    has_range,
    tuple_of,
    view_of,
)
from tests.property.python_statements import Statement, Statements
from tests.property.python_values import CONSTANTS

RESULTS = 24
"""Numbers that each thread gives back of each part of a program."""
FUNCTIONS = """
@cuda.jit(device=True)
def tick(a):
    a[0] = (a[0] + 1) % 5
    return int(a[0]) % 3


@cuda.jit(device=True)
def folded(t, w=1):
    r = 0
    for e in t:
        if e == 13:
            return r, w
        r = (r * 3 + e) % 1009
    first, *rest = t
    for n, e in enumerate(rest):
        r += n * e % 100
    return (first, r) if r % 2 else (r, len(t))


@cuda.jit(device=True)
def walked(a, v):
    r = 0
    for j, e in enumerate(a):
        if e > v:
            a[j] = v % 50
        elif e == v:
            return j
        else:
            r += int(e) % 7
            continue
        r -= 1
    return r


@cuda.jit(device=True)
def filled(x, i, l, s, m, f):
    for z in range(4):
        l[z], l[z + 4], s[z], f[z] = x[z], x[z + 8], z * 3 % 5, z / 4
        m[0, z], m[1, z], m[2, z] = z * 3, i - z, z * z


@cuda.jit(device=True)
def told(o, i, l, s, m, f):
    for z in range(4):
        o[i, 20 + z] = l[z] * 2 + l[z + 4] + s[z] * 5 + f[z] + m[0, z] * 3 + m[1, z] * 7 + m[2, z]
"""
"""Functions that every program has: under several names, for tuples and views of several sizes."""
_WALKED = {"walked8": view_of(8), "walked4": view_of(4, "int32"), "walked3": view_of(3)}
_FOLDED = {f"folded{n}": tuple_of(*[INT] * n) for n in (1, 2, 3)}
ALIASES = f"""
{" = ".join(_WALKED)} = walked
{" = ".join(_FOLDED)} = folded"""


@dataclass
class Functions(Statements):
    """Writes functions.

    Attributes:
        total: how many there are.
        real_type: of floats in memory.
        recursive: some call themselves.
    """

    total: int = 0
    real_type: str = "float64"
    recursive: bool = True

    def kinds(self) -> list[Statement]:
        found = super().kinds()
        if self.depth < 4:
            found += [Functions.definition] * 2 + [Functions.lambda_, Functions.factory]
        return found

    def numbered(self, **facts: Any) -> Function:
        self.total += 1
        return Function("function", number=self.total, **facts)

    @contextmanager
    def inside(self, result: Kind | None, early: bool) -> Iterator[set[tuple[str, Kind, int]]]:
        """Write a function in this one; what it reads of those around it."""
        kept = self.env, self.loops, self.pins, self.result, self.early
        reads: set[tuple[str, Kind, int]] = set()
        self.env = dict(self.env)
        if early:
            self.env = {n: v for n, v in self.env.items() if v.level < 0}
        self.loops, self.pins, self.result, self.early = [], [], result, early
        self.level += 1
        self.reads.append(reads)
        self.own.append([])
        yield reads
        self.own.pop()
        self.reads.pop()
        self.level -= 1
        self.env, self.loops, self.pins, self.result, self.early = kept

    def result_kind(self) -> Kind:
        return self.random.choice((INT, INT, INT, NUMBER, tuple_of(INT, INT), TEXT))

    def parameters(self, count: int) -> tuple[list[str], tuple[Kind, ...]]:
        """Names, some of which hide variables, and kinds."""
        names = [self.fresh("p") for _ in range(count)]
        around = self.names(INT)
        if names and around and self.chance(0.3):
            names[0] = self.random.choice(around)
        return names, tuple([self.passed_kind() for _ in names])

    def passed_kind(self) -> Kind:
        """What device functions take: no ranges."""
        kind = self.choice_of_kind()
        return INT if has_range(kind) else kind

    def definition(self) -> None:
        name, early = self.fresh("h"), self.chance(0.3)
        names, kinds = self.parameters(self.random.randint(0, 3))
        # One that may return early is compiled by itself, so its defaults are constants.
        heads, optional = list(names), self.random.randint(0, min(1, len(names))) * (not early)
        if optional:
            heads[-1] += f"={self.value(kinds[-1], 1)}"
            if self.chance(0.3):
                heads.insert(-1, "*")
        result = self.result_kind()
        self.line(f"def {name}({', '.join(heads)}):")
        self.depth += 1
        with self.inside(result, early) as reads:
            for hidden in self.names(*NUMBERS):
                if hidden not in names and self.chance(0.1):
                    del self.env[hidden]
                    self.own[-1].append(hidden)
            for param, kind in zip(names, kinds, strict=True):
                self.assign(param, kind)
            if self.depth > 3 or not self.statements(self.random.randint(0, 3)):
                self.line(f"return {self.returned()}")
        self.depth -= 1
        function = self.numbered(
            params=kinds,
            names=tuple(names),
            optional=optional,
            result=result,
            reads=frozenset(reads),
        )
        self.assign(name, replace(function, only_named="*" in heads))

    def lambda_(self) -> None:
        names, kinds = self.parameters(self.random.randint(0, 2))
        result = self.result_kind()
        with self.inside(result, False) as reads:
            for param, kind in zip(names, kinds, strict=True):
                self.assign(param, kind)
            text = self.returned()
        name = self.fresh("h")
        self.line(f"{name} = lambda {', '.join(names)}: {text}")
        self.assign(name, self.numbered(params=kinds, result=result, reads=frozenset(reads)))

    def factory(self) -> None:
        """A function that returns one, which keeps what it reads of it."""
        name, made, a, b = (self.fresh(hint) for hint in ("h", "h", "p", "p"))
        given = self.small(1)
        with self.inside(INT, False) as reads:
            self.assign(a, INT)
            with self.inside(INT, False):
                self.assign(b, INT)
                text = self.returned()
        self.line(f"def {name}({a}):")
        self.line(f"    return lambda {b}: {text}")
        self.line(f"{made} = {name}({given})")
        self.assign(name, self.numbered(params=(INT,), result=Kind("function")))
        self.assign(made, self.numbered(params=(INT,), result=INT, reads=frozenset(reads)))

    # ---- whole programs

    def known(self) -> None:
        """The functions that every program has."""
        pair = tuple_of(INT, INT)
        for name, kind in _WALKED.items():
            self.env[name] = Variable(self.numbered(params=(kind, INT)), -1)
        for name, kind in _FOLDED.items():
            facts = {"params": (kind, INT), "names": ("t", "w"), "optional": 1, "result": pair}
            self.env[name] = Variable(self.numbered(**facts), -1)

    def device_function(self, number: int) -> None:
        """A function beside the others, which may call itself."""
        name, result = f"f{number}", self.result_kind()
        kinds = tuple([self.passed_kind() for _ in range(self.random.randint(0, 2))])
        names = ("a", *[f"a{n}" for n in range(len(kinds))])
        self.depth, self.level = 0, 0
        globals_ = dict(self.env)
        self.lines += ["", "", "@cuda.jit(device=True)"]
        optional = self.random.choice(("", "", ", q=2", ", q=None", ", *rest"))
        self.line(f"def {name}({', '.join(names)}{optional}):")
        self.depth, self.result, self.early, self.own = 1, result, True, [[]]
        more = [INT] * self.random.randint(0, 3) if optional == ", *rest" else []
        params = (INT, *kinds, *([INT] if "q" in optional else []))
        names = (*names, *(["q"] if "q" in optional else []))
        for param, kind in zip(names, params, strict=True):
            self.assign(param, kind)
        recursive = self.recursive and result == INT and self.chance(0.3)
        self.env["a"] = replace(self.env["a"], fixed=recursive)  # which ends it
        if "*" in optional:
            self.assign("rest", tuple_of(*more))
        if "None" in optional:
            self.without_none()
        if recursive:
            self.recursion(name, kinds, ["*rest"] if "*" in optional else [])
        elif not self.statements(self.random.randint(1, 4)):
            self.line(f"return {self.returned()}")
        named = {"names": names} if "*" not in optional else {}
        optional = int("q" in optional)
        function = self.numbered(params=(*params, *more), optional=optional, result=result, **named)
        self.env = globals_ | {name: Variable(function, -1)}

    def without_none(self) -> None:
        """Give the last parameter a value where the call gave none."""
        form = self.random.choice(("if q is None: q = {}", "q = {} if q is None else q"))
        del self.env["q"]
        self.line(form.format(self.maybe(self.small, 1)))
        self.assign("q", INT)

    def recursion(self, name: str, kinds: tuple[Kind, ...], rest: list[str]) -> None:
        self.line("if a <= 0 or a > 6:")
        self.line(f"    return {self.maybe(self.small, 1)}")
        given = ", ".join(["a - 1", *[self.value(kind, 1) for kind in kinds], *rest])
        self.line(f"return ({name}({given}) + {self.small(1)}) % 1009")

    def part(self, name: str, budget: int) -> None:
        """A function that writes the values of its variables to a row of ``o``."""
        globals_ = dict(self.env)
        self.depth, self.budget = 0, budget
        self.lines += ["", "", "@cuda.jit(device=True)"]
        self.line(f"def {name}(x, y, o, i, u, g):")
        self.depth, self.result, self.early, self.own = 1, None, self.chance(0.2), [[]]
        self.line("l = cuda.local.array(8, np.int64)")
        self.line("s = cuda.local.array(4, np.int32)")
        self.line("m = cuda.local.array((3, 4), np.int64)")
        self.line(f"f = cuda.local.array(4, np.{self.real_type})")
        self.line("filled(x, i, l, s, m, f)")
        for array, kind in (("l", view_of(8)), ("s", view_of(4, "int32"))):
            self.env[array] = Variable(kind, 0, True)
        for array in ("m", "f", "x", "y"):
            self.env[array] = Variable(Kind(f"array {array}"), 0, True)
        self.assign("u", INT)
        self.assign("g", NUMBER)
        self.env["i"] = Variable(INT, 0, True)
        if not self.statements(8):
            self.give_back()
        self.env = globals_

    def give_back(self) -> None:
        texts = [*self.names(*NUMBERS), *[f"len({name})" for name in self.names(TEXT)]]
        tuples = [name for name in self.named("tuple") if self.env[name].kind.items]
        for name in tuples:
            items = self.env[name].kind.items
            texts += [f"{name}[{n}]" for n, item in enumerate(items) if item in NUMBERS]
        views = [f"sum({name})" for name in self.named("view") if name not in ("l", "s")]
        texts = texts[: RESULTS - 7] + views[:3]
        self.line("told(o, i, l, s, m, f)")
        for number, text in enumerate(texts[:RESULTS]):
            self.line(f"o[i, {number}] = {text} + 0")  # of which either zero is 0


@dataclass
class Parts(Program):
    """A program of several parts, each of which has its own results."""

    count: int = 1
    real: str = "float64"

    def arrays(self, seed: int) -> list[np.ndarray]:
        numbers = np.random.default_rng(seed)
        x = numbers.integers(-20, 60, BLOCK)
        y = (numbers.integers(-64, 64, BLOCK) / 4).astype(self.real)
        return [x, y, np.full((self.count, BLOCK, RESULTS), -5.5, self.real)]


def random_statements(
    seed: int, count: int, real: str = "float64", recursive: bool = True, budget: int = 5
) -> Parts:
    """The program of a seed, in parts of so many statements each.

    Args:
        real: the type of floats in memory.
        recursive: some functions call themselves.
    """
    writer = Functions(random.Random(seed), real_type=real, recursive=recursive)
    writer.lines += [CONSTANTS, FUNCTIONS, ALIASES]
    writer.known()
    for number in range(count):
        writer.budget = 4
        if number % 2 == 0:
            writer.device_function(number)
        writer.part(f"part{number}", budget)
    writer.lines += ["", "", "@cuda.jit(OPTIONS)", "def k(x, y, o):", "    i = cuda.grid(1)"]
    for number in range(count):
        writer.lines.append(f"    part{number}(x, y, o[{number}], i, int(x[i]), float(y[i]))")
    return Parts("\n".join(writer.lines) + "\n", (), 1, count, real)
