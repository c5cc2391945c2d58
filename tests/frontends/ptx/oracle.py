"""Programs of PTX that run many forms on many operands, and what the model says of the results."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from tests.frontends.ptx import (  # noqa: F401 (they fill the model)
    model_approximate,
    model_bits,
    model_conversion,
    model_floats,
    model_integers,
    model_video,
)
from tests.frontends.ptx.model import Case, Result, bits_of, cases, mask, signed
from tests.frontends.ptx.model_numbers import FORMATS, Format, is_nan


@dataclass(frozen=True, slots=True)
class Use:
    """An opcode with a case of its meaning."""

    spelling: str
    case: Case

    def __str__(self) -> str:
        told = [each for each in self.case.sources if each[0] in "=-" or "." in each]
        return " ".join((self.spelling, *told, self.case.part))


def uses(spellings: Iterable[str]) -> Iterator[Use]:
    """The cases of opcodes."""
    for spelling in spellings:
        for case in cases(spelling):
            yield Use(spelling, case)


# --- operands


def _float(random_: random.Random, of: Format) -> int:
    """Bits of a float, special ones and numbers near 1 more often."""
    one, tiny = of.one, 1 << of.fraction
    edges = (0, 1, tiny - 1, tiny, tiny + 1, one - 1, one, one + 1, of.infinity - 1, of.infinity)
    edges = (*edges, of.nan, one + tiny, one + tiny // 2, one - tiny, of.infinity - tiny)
    root = one + (of.least // 2) * tiny  # products of such are the least normal numbers
    edges = (*edges, 2 * tiny - 1, root - 2, root - 1, root + 1, root + 2)
    sign = of.sign * random_.getrandbits(1)
    kind = random_.random()
    if kind < 0.4:
        return sign | random_.choice(edges)
    if kind < 0.7:  # within 2^-40 to 2^40, or less
        width = min(40, -of.least - 2)
        exponent = random_.randint(-width, width)
        fraction = random_.getrandbits(of.fraction)
        if random_.getrandbits(1):  # few bits: exact results and halves
            fraction &= mask(of.fraction) ^ mask(random_.randint(of.fraction // 2, of.fraction))
        return sign | one + (exponent << of.fraction) + fraction
    return random_.getrandbits(of.bits)


def _integer(random_: random.Random, bits: int) -> int:
    """An integer, one near a power of two more often."""
    if random_.random() < 0.5:
        near = random_.choice((0, 1 << random_.randrange(bits), 1 << bits - 1))
        return random_.choice((1, -1)) * near + random_.randint(-2, 2) & mask(bits)
    return random_.getrandbits(bits)


def operand(random_: random.Random, kind: str) -> int:
    """The bits of an operand."""
    if kind in ("pred", "carry", "borrow"):
        return random_.getrandbits(1)
    if kind == "count":
        common = random_.choice((random_.randint(-2, 70), random_.randint(0, 33)))
        return (common if random_.random() < 0.85 else _integer(random_, 32)) & mask(32)
    if kind.endswith("x2"):
        of = FORMATS[kind.removesuffix("x2")]
        return _float(random_, of) | _float(random_, of) << of.bits
    return _float(random_, FORMATS[kind]) if kind in FORMATS else _integer(random_, bits_of(kind))


class Operands(dict[tuple[str, int], list[int]]):
    """Operands of each kind and slot, made where they are asked for. Every eighth is that of the
    first slot, so that operands are equal now and then."""

    def __init__(self, count: int, seed: int) -> None:
        self.count, self.seed = count, seed

    def __missing__(self, place: tuple[str, int]) -> list[int]:
        kind, slot = place
        random_ = random.Random(f"{self.seed} {kind} {slot}")
        column = [operand(random_, kind) for _ in range(self.count)]
        if slot:
            column[3::8] = self[kind, 0][3::8]
        self[place] = column
        return column


# --- the text

SPELLED = re.compile(r"(-?)(\w+)((?:\.\w+)?)")
"""The sign, the kind and the part of a register that a source is."""


def _wide(kind: str) -> int:
    """The width of a kind's register."""
    if kind in ("pred", "carry", "borrow", "count"):
        return 32
    return max(16, bits_of(kind))


