"""Random programs of one warp whose lanes exchange data through shared memory without a sync: as
Python, PTX and CUDA C++, and what they compute, lane by lane in lockstep."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

WARP, WARPS, ROWS, REGISTERS = 32, 2, 4, 3


@dataclass(frozen=True)
class Place:
    """An element of the warp's memory: lane ^ number, lane + number, or a table's."""

    kind: str
    number: int

    def of(self, lanes: np.ndarray, width: int, tables: np.ndarray, k: int) -> np.ndarray:
        number = self.number
        if self.kind == "flip":
            return lanes ^ (number % width)
        if self.kind == "turn":
            return (lanes + number + k) % width
        return tables[(number + k) % ROWS, lanes]


@dataclass
class Step:
    """A statement: ``what`` with registers, places, and the steps in it."""

    what: str
    a: int = 0
    b: int = 0
    place: Place = Place("flip", 0)
    other: Place = Place("flip", 0)
    count: int = 0
    inner: list[Step] = field(default_factory=list["Step"])


def program(seed: int, apart: bool = True) -> tuple[list[Step], int]:
    """Steps and the lanes of a warp that run them. ``apart``: lanes differ in loops, too, where a
    compiler may make a loop for the lanes that do something and another one for the rest."""
    rng = random.Random(seed)
    steps = _steps(rng, rng.randint(3, 9), 0, apart)
    return [Step("store"), *steps], rng.choice((WARP, WARP, WARP // 2))


def _place(rng: random.Random) -> Place:
    return Place(rng.choice(("flip", "turn", "table")), rng.randint(0, WARP - 1))


def _steps(rng: random.Random, count: int, depth: int, apart: bool) -> list[Step]:
    return [_step(rng, depth, apart) for _ in range(count)]


def _step(rng: random.Random, depth: int, apart: bool) -> Step:
    kinds = ["load", "load", "store", "store", "sum", "call"]
    kinds += ["guarded", "branch"] if apart or not depth else []
    kinds += ["loop"] if depth < 2 else []
    made = Step(rng.choice(kinds), rng.randrange(REGISTERS), rng.randrange(REGISTERS))
    made.place, made.other, made.count = _place(rng), _place(rng), rng.randint(1, 5)
    if made.what == "loop":
        made.inner = _steps(rng, rng.randint(1, 3), depth + 1, apart)
    elif made.what == "branch":
        made.inner = [Step("sum", made.b, made.a, count=made.count)]
    return made


class Machine:
    """A warp: each step is done by all lanes before the next."""

    def __init__(self, width: int, tables: np.ndarray, values: np.ndarray) -> None:
        self.lanes, self.width, self.tables = np.arange(width), width, tables
        self.registers = [values * np.uint32(n + 1) for n in range(REGISTERS)]
        self.memory = np.zeros(width, np.uint32)

    def run(self, steps: list[Step], k: int = 0) -> None:
        for step in steps:
            self.step(step, k)

    def at(self, place: Place, k: int) -> np.ndarray:
        return place.of(self.lanes, self.width, self.tables, k)

    def step(self, s: Step, k: int) -> None:
        r = self.registers
        if s.what == "load":
            r[s.a] = self.memory[self.at(s.place, k)]
        elif s.what == "store":
            self.memory[self.at(s.place, k)] = r[s.a]
        elif s.what == "sum":
            r[s.a] = r[s.a] * np.uint32(3) + r[s.b] + np.uint32(s.count)
        elif s.what == "guarded":
            on = (self.lanes & s.count) == 0
            self.memory[self.at(s.place, k)[on]] = r[s.a][on]
        elif s.what == "call":
            found = self.memory[self.at(s.place, k)]
            self.memory[self.at(s.other, k)] = found + r[s.a]
            r[s.b] = self.memory[self.at(s.place, k)]
        elif s.what == "branch":
            before, on = list(r), (r[s.a] & np.uint32(1)) == 0
            self.run(s.inner, k)
            r[:] = [np.where(on, new, old) for new, old in zip(r, before, strict=True)]
        else:
            for number in range(s.count):
                self.run(s.inner, number)


def expected(steps: list[Step], width: int, tables: np.ndarray, values: np.ndarray) -> np.ndarray:
    """What each thread of the block writes; 0 by lanes that do not run."""
    made = np.zeros((WARPS, WARP), np.uint32)
    for warp in range(WARPS):
        start = warp * WARP
        machine = Machine(width, tables, values[start : start + width])
        machine.run(steps)
        a, b, c = machine.registers
        made[warp, :width] = a ^ (b * np.uint32(5)) ^ (c * np.uint32(7)) ^ machine.memory
    return made.ravel()


def inputs(seed: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """The tables, each a permutation of the lanes, and the threads' values."""
    rng = np.random.default_rng(seed)
    tables = np.array([rng.permutation(width) for _ in range(ROWS)], np.uint32)
    return tables, rng.integers(0, 2**32, WARP * WARPS, dtype=np.uint32)


