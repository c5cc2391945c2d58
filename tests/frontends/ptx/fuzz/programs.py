"""Random kernels in PTX that each thread runs on its own data, with one meaning on every device.

A fixed set of registers holds the state. Statements are forms of the table with exact results,
branches of every nesting, graphs of blocks with a budget of steps, memory of all spaces, and what
warps and blocks do together, where all threads come.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from functools import cache

import numpy as np
from tests.frontends.ptx.model import bits_of
from tests.frontends.ptx.oracle import SPELLED, Operands, Use, uses

KINDS = ("b16", "b32", "b64", "f16", "bf16", "f32", "f64", "f16x2", "bf16x2", "f32x2")
EACH = 3
"""Registers of each kind, and predicates."""
STEPS = 24
"""How many blocks of a graph a thread runs at the most."""
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_INEXACT = re.compile(r"(sin|cos|tanh|ex2|lg2|rsqrt)\.|.*\.(approx|full)\b")
_LEAKS = re.compile(r"copysign|.*xorsign|(add|sub|mul|fma|div|rcp|sqrt)\.r[zmp]\.f64")
"""The signs of NaN differ; directed rounding of f64 is refused."""


@cache
def exact_uses() -> list[Use]:
    """The forms whose results follow from the operands bit for bit, but for NaN."""
    from tests.frontends.ptx.test_forms import SPELLINGS

    return [
        use
        for use in uses(each for each in SPELLINGS)
        if not _INEXACT.match(use.spelling) and not _LEAKS.match(use.spelling)
    ]


@cache
def uses_of_roots() -> list[list[Use]]:
    """Those forms by their roots: of comparisons there are thousands, of additions fifty."""
    found: dict[str, list[Use]] = {}
    for use in exact_uses():
        found.setdefault(use.spelling.partition(".")[0], []).append(use)
    return list(found.values())


def width(kind: str) -> int:
    """The bits of a kind's register."""
    return max(16, bits_of(kind))


@dataclass(frozen=True)
class Program:
    """A kernel ``k(source, made, counts)`` with its launch.

    Attributes:
        kinds: of the results; each has a row of ``made``.
    """

    text: str
    grid: int
    block: int
    kinds: tuple[str, ...]
    seed: int

    def arrays(self) -> list[np.ndarray]:
        """The arguments."""
        threads = self.grid * self.block
        pool = Operands(threads, self.seed)
        source = np.array([pool[kind, slot] for kind, slot in _places()], np.uint64)
        made = np.zeros((len(self.kinds), threads), np.uint64)
        return [source, made, np.zeros(8, np.uint32)]


def _places() -> list[tuple[str, int]]:
    return [(kind, slot) for kind in (*KINDS, "pred") for slot in range(EACH)]


def program(seed: int) -> Program:
    """A random program."""
    return _Writer(seed).program()


