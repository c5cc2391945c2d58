"""Random kernels as Python source, for the devices and for plain Python.

Every expression says its type by a cast, so that no rule of typing is needed to know the answer:
the text means the same under numba's rules and under numpy's. Floats stay finite and whole or
halves of small size, so that no order of rounding matters.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
from tests.property.python_text import Text

BLOCK, GRID = 16, 2
THREADS = BLOCK * GRID
SLOTS = 6
"""Variables of each type that a thread gives back."""
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
ATOMICS = {
    "int32": ("add", "min", "max", "and_", "or_", "xor"),
    "uint32": ("add", "min", "max", "and_", "or_", "xor"),
}


@dataclass
class Program:
    """A program.

    Attributes:
        source: Python's text, of the kernel ``k`` and what it calls.
        types: of its arrays: for each an input, then an output, then the arrays of atomics.
        grid: the number of its blocks.
    """

    source: str
    types: tuple[str, ...]
    grid: int = GRID

    def arrays(self, seed: int) -> list[np.ndarray]:
        """The kernel's arguments."""
        numbers = np.random.default_rng(seed)
        inputs = [_values(numbers, name, THREADS) for name in self.types]
        outputs = [np.zeros(THREADS * SLOTS, name) for name in self.types]
        return [*inputs, *outputs, *(np.zeros(8, name) for name in ATOMICS)]


def _values(numbers: np.random.Generator, name: str, count: int) -> np.ndarray:
    if "float" in name:
        return (numbers.integers(-64, 64, count) / 2).astype(name)
    info = np.iinfo(name)
    values = numbers.integers(info.min, info.max, count, name, endpoint=True)
    edges = np.array([info.min, info.max, 0, 1], name)
    return np.where(numbers.random(count) < 0.3, numbers.choice(edges, count), values)


def random_kernel(seed: int, types: tuple[str, ...]) -> Program:
    """The program of a seed, with variables of the types that are named."""
    return _Writer(random.Random(seed), types).program()