# ---- as source text


class Text:
    """Writes the lines of a language; ``k`` is the innermost loop's counter."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.lines: list[str] = []
        self.names = 0

    def fresh(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    def write(self, steps: list[Step], depth: int, k: str) -> None:
        for step in steps:
            self.step(step, depth, k)

    def step(self, s: Step, depth: int, k: str) -> None:
        raise NotImplementedError


class Blocks(Text):
    """What Python and C++ have in common: expressions."""

    def place(self, place: Place, k: str) -> str:
        if place.kind == "flip":
            return f"base + (lane ^ {place.number % self.width})"
        if place.kind == "turn":
            return f"base + ((lane + {place.number} + {k}) % {self.width})"
        return f"base + tables[(({place.number} + {k}) % {ROWS}) * {self.width} + lane]"

    def statement(self, s: Step, k: str) -> str:
        place = self.place(s.place, k)
        if s.what == "load":
            return f"r{s.a} = s[{place}]"
        if s.what in ("store", "guarded"):
            return f"s[{place}] = r{s.a}"
        if s.what == "call":
            return f"r{s.b} = exchanged(s, {place}, {self.place(s.other, k)}, r{s.a})"
        return f"r{s.a} = {self.cut(f'r{s.a} * 3 + r{s.b} + {s.count}')}"

    def cut(self, text: str) -> str:
        return text


class Python(Blocks):
    def cut(self, text: str) -> str:
        return f"({text}) & 0xFFFFFFFF"

    def step(self, s: Step, depth: int, k: str) -> None:
        pad = "    " * depth
        if s.what == "loop":
            name = self.fresh("k")
            self.lines.append(f"{pad}for {name} in range({s.count}):")
            self.write(s.inner, depth + 1, name)
        elif s.what == "branch":
            self.lines.append(f"{pad}if r{s.a} & 1 == 0:")
            self.write(s.inner, depth + 1, k)
        elif s.what == "guarded":
            self.lines.append(f"{pad}if lane & {s.count} == 0:")
            self.lines.append(f"{pad}    {self.statement(s, k)}")
        else:
            self.lines.append(pad + self.statement(s, k))


class Cpp(Blocks):
    """The memory is volatile: else a compiler may move a load of a lane to before its store."""

    def step(self, s: Step, depth: int, k: str) -> None:
        if s.what == "loop":
            name = self.fresh("k")
            self.lines.append(f"for (unsigned {name} = 0; {name} < {s.count}; {name}++) {{")
            self.write(s.inner, depth + 1, name)
            self.lines.append("}")
        elif s.what == "branch":
            self.lines.append(f"if ((r{s.a} & 1) == 0) {{")
            self.write(s.inner, depth + 1, k)
            self.lines.append("}")
        elif s.what == "guarded":
            self.lines.append(f"if ((lane & {s.count}) == 0) {self.statement(s, k)};")
        else:
            self.lines.append(f"{self.statement(s, k)};")


class Ptx(Text):
    """Registers %r0 to %r2; %l the lane, %b the memory of the warp, %k0 a zero."""

    def place(self, place: Place, k: str) -> str:
        at = self.fresh("%u")
        if place.kind == "flip":
            self.lines.append(f"xor.b32 {at}, %l, {place.number % self.width};")
        elif place.kind == "turn":
            self.lines += [
                f"add.u32 {at}, %l, {place.number};",
                f"add.u32 {at}, {at}, {k};",
                f"rem.u32 {at}, {at}, {self.width};",
            ]
        else:
            self.lines += [
                f"add.u32 {at}, {k}, {place.number};",
                f"rem.u32 {at}, {at}, {ROWS};",
                f"mad.lo.u32 {at}, {at}, {self.width}, %l;",
                f"mul.wide.u32 %w, {at}, 4; add.u64 %w, %w, %tables;",
                f"ld.global.u32 {at}, [%w];",
            ]
        self.lines.append(f"shl.b32 {at}, {at}, 2; add.u32 {at}, {at}, %b;")
        return at

    def step(self, s: Step, depth: int, k: str) -> None:
        if s.what == "loop":
            name, label = self.fresh("%u"), self.fresh("L")
            self.lines += [f"mov.u32 {name}, 0;", f"{label}:"]
            self.write(s.inner, depth + 1, name)
            self.lines += [
                f"add.u32 {name}, {name}, 1;",
                f"setp.lt.u32 %p, {name}, {s.count};",
                f"@%p bra {label};",
            ]
        elif s.what == "branch":
            label = self.fresh("L")
            self.lines += [f"and.b32 %t, %r{s.a}, 1; setp.ne.u32 %p, %t, 0;", f"@%p bra {label};"]
            self.write(s.inner, depth + 1, k)
            self.lines.append(f"{label}:")
        else:
            self.plain(s, k)

    def plain(self, s: Step, k: str) -> None:
        if s.what == "sum":
            self.lines.append(f"mad.lo.u32 %t, %r{s.a}, 3, %r{s.b};")
            self.lines.append(f"add.u32 %r{s.a}, %t, {s.count};")
            return
        at = self.place(s.place, k)
        if s.what == "load":
            self.lines.append(f"ld.shared.u32 %r{s.a}, [{at}];")
        elif s.what == "store":
            self.lines.append(f"st.shared.u32 [{at}], %r{s.a};")
        elif s.what == "guarded":
            self.lines.append(f"and.b32 %t, %l, {s.count}; setp.eq.u32 %p, %t, 0;")
            self.lines.append(f"@%p st.shared.u32 [{at}], %r{s.a};")
        else:
            other = self.place(s.other, k)
            self.lines.append(f"call (%r{s.b}), exchanged, ({at}, {other}, %r{s.a});")


PYTHON = """
def exchanged(s, at, to, value):
    s[to] = s[at] + value & 0xFFFFFFFF
    return s[at]