class _Writer:
    """Writes a program. ``lines`` is the body."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.declared: list[str] = []
        self.labels = 0
        self.is_last = False
        """Whether no thread waits for others any more."""
        self.block = self.random.choice((1, 20, 32, 64, 64))
        self.grid = self.random.choice((1, 2))

    def program(self) -> Program:
        self._start()
        if self.random.random() < 0.4:
            self._graph()
        for _ in range(self.random.randint(2, 9)):
            self.statement(3, together=True)
        self.is_last = True
        self.statement(3)
        places = _places()
        count = self.grid * self.block
        for row, (kind, slot) in enumerate(places):
            name = self.name(kind, slot)
            if kind == "pred":
                self.put(f"selp.b32 %t32, 1, 0, {name}")
                name, kind = "%t32", "b32"
            self.put(f"st.global.b{width(kind)} [%made+{8 * count * row}], {name}")
        self.put("ret")
        return Program(self._text(), self.grid, self.block, tuple(k for k, _ in places), self.seed)

    def _text(self) -> str:
        registers = [
            f".reg .{'pred' if kind == 'pred' else f'b{width(kind)}'} %{kind}_<{EACH}>;"
            for kind in (*KINDS, "pred")
        ]
        return "\n".join(
            (
                ".version 8.6\n.target sm_90\n.address_size 64",
                *_FUNCTIONS,
                ".visible .entry k(.param .u64 source, .param .u64 made, .param .u64 counts)\n{",
                *registers,
                *self.declared,
                *self.lines,
                "}\n",
            )
        )

    def _start(self) -> None:
        self.declared += _DECLARED
        for register in ("%cells", "%slots", "%stack"):  # written twice: an address is a number
            if self.random.random() < 0.3:
                self.put(f"mov.b{64 if register == '%stack' else 32} {register}, 1")
        for line in _START:
            self.put(line)
        count = self.grid * self.block
        for column, (kind, slot) in enumerate(_places()):
            at, name = 8 * count * column, self.name(kind, slot)
            if kind == "pred":
                self.put(f"ld.global.b32 %t32, [%source+{at}]")
                self.put(f"setp.ne.b32 {name}, %t32, 0")
            else:
                self.put(f"ld.global.b{width(kind)} {name}, [%source+{at}]")

    # --- names

    def put(self, text: str) -> None:
        self.lines.append(f"\t{text};")

    def name(self, kind: str, slot: int) -> str:
        return f"%{kind}_{slot}"

    def any(self, kind: str) -> str:
        return self.name(kind, self.random.randrange(EACH))

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    # --- statements

    def statement(self, depth: int, together: bool = False) -> None:
        """Write one.

        Args:
            together: all threads of the block come here.
        """
        kinds = [self._form] * 8 + [self._memory, self._local, self._own_shared, self._count]
        if depth:
            kinds += [self._if, self._if_else, self._loop, self._switch, self._call] * 2
        if together:
            kinds += [self._barrier, self._graph]
            kinds += [self._warp] * 2 if self.block % 32 == 0 else []
        choice = self.random.choice(kinds)
        if choice in (self._if, self._if_else, self._loop, self._switch):
            choice(depth - 1)
        else:
            choice()

    def body(self, depth: int) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.statement(depth)

    def _form(self) -> None:
        use = self.random.choice(self.random.choice(uses_of_roots()))
        given: list[str] = []
        for kind in use.case.sources:
            if kind[0] == "=":
                given.append(kind[1:])
            elif kind == "carry":
                self.put(f"add.cc.u32 %t32, {self.any('b32')}, 0xffffffff")
            elif kind == "borrow":
                self.put(f"sub.cc.u32 %t32, 0, {self.any('b32')}")
            elif kind == "count":
                given.append(self.random.choice((self.any("b32"), str(self.random.randrange(70)))))
            else:
                spelled = SPELLED.fullmatch(kind)
                assert spelled is not None
                given.append(f"{spelled[1]}{self.any(spelled[2])}{spelled[3]}")
        if use.spelling.startswith(("div.u", "div.s", "rem.")):
            self._divisor(given, use.spelling)
        results = []
        for kind in use.case.results:
            if kind not in ("carry", "borrow"):
                results.append(self.any({"u8": "b16", "s8": "b16"}.get(kind, kind)))
        if len(set(results)) < len(results):
            return
        guard = f"@{self.random.choice(('', '!'))}{self.any('pred')} " if self._rarely() else ""
        written = "|".join(results) + use.case.part
        self.put(f"{guard}{use.spelling} {', '.join((written, *given))}")

    def _divisor(self, given: list[str], spelling: str) -> None:
        """The ISA leaves a quotient by 0 open, and the one that overflows."""
        bits = spelling[-2:]
        self.put(f"and.b{bits} %d{bits}, {given[1]}, 0x7fff")
        self.put(f"or.b{bits} %d{bits}, %d{bits}, 1")
        given[1] = f"%d{bits}"

    def _rarely(self) -> bool:
        return self.random.random() < 0.12

    def _predicate(self) -> str:
        """A condition, which threads differ in or not."""
        random_ = self.random
        if random_.random() < 0.3:
            return random_.choice(("", "!")) + self.any("pred")
        kind = random_.choice(("b32", "b64", "b16", "f32"))
        type_ = kind if kind == "f32" else random_.choice("us") + kind[1:]
        second = random_.choice((self.any(kind), "0f3F800000" if kind == "f32" else "7"))
        self.put(f"setp.{random_.choice(COMPARISONS)}.{type_} %p, {self.any(kind)}, {second}")
        return random_.choice(("%p", "!%p"))

    # --- control

    def _if(self, depth: int) -> None:
        end = self.label()
        self.put(f"@{self._predicate()} bra {end}")
        self.body(depth)
        if self.is_last and self._rarely():
            self.put(self.random.choice(("exit", "ret")))
        self.lines.append(f"{end}:")

    def _if_else(self, depth: int) -> None:
        other, end = self.label(), self.label()
        self.put(f"@{self._predicate()} bra {other}")
        self.body(depth)
        self.put(f"bra.uni {end}")
        self.lines.append(f"{other}:")
        self.body(depth)
        self.lines.append(f"{end}:")

    def _loop(self, depth: int) -> None:
        head, out = self.label(), self.label()
        count = f"%c{self.labels}"
        self.declared.append(f".reg .b32 {count};")
        if self.random.random() < 0.5:
            self.put(f"mov.u32 {count}, {self.random.randint(1, 4)}")
        else:
            self.put(f"and.b32 {count}, {self.any('b32')}, 3")
        self.lines.append(f"{head}:")
        self.body(depth)
        if self.random.random() < 0.3:
            self.put(f"@{self._predicate()} bra {out}")
        self.put(f"add.s32 {count}, {count}, -1")
        self.put(f"setp.gt.s32 %q, {count}, 0")
        self.put(f"@%q bra {head}")
        self.lines.append(f"{out}:")

    def _switch(self, depth: int) -> None:
        table, end = self.label(), self.label()
        labels = [self.label() for _ in range(self.random.randint(2, 4))]
        self.put(f"rem.u32 %t32, {self.any('b32')}, {len(labels)}")
        self.lines.append(f"{table}: .branchtargets {', '.join(labels)};")
        self.put(f"brx.idx %t32, {table}")
        for label in labels:
            self.lines.append(f"{label}:")
            self.body(depth)
            if self.random.random() < 0.6:
                self.put(f"bra {end}")
        self.lines.append(f"{end}:")

    def _graph(self) -> None:
        """Blocks that go on to any others, until a thread has run so many."""
        count, end = self.random.randint(2, 7), self.label()
        names = [self.label() for _ in range(count)]
        steps = f"%s{self.labels}"
        self.declared.append(f".reg .b32 {steps};")
        self.put(f"mov.u32 {steps}, {STEPS}")
        for number, name in enumerate(names):
            self.lines.append(f"{name}:")
            self.put(f"add.s32 {steps}, {steps}, -1")
            self.put(f"setp.lt.s32 %q, {steps}, 0")
            self.put(f"@%q bra {end}")
            for _ in range(self.random.randint(0, 2)):
                self._form()
            if self.random.random() < 0.8:
                self.put(f"@{self._predicate()} bra {self.random.choice((*names, end))}")
            if self.random.random() < 0.3 or number == count - 1:
                self.put(f"bra {self.random.choice((*names, end))}")
        self.lines.append(f"{end}:")

    def _call(self) -> None:
        a, d = self.any("b32"), self.any("b32")
        function = self.random.choice(("mix", "steps"))
        self.lines.append(
            f"\t{{ .param .b32 to; .param .b32 from; st.param.b32 [to], {a}; "
            f"call.uni (from), {function}, (to); ld.param.b32 {d}, [from]; }}"
        )

    # --- memory

    def _access(self, space: str, base: str, most: int = 16) -> None:
        """Write a value of some bytes and read it as another type."""
        random_ = self.random
        known = (8, 1), (16, 1), (32, 1), (64, 1), (32, 2), (64, 2), (16, 4)
        bits, count = random_.choice([each for each in known if each[0] * each[1] <= 8 * most])
        kind = f"b{max(16, bits)}"
        names = [self.any(kind) for _ in range(count)]
        vector = f".v{count}" if count > 1 else ""
        values = f"{{{', '.join(names)}}}" if count > 1 else names[0]
        how = random_.choice(("", "", ".volatile"))
        self.put(f"st{how}{space}{vector}.b{bits} [{base}], {values}")
        read = random_.choice(("u", "s", "b")) + str(bits)
        targets = [self.name(kind, slot) for slot in range(EACH)][:count]
        if count <= EACH:
            values = f"{{{', '.join(targets)}}}" if count > 1 else targets[0]
            self.put(f"ld{how}{space}{vector}.{read} {values}, [{base}]")

    def _memory(self) -> None:
        """The thread's own part of what it makes, which is written again at the end."""
        self._access(".global", "%made", 8)

    def _local(self) -> None:
        self._access(*self.random.choice(((".local", "%stack+16"), ("", "%generic+32"))))

    def _own_shared(self) -> None:
        self._access(".shared", "%slot")

    def _count(self) -> None:
        op = self.random.choice(("add", "min", "max", "and", "or", "xor"))
        place = {"add": 0, "min": 4, "max": 8, "and": 12, "or": 16, "xor": 20}[op]
        type_ = "u32" if op in ("add", "min", "max") else "b32"
        self.put(f"red.global.{op}.{type_} [%counts+{place}], {self.any('b32')}")

    # --- threads together

    def _barrier(self) -> None:
        self.put("st.shared.b32 [%cell], " + self.any("b32"))
        self.put("bar.sync 0")
        self.put(f"ld.shared.b32 {self.any('b32')}, [%next]")
        self.put("bar.sync 0")

    def _warp(self) -> None:
        random_ = self.random
        a, d, p = self.any("b32"), self.any("b32"), self.any("pred")
        lane = random_.choice((self.any("b32"), str(random_.randrange(32))))
        mode, clamp = random_.choice((("idx", 31), ("up", 0), ("down", 31), ("bfly", 31)))
        self.put(
            random_.choice(
                (
                    f"shfl.sync.{mode}.b32 {d}|%p, {a}, {lane}, {clamp}, -1",
                    f"vote.sync.ballot.b32 {d}, {p}, -1",
                    f"vote.sync.{random_.choice(('all', 'any', 'uni'))}.pred %p, {p}, -1",
                    f"redux.sync.{random_.choice(('add', 'min', 'max'))}.s32 {d}, {a}, -1",
                    f"match.any.sync.b32 {d}, {a}, -1",
                    f"bar.red.popc.u32 {d}, 0, {p}",
                )
            )
        )


