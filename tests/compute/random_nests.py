"""Random loop nests as text: integers modulo a prime, so that results are exact."""

from __future__ import annotations

import random
from dataclasses import dataclass

PRIME = 97
TENSORS = {"A": 2, "B": 2, "C": 2, "x": 1, "y": 1, "z": 1}
SIZE = 9
"""Extent of each axis; loops walk 2 to SIZE - 2, so that offsets of 2 stay inside."""


@dataclass
class Nests:
    """Makes one function's text."""

    rng: random.Random
    statements: int = 0
    variables: int = 0

    def text(self) -> str:
        kinds = {name: ", ".join(['"N"'] * rank) for name, rank in TENSORS.items()}
        arguments = ", ".join(f"{name}: Tensor[i64, {kind}]" for name, kind in kinds.items())
        body: list[str] = []
        for _ in range(self.rng.randint(1, 3)):
            body += self.loop([], 1)
        return "\n".join([f"def nest({arguments}, p: int):", *body]) + "\n"

    def loop(self, loops: list[str], depth: int) -> list[str]:
        rng, name = self.rng, "ijk"[len(loops)]
        low, high = "2", "N - 2"
        if loops and rng.random() < 0.4:
            other = rng.choice(loops)
            low, high = rng.choice([(other, high), (low, other), (low, f"{other} + 1")])
        head = f"range({low}, {high})"
        if rng.random() < 0.15 and low == "2" and high == "N - 2":
            head = "range(N - 3, 1, -1)"
        elif rng.random() < 0.1 and low == "2":
            head = f"range({low}, {high}, 2)"
        pad, lines = "    " * depth, [f"{'    ' * depth}for {name} in {head}:"]
        inner, known = [*loops, name], list[str]()
        for _ in range(rng.randint(1, 3)):
            self.statements += 1
            choice = rng.random()
            if len(inner) < 3 and choice < 0.4:
                lines += self.loop(inner, depth + 1)
            elif choice < 0.5:
                test = f"({self.value(inner, known)}) % 2 == 0"
                if rng.random() < 0.5:
                    test = f"{rng.choice(inner)} < {rng.choice([*inner, 'N - 4'])}"
                lines.append(f"{pad}    if {test}:")
                lines += self.branch(inner, known, depth + 2)
                if rng.random() < 0.4:
                    lines += [f"{pad}    else:", *self.branch(inner, known, depth + 2)]
            elif choice < 0.65:
                variable = f"t{self.variables}"
                self.variables += 1
                lines.append(f"{pad}    {variable} = {self.value(inner, known)}")
                known.append(variable)
            else:
                lines.append(f"{pad}    {self.assignment(inner, known)}")
        lines.append(f"{pad}    {self.assignment(inner, known)}")
        return lines

    def branch(self, loops: list[str], known: list[str], depth: int) -> list[str]:
        """Assignments, which may change what the condition has read, or another condition."""
        pad, rng = "    " * depth, self.rng
        lines = [
            f"{pad}{self.assignment(loops, known)}",
            f"{pad}{rng.choice(known)} = {self.value(loops, known)}" if known else "",
        ]
        if rng.random() < 0.3:
            lines += [f"{pad}if {self.value(loops, known)} > 40:"]
            lines += [f"{pad}    {self.assignment(loops, known)}" for _ in range(2)]
        return [each for each in lines if each]

    def index(self, loops: list[str]) -> str:
        rng = self.rng
        shift = rng.choice(["", "", "", " - 1", " + 1", " + 2", " - 2"])
        return rng.choice(loops) + shift if rng.random() < 0.93 else rng.choice(["0", "N - 1", "3"])

    def element(self, loops: list[str]) -> str:
        name = self.rng.choice([*TENSORS])
        return f"{name}[{', '.join(self.index(loops) for _ in range(TENSORS[name]))}]"

    def value(self, loops: list[str], known: list[str]) -> str:
        rng, parts = self.rng, list[str]()
        for _ in range(rng.randint(1, 3)):
            choice = rng.random()
            if known and choice < 0.3:
                parts.append(rng.choice(known))
            elif choice < 0.15:
                parts.append(rng.choice([*loops, "p", "3"]))
            else:
                parts.append(self.element(loops))
        text = parts[0]
        for each in parts[1:]:
            text = f"({text} {rng.choice('+-*+')} {each})"
        return f"{text} % {PRIME}"

    def assignment(self, loops: list[str], known: list[str]) -> str:
        target, value = self.element(loops), self.value(loops, known)
        if self.rng.random() < 0.3:
            return f"{target} += {value}"
        return f"{target} = {value}"


def random_text(seed: int) -> str:
    """The text of a function ``nest`` of the tensors and a number p."""
    return Nests(random.Random(seed)).text()