def kernel(x, tables, out):
    s = cuda.shared.array({size}, int64)
    t = cuda.threadIdx.x
    lane = t % 32
    base = t - lane
    if lane >= {width}:
        return
    s[t] = 0
    r0 = x[t] * 1 & 0xFFFFFFFF
    r1 = x[t] * 2 & 0xFFFFFFFF
    r2 = x[t] * 3 & 0xFFFFFFFF
{body}
    out[t] = r0 ^ (r1 * 5 & 0xFFFFFFFF) ^ (r2 * 7 & 0xFFFFFFFF) ^ s[t]
"""

CPP = """
__device__ __noinline__ unsigned exchanged(volatile unsigned *s, unsigned at, unsigned to,
                                           unsigned value) {{
    s[to] = s[at] + value;
    return s[at];
}}
extern "C" __global__ void kernel(const unsigned *x, const unsigned *tables, unsigned *out) {{
    __shared__ volatile unsigned s[{size}];
    unsigned t = threadIdx.x, lane = t % 32, base = t - lane;
    if (lane >= {width}) return;
    s[t] = 0;
    unsigned r0 = x[t], r1 = x[t] * 2, r2 = x[t] * 3;
    {body}
    out[t] = r0 ^ (r1 * 5) ^ (r2 * 7) ^ s[t];
}}
"""

PTX = """
.version 7.0
.target sm_70
.address_size 64
.func (.reg .u32 %o) exchanged(.reg .u32 %at, .reg .u32 %to, .reg .u32 %v) {{
  .reg .u32 %x;
  ld.shared.u32 %x, [%at]; add.u32 %x, %x, %v; st.shared.u32 [%to], %x;
  ld.shared.u32 %o, [%at]; ret;
}}
.visible .entry kernel(.param .u64 x, .param .u64 tables, .param .u64 out) {{
  .reg .u32 %r<3>, %u<400>, %l, %b, %t, %k0, %tid; .reg .u64 %w, %x, %tables, %out, %own;
  .reg .pred %p; .shared .align 4 .b8 s[{bytes}];
  ld.param.u64 %x, [x]; ld.param.u64 %tables, [tables]; ld.param.u64 %out, [out];
  mov.u32 %tid, %tid.x; and.b32 %l, %tid, 31; sub.u32 %b, %tid, %l; shl.b32 %b, %b, 2;
  mov.u32 %t, s; add.u32 %b, %b, %t; mov.u32 %k0, 0;
  setp.ge.u32 %p, %l, {width}; @%p ret;
  shl.b32 %t, %l, 2; add.u32 %t, %t, %b; st.shared.u32 [%t], %k0;
  mul.wide.u32 %own, %tid, 4; add.u64 %w, %x, %own; ld.global.u32 %r0, [%w];
  shl.b32 %r1, %r0, 1; mul.lo.u32 %r2, %r0, 3;
  {body}
  shl.b32 %t, %l, 2; add.u32 %t, %t, %b; ld.shared.u32 %t, [%t];
  mul.lo.u32 %r1, %r1, 5; mul.lo.u32 %r2, %r2, 7;
  xor.b32 %t, %t, %r0; xor.b32 %t, %t, %r1; xor.b32 %t, %t, %r2;
  add.u64 %w, %out, %own; st.global.u32 [%w], %t; ret;
}}
"""


def text_of(language: str, steps: list[Step], width: int) -> str:
    """The program as source text."""
    writer: Text = {"python": Python, "cpp": Cpp, "ptx": Ptx}[language](width)
    writer.write(steps, 1, "%k0" if language == "ptx" else "0")
    frame: Any = {"python": PYTHON, "cpp": CPP, "ptx": PTX}[language]
    body, size = "\n".join(writer.lines), WARP * WARPS
    return frame.format(body=body, width=width, size=size, bytes=4 * size)