_DECLARED = (
    ".reg .b64 %source, %made, %counts, %generic, %stack, %d64; .reg .pred %p, %q;",
    ".reg .b32 %thread, %t32, %d32, %slot, %cell, %next, %tid, %ntid, %block, %four, %cells;",
    ".reg .b32 %sixteen, %slots, %after, %following, %bytes; .reg .b16 %d16; .reg .b64 %at;",
    ".shared .align 16 .b8 slots[1024]; .shared .align 4 .b32 cells[64];",
    ".local .align 16 .b8 depot[64];",
)
_START = (
    "ld.param.u64 %source, [source]",
    "ld.param.u64 %made, [made]",
    "ld.param.u64 %counts, [counts]",
    "mov.u32 %tid, %tid.x",
    "mov.u32 %ntid, %ntid.x",
    "mov.u32 %block, %ctaid.x",
    "mad.lo.u32 %thread, %block, %ntid, %tid",
    "mul.wide.u32 %at, %thread, 8",
    "add.u64 %source, %source, %at",
    "add.u64 %made, %made, %at",
    "shl.b32 %four, %tid, 2",
    "mov.u32 %cells, cells",
    "add.u32 %cell, %cells, %four",
    "shl.b32 %sixteen, %tid, 4",
    "mov.u32 %slots, slots",
    "add.u32 %slot, %slots, %sixteen",
    "add.u32 %after, %tid, 1",
    "rem.u32 %following, %after, %ntid",
    "shl.b32 %bytes, %following, 2",
    "add.u32 %next, %cells, %bytes",
    "mov.u64 %stack, depot",
    "cvta.local.u64 %generic, %stack",
    "mov.u16 %d16, 1",
    "setp.eq.u32 %p, %thread, 3",
)
_FUNCTIONS = (
    ".func (.param .b32 d) mix(.param .b32 a) { .reg .b32 %r<4>; ld.param.b32 %r1, [a]; "
    "mul.lo.u32 %r2, %r1, 0x9E3779B1; shf.l.wrap.b32 %r3, %r2, %r1, 7; st.param.b32 [d], %r3; "
    "ret; }",
    ".func (.param .b32 d) steps(.param .b32 a) { .reg .b32 %r<4>; .reg .pred %p<2>; "
    "ld.param.b32 %r1, [a]; and.b32 %r2, %r1, 7; mov.u32 %r3, 0; "
    "again: add.u32 %r3, %r3, %r1; add.s32 %r2, %r2, -1; setp.gt.s32 %p1, %r2, 0; "
    "@%p1 bra again; st.param.b32 [d], %r3; ret; }",
)