@dataclass
class _Writer(Text):
    """Writes one program.

    Attributes:
        variables: names by type, of those that have a value.
        loops: how many loops stand around.
        functions: (name, type) of device functions, of two arguments.
        inside: writing a device function.
    """

    types: tuple[str, ...]
    variables: dict[str, list[str]] = field(default_factory=dict)
    loops: int = 0
    functions: list[tuple[str, str]] = field(default_factory=list)
    inside: str = ""
    has_local: bool = False

    # ---- the whole

    def program(self) -> Program:
        for _ in range(self.random.randint(0, 2)):
            self.function()
        self.variables = {name: [f"v_{name}"] for name in self.types}
        names = [f"{kind}_{name}" for kind in "xo" for name in self.types]
        head = f"def k({', '.join([*names, *(f'a_{name}' for name in ATOMICS)])}):"
        self.lines += ["@cuda.jit(OPTIONS)", head]
        self.line("i = cuda.grid(1)")
        self.line("t = cuda.threadIdx.x")
        shared = self.random.choice(self.types)
        self.line(f"s = cuda.shared.array({BLOCK}, np.{shared})")
        self.line("l = cuda.local.array(4, np.int32)")
        self.has_local = True
        for n in range(4):
            self.line(f"l[{n}] = np.int32({n} - i)")
        for name in self.types:
            self.line(f"v_{name} = np.{name}(x_{name}[i])")
        for _ in range(self.random.randint(1, 3)):
            self.statements(self.random.randint(1, 2))
            if self.random.random() < 0.6:
                self.exchange(shared)
        for name in ATOMICS:
            if name in self.types and self.random.random() < 0.5:
                self.atomic(name)
        if self.random.random() < 0.3:
            self.line(f"if {self.condition(1)}:")
            self.line("    return")
        self.give_back()
        return Program("\n".join(self.lines) + "\n", self.types)

    def function(self) -> None:
        """A device function of two arguments of its own type, which may return early."""
        name, self.inside = f"f{len(self.functions)}", self.random.choice(self.types)
        self.variables = {self.inside: ["a", "b"]}
        self.lines += ["@cuda.jit(device=True)", f"def {name}(a, b):"]
        self.statements(self.random.randint(1, 2))
        self.line(f"return {self.expression(self.inside, 2)}")
        self.lines.append("")
        self.functions.append((name, self.inside))
        self.inside = ""

    def exchange(self, shared: str) -> None:
        """A step in shared memory; every thread comes to its barriers."""
        self.line(f"s[t] = {self.expression(shared, 2)}")
        self.line("cuda.syncthreads()")
        target = self.variable(shared)
        self.line(f"{target} = np.{shared}(s[(t + {self.random.randint(1, 15)}) % {BLOCK}])")
        self.line("cuda.syncthreads()")

    def atomic(self, name: str) -> None:
        op = self.random.choice(ATOMICS[name])
        self.line(f"if {self.condition(1)}:")
        # One operation for all places: of different ones the order would matter.
        place, value = self.index("int32", 7), self.expression(name, 2)
        self.line(f"    cuda.atomic.{op}(a_{name}, {place}, {value})")

    def give_back(self) -> None:
        for name in self.types:
            for n, variable in enumerate(self.variables[name][:SLOTS]):
                self.line(f"o_{name}[i * {SLOTS} + {n}] = {variable}")

    # ---- statements

    def statements(self, count: int) -> None:
        for _ in range(count):
            self.statement()

    def statement(self) -> None:
        kinds = [self.assign] * 4
        if self.depth < 4:
            kinds += [self.branch, self.branch, self.count_up, self.go_on_while, self.pair]
        if self.loops:
            kinds.append(self.leave_loop)
        if self.inside:
            kinds.append(self.leave_function)
        if self.has_local:
            kinds.append(self.local)
        self.random.choice(kinds)()

    def variable(self, name: str) -> str:
        """One to assign to: a new one only where all paths come by."""
        found = self.variables[name]
        if self.depth == 1 and len(found) < SLOTS and self.random.random() < 0.4:
            made = self.fresh("w")
            found.append(made)
            return made
        return self.random.choice(found)

    def assign(self) -> None:
        name = self.random.choice(list(self.variables))
        text = self.expression(name, 3)
        self.line(f"{self.variable(name)} = {text}")

    def pair(self) -> None:
        """Tuples: swapped, or built and indexed."""
        name = self.random.choice(list(self.variables))
        one, other = (self.random.choice(self.variables[name]) for _ in range(2))
        if self.random.random() < 0.5:
            self.line(f"{one}, {other} = {self.expression(name, 2)}, {self.expression(name, 1)}")
            return
        made = self.fresh("p")
        self.line(f"{made} = ({self.expression(name, 1)}, {self.expression(name, 2)})")
        self.line(f"{one} = {made}[{self.random.randint(0, 1)}]")

    def local(self) -> None:
        place = self.index("int32", 3)
        if self.random.random() < 0.5 or "int32" not in self.variables:
            self.line(f"l[{place}] = np.int32({self.index('int32', 255)})")
        else:
            self.line(f"{self.random.choice(self.variables['int32'])} = np.int32(l[{place}])")

    def block(self, head: str) -> None:
        self.line(head)
        self.depth += 1
        self.statements(self.random.randint(1, 2))
        self.depth -= 1

    def branch(self) -> None:
        self.block(f"if {self.condition(2)}:")
        if self.random.random() < 0.3:
            self.block(f"elif {self.condition(1)}:")
        if self.random.random() < 0.5:
            self.block("else:")

    def count_up(self) -> None:
        self.loops += 1
        self.block(f"for {self.fresh('j')} in range({self.random.randint(1, 5)}):")
        self.loops -= 1

    def go_on_while(self) -> None:
        count = self.fresh("n")
        self.line(f"{count} = np.int32(0)")
        self.line(f"while {count} < np.int32({self.random.randint(1, 4)}):")
        self.depth += 1
        self.line(f"{count} = np.int32({count} + np.int32(1))")
        self.loops += 1
        self.statements(self.random.randint(1, 2))
        self.loops -= 1
        self.depth -= 1

    def leave_loop(self) -> None:
        self.line(f"if {self.condition(1)}:")
        self.line(f"    {self.random.choice(['break', 'continue'])}")

    def leave_function(self) -> None:
        self.line(f"if {self.condition(1)}:")
        self.line(f"    return {self.expression(self.inside, 1)}")

    # ---- expressions

    def condition(self, depth: int) -> str:
        chance = self.random.random()
        if depth and chance < 0.25:
            word = self.random.choice(["and", "or"])
            return f"({self.condition(depth - 1)} {word} {self.condition(depth - 1)})"
        if depth and chance < 0.35:
            return f"(not {self.condition(depth - 1)})"
        name = self.random.choice(list(self.variables))
        symbol = self.random.choice(["<", "<=", ">", ">=", "==", "!="])
        return f"({self.expression(name, depth)} {symbol} {self.expression(name, depth)})"

    def index(self, name: str, mask: int) -> str:
        """A whole number from 0 to a mask."""
        if name in self.variables:
            return f"np.int64({self.expression(name, 1)} & np.{name}({mask}))"
        return f"np.int64(i & {mask})" if not self.inside else "np.int64(0)"

    def expression(self, name: str, depth: int) -> str:
        if depth <= 0 or self.random.random() < 0.2:
            return self.leaf(name)
        calls = [f for f, type_ in self.functions if type_ == name]
        if calls and not self.inside and self.random.random() < 0.25:
            a, b = self.expression(name, 1), self.expression(name, 1)
            return f"np.{name}({self.random.choice(calls)}({a}, {b}))"
        if self.random.random() < 0.1:
            yes, no = self.expression(name, depth - 1), self.expression(name, depth - 1)
            return f"({yes} if {self.condition(0)} else {no})"
        made = self.real if "float" in name else self.whole
        return f"np.{name}({made(name, depth - 1)})"

    def leaf(self, name: str) -> str:
        if self.random.random() < 0.75:
            return self.random.choice(self.variables[name])
        if "float" in name:
            return f"np.{name}({self.random.randint(-16, 16) / 2})"
        info = np.iinfo(name)
        small = self.random.randint(max(info.min, -9), 99)
        return f"np.{name}({self.random.choice([small, small, info.max, info.min])})"

    def whole(self, name: str, depth: int) -> str:
        """An integer of any width, whose cast makes it one of the type."""
        a, b = self.expression(name, depth), self.expression(name, depth)
        bits = np.iinfo(name).bits
        divisor = f"np.{name}({self.random.choice([1, 2, 3, 7, 10, 16, 100])})"
        amount = f"np.{name}({self.random.randint(0, bits - 1)})"
        mask = self.random.choice([0x7F, 0x0F, 3, np.iinfo(name).max, np.iinfo(name).max >> 3])
        others = ~mask & ((1 << bits) - 1) if name[0] == "u" else ~mask
        forms = [
            *(f"{a} {symbol} {b}" for symbol in ("+", "-", "*", "&", "|", "^")),
            f"({a} & np.{name}({mask})) | ({b} & np.{name}({others}))",
            f"{a} // {divisor}",
            f"{a} % {divisor}",
            f"{a} << {amount}",
            f"{a} >> {amount}",
            f"min({a}, {b})",
            f"max({a}, {b})",
            f"~{a}",
        ]
        if name[0] != "u":
            forms += [f"-{a}", f"abs({a})"]
        if len(self.variables) > 1:
            other = self.random.choice(list(self.variables))
            forms += [self.converted(other, depth)] * 3
        return self.random.choice(forms)

    def converted(self, other: str, depth: int) -> str:
        """Something of another type; of a float a part that every integer holds."""
        if "float" not in other:
            return self.expression(other, depth)
        low, high = (f"np.{other}({bound})" for bound in (0, 100))
        return f"max({low}, min({high}, {self.expression(other, depth)}))"

    def real(self, name: str, depth: int) -> str:
        """A float that stays a small multiple of 2 to a small negative power."""
        a, b = self.expression(name, depth), self.expression(name, depth)
        limit = f"np.{name}(1024)"
        zero = f"np.{name}(0)"  # makes 0 of -0, of which either is the smaller
        forms = [
            f"max(-{limit}, min({limit}, {a} + {b}))",
            f"max(-{limit}, min({limit}, {a} - {b}))",
            f"math.floor({a} * np.{name}(0.5))",
            f"math.ceil({a} * np.{name}(0.75))",
            f"math.trunc({a} / np.{name}(4))",
            f"math.copysign({a}, {b})",
            f"abs({a})",
            f"math.fabs({a})",
            f"-{a}",
            *(f"{word}({a} + {zero}, {b} + {zero})" for word in ("min", "max")),
        ]
        for other in self.variables:
            if other in ("int8", "uint8"):
                forms.append(self.expression(other, depth))
        return self.random.choice(forms)
