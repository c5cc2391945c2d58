"""Random nests as text whose sums, transposed reads and conditions threads of GPUs share."""

from __future__ import annotations

import random
from collections.abc import Callable

OPERATORS = ["+", "+", "+", "-", "*", "^", "&", "|", "min", "max"]
HEAD = (
    'def nest(a: Tensor[i64, "M", "N"], b: Tensor[i64, "N", "M"], c: Tensor[i64, "M", "N"],\n'
    '         y: Tensor[i64, "M"], z: Tensor[i64, "N"], q: int):\n'
)
ROWS = [
    "for i in range(M):", "for i in range(M):", "for i in range(M - 1, -1, -1):",
    "for i in range(0, M, 2):", "for i in range(1, M):", "for i in range(q, M):",
]  # fmt: skip
COLUMNS = [
    "for j in range(N):", "for j in range(N - 1, -1, -1):", "for j in range(1, N):",
    "for j in range(-2, N - 2):",
]  # fmt: skip
PLANES = [
    ["for i in range(M):", "    for j in range(N):"],
    ["for j in range(N):", "    for i in range(M):"],
    ["for i in range(1, M):", "    for j in range(N - 1, -1, -1):"],
    ["for i in range(0, M, 2):", "    for j in range(min(i + 1, N)):"],
    ["for i in range(M):", "    for j in range(i, N):"],
]


def _indented(lines: list[str], by: int = 1) -> list[str]:
    return ["    " * by + each for each in lines]


class Nests:
    """Makes one function's text.

    Args:
        seed: of its choices.
    """

    def __init__(self, seed: int) -> None:
        self.rng, self.names = random.Random(seed), 0

    def text(self) -> str:
        lines: list[str] = []
        for _ in range(self.rng.choice([1, 1, 2])):
            lines += self.rng.choice([self.rows, self.rows, self.columns, self.plane, self.whole])()
        return HEAD + "\n".join(_indented(lines)) + "\n"

    def fresh(self, letter: str) -> str:
        self.names += 1
        return f"{letter}{self.names}"

    # ---- expressions

    def element(self, i: str, j: str) -> str:
        rng = self.rng
        return rng.choice(
            [f"a[{i}, {j}]"] * 4
            + [f"b[{j}, {i}]"] * 3
            + [f"c[{i}, {j}]", f"y[{i}]", f"z[{j}]", i, "q"]
        )

    def pair(self, i: str, j: str) -> str:
        if self.rng.random() < 0.4:
            return self.element(i, j)
        return f"({self.element(i, j)} {self.rng.choice('+-*')} {self.element(i, j)})"

    def test(self, i: str, j: str) -> str:
        return self.rng.choice(
            [f"{j} % 2 == 0", f"{i} > {j}", f"{j} != 2", f"{self.pair(i, j)} > 3"]
        )

    def step(self, target: str, value: str) -> str:
        operator, choice = self.rng.choice(OPERATORS), self.rng.random()
        if operator in ("min", "max"):
            both = (target, value) if choice < 0.7 else (value, target)
            return f"{target} = {operator}({both[0]}, {both[1]})"
        if choice < 0.3 and operator != "-":
            return f"{target} = {target} {operator} {value}"
        return f"{target} {operator}= {value}"

    def guarded(self, line: str, other: Callable[[], str], i: str, j: str) -> list[str]:
        choice = self.rng.random()
        if choice < 0.7:
            return [line]
        more = ["else:", "    " + other()] if choice > 0.9 else []
        return [f"if {self.test(i, j)}:", "    " + line, *more]

    # ---- loops

    def rows(self) -> list[str]:
        return [self.rng.choice(ROWS), *_indented(self.sums("y[i]", "i", "j", "M", "N"))]

    def columns(self) -> list[str]:
        head, body = self.rng.choice(COLUMNS), self.sums("z[j]", "j", "i", "N", "M")
        if "-2" in head:
            body = ["if j >= 0:", *_indented(body)]
        return [head, *_indented(body)]

    def range(self, outer: str, own: str, other: str) -> str:
        return self.rng.choice(
            [f"range({other})"] * 5
            + [f"range(1, {other})", f"range({other} - 1, -1, -1)", f"range(0, {other}, 2)"]
            + [f"range(min({outer} + 1, {other}))", f"range({outer}, {other})"]
            + [f"range(q, {other})", f"range({other} - 1, 0, -3)", f"range({own} - 3, {other})"]
        )

    def sums(self, end: str, outer: str, inner: str, own: str, other: str) -> list[str]:
        """Sums of inner loops, and what reads them."""
        rng, names, lines = self.rng, list[str](), list[str]()
        i, j = (outer, inner) if outer == "i" else (inner, outer)
        for _ in range(rng.choice([1, 1, 2])):
            if rng.random() < 0.6:
                names.append(self.fresh("s"))
                lines.append(f"{names[-1]} = {rng.choice(['0', '1', 'q', end])}")
            elif end not in names:
                names.append(end)
        for _ in range(rng.choice([1, 1, 2])):
            head = self.range(outer, own, other)
            body = self.adders(names, i, j)
            if f"{own} - 3" in head:
                body = [f"if {inner} >= 0:", *_indented(body)]
            lines += [f"for {inner} in {head}:", *_indented(body)]
        if rng.random() < 0.7:
            lines.append(f"{end} {rng.choice(['=', '+='])} {' + '.join(names)}")
        if rng.random() < 0.4:
            target = rng.choice([f"c[{i}, {j}]", f"a[{i}, {j}]", f"b[{j}, {i}]"])
            lines.append(f"for {inner} in range({other}):")
            lines.append(f"    {target} = {self.element(i, j)} - {rng.choice(names)}")
        return lines

    def adders(self, names: list[str], i: str, j: str) -> list[str]:
        rng, lines, value = self.rng, list[str](), lambda: self.pair(i, j)
        if rng.random() < 0.25:
            own = self.fresh("w")
            lines.append(f"{own} = {self.pair(i, j)}")
            value = lambda: rng.choice([own, f"({own} + {self.element(i, j)})"])  # noqa: E731
        for name in rng.sample(names, rng.randint(1, len(names))):
            other = lambda name=name: self.step(name, value())  # noqa: E731
            lines += self.guarded(other(), other, i, j)
        if rng.random() < 0.15:
            target = rng.choice([f"c[{i}, {j}]", f"b[{j}, {i}]"])
            lines.append(f"{target} = {value()} + {rng.choice(names)}")
        return lines

    def plane(self) -> list[str]:
        rng, target = self.rng, self.rng.choice(["c[i, j]", "b[j, i]", "c[i, j]", "a[i, j]"])
        sign = rng.choice(["=", "+=", "="])
        line = f"{target} {sign} {self.pair('i', 'j')}"
        body = self.guarded(line, lambda: f"{target} = {self.pair('i', 'j')}", "i", "j")
        if rng.random() < 0.3:
            body.append(f"{rng.choice(['b[j, i]', 'c[i, j]'])} = {self.pair('i', 'j')}")
        return [*rng.choice(PLANES), *_indented(body, 2)]

    def whole(self) -> list[str]:
        rng, name = self.rng, self.fresh("s")
        return [
            f"{name} = {rng.choice(['0', '1', 'a[0, 0]'])}",
            *rng.choice(PLANES),
            *_indented([self.step(name, self.pair("i", "j"))], 2),
            f"{rng.choice(['y[0]', 'z[0]', 'c[0, 0]'])} = {name}",
        ]


def random_text(seed: int) -> str:
    """The text of a function ``nest`` of five arrays and a number q, from 0 to 3."""
    return Nests(seed).text()