class Program:
    """An entry that runs some uses on ``count`` threads.

    Attributes:
        text: the module, with the entry ``forms``. Its parameters are the operands, 64 bits each,
            and the results, likewise.
        inputs: the operands, by use and place.
        columns: which results each use has.
    """

    def __init__(self, chosen: list[Use], count: int, seed: int = 0, target: str = "sm_90") -> None:
        self.uses, self.count = chosen, count
        self._pool = Operands(count, seed)
        self._loaded: dict[tuple[str, int], str] = {}
        self._declared: list[str] = []
        self._number = 0
        self.inputs: list[list[list[int]]] = []
        self.columns: list[tuple[int, ...]] = []
        self._column = 0
        self.places: list[tuple[str, int]] = []
        loads: list[str] = []
        body = [line for use in chosen for line in self._use(use, loads)]
        self.results = self._column
        self.text = "\n".join(
            (
                f".version 9.0\n.target {target}\n.address_size 64",
                ".visible .entry forms(.param .u64 source, .param .u64 made) {",
                *self._declared,
                *_START,
                *loads,
                *body,
                "ret;\n}\n",
            )
        )

    def array(self) -> np.ndarray:
        """The operands as the kernel reads them."""
        columns = [self._pool[place] for place in self.places]
        return np.array(columns or [[0] * self.count], np.uint64)

    def _register(self, width: str) -> str:
        self._number += 1
        name = f"%v{self._number}"
        self._declared.append(f".reg .{width} {name};")
        return name

    def _load(self, kind: str, slot: int, loads: list[str]) -> str:
        place = "carry" if kind == "borrow" else kind, slot
        if place not in self._loaded:
            width = _wide(kind)
            name = self._register(f"b{width}")
            at = 8 * self.count * len(self.places)
            loads.append(f"ld.global.b{width} {name}, [%source+{at}];")
            self.places.append(place)
            self._loaded[place] = name
            if kind == "pred":
                flag = self._register("pred")
                loads.append(f"setp.ne.b32 {flag}, {name}, 0;")
                self._loaded[place] = flag
        return self._loaded[place]

    def _use(self, use: Use, loads: list[str]) -> Iterator[str]:
        given: list[str] = []
        inputs: list[list[int]] = []
        seen: dict[str, int] = {}
        for kind in use.case.sources:
            if kind[0] == "=":
                given.append(kind[1:])
                continue
            found = SPELLED.fullmatch(kind)
            assert found is not None
            sign, kind, part = found.groups()
            slot = seen.get(kind, 0)
            seen[kind] = slot + 1
            name = self._load(kind, slot, loads)
            inputs.append(self._pool["carry" if kind == "borrow" else kind, slot])
            if kind == "carry":
                yield f"add.cc.u32 %unused, {name}, 0xffffffff;"
            elif kind == "borrow":
                yield f"sub.cc.u32 %unused, 0, {name};"
            else:
                given.append(f"{sign}{name}{part}")
        self.inputs.append(inputs)
        results = [
            self._register("pred" if kind == "pred" else f"b{_wide(kind)}")
            for kind in use.case.results
            if kind not in ("carry", "borrow")
        ]
        yield f"{use.spelling} {', '.join(('|'.join(results) + use.case.part, *given))};"
        yield from self._store(use, results)

    def _store(self, use: Use, results: list[str]) -> Iterator[str]:
        places: list[int] = []
        for number, kind in enumerate(use.case.results):
            at = 8 * self.count * self._column
            places.append(self._column)
            self._column += 1
            if kind in ("pred", "carry", "borrow"):
                name = self._register("b32")
                if kind == "pred":
                    yield f"selp.b32 {name}, 1, 0, {results[number]};"
                elif kind == "carry":
                    yield f"addc.u32 {name}, 0, 0;"
                else:
                    yield f"subc.u32 %unused, 0, 0;\nneg.s32 {name}, %unused;"
                yield f"st.global.b32 [%made+{at}], {name};"
            else:
                yield f"st.global.b{_wide(kind)} [%made+{at}], {results[number]};"
        self.columns.append(tuple(places))

    # --- the results

    @cached_property
    def wanted(self) -> list[list[tuple[Result, ...]]]:
        """What the model says of each use, for each thread."""
        made = zip(self.uses, self.inputs, strict=True)
        return [
            [use.case.compute(*(column[lane] for column in inputs)) for lane in range(self.count)]
            for use, inputs in made
        ]

    def wrong(self, made: np.ndarray, limit: int = 3) -> Iterator[str]:
        """What differs from the model, at most ``limit`` lines a use."""
        for use, inputs, places, wanted in zip(
            self.uses, self.inputs, self.columns, self.wanted, strict=True
        ):
            columns = [made[place].tolist() for place in places]
            found = 0
            for lane, wants in enumerate(wanted):
                for kind, column, want in zip(use.case.results, columns, wants, strict=True):
                    if _agrees(kind, column[lane], want):
                        continue
                    found += 1
                    if found <= limit:
                        shown = "which is too far off" if callable(want) else f"not {want:#x}"
                        sources = ", ".join(f"{column[lane]:#x}" for column in inputs)
                        yield f"{use} ({sources}) gives {kind} {column[lane]:#x}, {shown}"


def launched(program: Program, module: Callable[..., Any]) -> np.ndarray:
    """The results on the current device.

    Args:
        module: what makes a module of ``code``; it has ``get_function(name)``.
    """
    made = np.zeros((program.results, program.count), np.uint64)
    kernel = module(code=program.text).get_function("forms")
    block = next(each for each in (500, 100, 16) if program.count % each == 0)
    kernel((program.count // block,), (block,), (program.array(), made))
    return made


_START = (
    ".reg .b64 %source, %made, %at;\n.reg .b32 %thread, %other, %unused;",
    "ld.param.u64 %source, [source];\ncvta.to.global.u64 %source, %source;",
    "ld.param.u64 %made, [made];\ncvta.to.global.u64 %made, %made;",
    "mov.u32 %thread, %tid.x;\nmov.u32 %other, %ntid.x;\nmov.u32 %unused, %ctaid.x;",
    "mad.lo.s32 %thread, %other, %unused, %thread;",
    "mul.wide.u32 %at, %thread, 8;",
    "add.u64 %source, %source, %at;\nadd.u64 %made, %made, %at;",
)


def _agrees(kind: str, got: int, want: object) -> bool:
    if want is None:
        return True
    if kind[0] in "su":  # a byte in a register of 16 bits
        assert isinstance(want, int)
        return got == (signed(want, 8) & mask(16) if kind[0] == "s" else want)
    if kind.endswith("x2"):
        assert isinstance(want, int)
        half = kind.removesuffix("x2")
        bits = FORMATS[half].bits
        low = _agrees(half, got & mask(bits), want & mask(bits))
        return low and _agrees(half, got >> bits, want >> bits)
    of = FORMATS.get(kind)
    if of is not None:
        got &= mask(of.bits)
        if not callable(want):
            assert isinstance(want, int)
            return got == want or (is_nan(got, of) and is_nan(want, of))
    return bool(want(got)) if callable(want) else got == want
