"""Random programs in Triton's language, as text: tiles of integers through changes of shape,
reductions, branches and loops, over arrays that they load and store with shifts."""

from __future__ import annotations

import random
from collections.abc import Callable

SIZE = 256
"""Elements of each array."""

Shape = tuple[int, ...]
Named = tuple[str, Shape]
SHAPES: list[Shape] = [(64,), (8, 8), (4, 2, 8), (2, 32), (1, 64), (16,), (128,), (2, 2)]
HEAD = """import numpy
from gridlane import tiles

tl = tiles.language


@tiles.jit
def left(a, b):
    return a


@tiles.jit
def linear(a, x, b, y):
    return a * b, x * b + y


@tiles.jit
def program(x, y, z, out, n, s):
"""


def count_of(shape: Shape) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count


class Writer:
    """Writes a program whose names are tiles of one shape each."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.known: list[Named] = []
        self.names = 0
        self.depth = 1

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def new(self, text: str, shape: Shape) -> Named:
        self.names += 1
        self.known.append((f"v{self.names}", shape))
        self.line(f"v{self.names} = {text}")
        return self.known[-1]

    def array(self) -> str:
        return self.random.choice("xyz")

    def numbers(self, shape: Shape) -> str:
        return f"tl.arange(0, {count_of(shape)}).reshape({shape})"

    def place(self, shape: Shape, factors: tuple[int, ...] = (1, 1, 3, SIZE - 1)) -> str:
        """Indices: with an odd factor all are different."""
        shift = self.random.choice(["0", "1", "7", "s", str(SIZE - 1)])
        return f"(({self.numbers(shape)} * {self.random.choice(factors)} + {shift}) & {SIZE - 1})"

    def tile(self, shape: Shape | None = None) -> Named:
        """A tile that there is, or one that is loaded."""
        named = [each for each in self.known[-8:] if shape is None or each[1] == shape]
        if named and self.random.random() < 0.8:
            return self.random.choice(named)
        shape = shape or self.random.choice(SHAPES)
        place = self.place(shape, (0, 1, 1, 2, 3))
        mask = self.random.choice(["", "", f", mask={self.numbers(shape)} < n, other=3"])
        return self.new(f"tl.load({self.array()} + {place}{mask})", shape)

    # ---- ops

    def binary(self) -> None:
        x, shape = self.tile()
        y = self.tile(shape)[0]
        forms = (f"{x} + {y}", f"{x} * 3 - {y}", f"{x} ^ {y}", f"tl.where({x} > {y}, {x}, 7)")
        self.new(self.random.choice(forms), shape)

    def moved(self) -> None:
        x, shape = self.tile()
        order = [*range(len(shape))]
        self.random.shuffle(order)
        turned = tuple([shape[axis] for axis in order])
        self.new(f"tl.permute({x}, {tuple(order)})", turned)
        same = [each for each in SHAPES if count_of(each) == count_of(shape)]
        into = self.random.choice(same or [shape])
        self.new(f"{self.known[-1][0]}.reshape({into})", into)

    def halves(self) -> None:
        x, _ = self.tile((64,))
        a, b = (self.new("0", (8, 4))[0] for _ in range(2))
        self.line(f"{a}, {b} = tl.split({x}.reshape(8, 4, 2))")
        self.new(f"tl.join({b}, {a} + {b}).reshape(8, 8)", (8, 8))

    def along(self) -> None:
        x, shape = self.tile()
        axis, back = self.random.randrange(len(shape)), self.random.random() < 0.5
        y = self.tile(shape)[0]
        line = f"tl.expand_dims(tl.reduce({x}, {axis}, left), {axis}) + {x}"
        pair = f"tl.associative_scan(({x}, {y}), {axis}, linear, reverse={back})[1]"
        total = f"tl.expand_dims(tl.sum({x}, {axis}), {axis}) ^ {y}"
        order = f"tl.sort({x})" if shape[-1] > 1 else f"tl.cumsum({x}, {axis})"
        self.new(self.random.choice([line, pair, total, order]), shape)

    # ---- statements

    def store(self) -> None:
        x, shape = self.tile()
        mask = self.random.choice(["", "", f", mask=({x} & 1) == 0"])
        self.line(f"tl.store({self.array()} + {self.place(shape)}, {x}{mask})")

    def over(self) -> None:
        """A store over what its value is loaded from."""
        array, shape = self.array(), self.random.choice(SHAPES)
        x = self.new(f"tl.load({array} + {self.numbers(shape)})", shape)[0]
        value = self.random.choice([x, f"{x} * 3 + 1", f"tl.flip({x}, 0)"])
        self.line(f"tl.store({array} + {self.place(shape)}, {value})")

    def behind(self) -> None:
        """A loop that needs what was loaded in front of it, and stores over that."""
        array, other = self.array(), self.array()
        x, shape = self.new(f"tl.load({array} + {self.place(SHAPES[0])})", SHAPES[0])
        self.known.pop()
        y = self.tile(shape)[0]
        self.line("for _ in range(2):")
        self.line(f"    tl.store({other} + {self.place(shape)}, {x} + 1)")
        self.line(f"    tl.store({array} + {self.numbers(shape)}, {y})")

    def block(self) -> None:
        """Blocks of a matrix, one behind the other, loaded and stored."""
        array, step = self.array(), self.random.choice(["(8, 0)", "(0, 3)", "(1, 1)"])
        self.line(f"p = tl.make_block_ptr({array}, (9, 13), (13, 1), (0, 0), (8, 8), (1, 0))")
        x = self.new("tl.load(p, boundary_check=(0, 1))", (8, 8))[0]
        self.line("for _ in range(s):")
        self.line(f"    p = tl.advance(p, {step})")
        self.line(f"    {x} += tl.load(p, boundary_check=(0, 1))")
        self.line(f"    tl.store(p, {x}, boundary_check=(0, 1))")

    def write(self) -> None:
        x, shape = self.tile()
        y = self.tile(shape)[0]
        self.line(self.random.choice([f"{x} = {y}", f"{x} += {y}", f"{x}, {y} = {y}, {x}"]))

    def inside(self) -> None:
        """A branch or loop; names that it binds first end with it."""
        kept = [*self.known]
        heads = ("if s > 1:", "if n < 40:", "for _ in range(s):", "for _ in range(2):")
        self.line(self.random.choice(heads))
        self.depth += 1
        for _ in range(self.random.randint(1, 4)):
            self.statement()
        self.write()
        self.depth -= 1
        self.known = kept

    def statement(self) -> None:
        ops = [self.binary, self.binary, self.moved, self.halves, self.along, self.along]
        stores = [self.store, self.over, self.over, self.behind, self.block, self.write]
        several: list[Callable[[], None]] = [*ops, *stores]
        if self.depth < 3:
            several += [self.inside, self.inside]
        self.random.choice(several)()

    def text(self) -> str:
        for shape in self.random.sample(SHAPES, 3):
            self.tile(shape)
        for _ in range(self.random.randint(6, 12)):
            self.statement()
        for place, (name, shape) in enumerate(self.known[-6:]):
            self.line(f"tl.store(out + {place * 128} + {self.numbers(shape)}, {name})")
        return HEAD + "\n".join(self.lines) + "\n"
