"""LLVM IR as text: type names, constants, and a function body under construction.

LLVM's parser takes text, so nothing is built twice, and text is several times faster to write than
a tree of Python objects. ``lanes`` is 0 for a scalar, else the length of the vector.
"""

from __future__ import annotations

import struct
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

import numpy as np

from gridlane.core.dtypes import DType
from gridlane.ir.op import FastMath
from gridlane.ir.types import PointerType, Type

_SCALARS = {"b1": "i1", "bf16": "i16", "f32": "float", "f64": "double"}
_MANGLED = {"half": "f16", "float": "f32", "double": "f64", "ptr": "p0"}

_FLAGS = {
    FastMath.NNAN: "nnan",
    FastMath.NINF: "ninf",
    FastMath.NSZ: "nsz",
    FastMath.ARCP: "arcp",
    FastMath.CONTRACT: "contract",
    FastMath.AFN: "afn",
    FastMath.REASSOC: "reassoc",
}


_HALF = ContextVar("half", default="half")
"""The type that holds an f16 in the current code."""


@contextmanager
def halves_as_bits(wanted: bool = True) -> Generator[None]:
    """Hold f16 in i16, as bf16 is held, for machines without instructions for it: LLVM would call
    functions of a library that may be absent."""
    before = _HALF.set("i16" if wanted else "half")
    try:
        yield
    finally:
        _HALF.reset(before)


_CONVERTS_BF16 = ContextVar("converts_bf16", default=False)
"""Whether one instruction rounds an f32 to bf16 in the current code."""


@contextmanager
def converting_bf16(wanted: bool = True) -> Generator[None]:
    """Round f32 to bf16 by LLVM's own conversion, for machines with an instruction that rounds
    subnormal numbers as all others."""
    before = _CONVERTS_BF16.set(wanted)
    try:
        yield
    finally:
        _CONVERTS_BF16.reset(before)


def converts_bf16() -> bool:
    """Whether LLVM's own conversion rounds f32 to bf16."""
    return _CONVERTS_BF16.get()


def held_as_bits(type_: DType) -> bool:
    """Whether a float type is held as an integer, and computed with in f32."""
    return type_.name == "bf16" or (type_.name == "f16" and _HALF.get() == "i16")


def scalar_name(type_: Type) -> str:
    """LLVM's name of a scalar or pointer type in a register."""
    if isinstance(type_, PointerType):
        return "ptr"
    assert isinstance(type_, DType), type_
    if type_.name == "f16":
        return _HALF.get()
    return _SCALARS.get(type_.name) or f"i{type_.bits}"


def memory_name(type_: Type) -> str:
    """LLVM's name of a scalar in memory: a bool takes a byte."""
    name = scalar_name(type_)
    return "i8" if name == "i1" else name


def widen(name: str, lanes: int) -> str:
    """The vector type of ``lanes`` of a scalar type."""
    return f"<{lanes} x {name}>" if lanes else name


def mangle(name: str, lanes: int = 0) -> str:
    """The part of an intrinsic's name that encodes a type.

    >>> mangle("float", 16), mangle("i32")
    ('v16f32', 'i32')
    """
    short = _MANGLED.get(name, name)
    return f"v{lanes}{short}" if lanes else short


def flags(fast: FastMath) -> str:
    """Fast-math flags, which precede the operands."""
    if fast is FastMath.NONE:
        return ""
    if fast == FastMath.FAST:
        return "fast "
    return "".join(f"{text} " for flag, text in _FLAGS.items() if fast & flag)


def literal(value: bool | int | float, type_: Type) -> str:
    """A scalar constant."""
    if isinstance(type_, PointerType):
        return "null"
    assert isinstance(type_, DType)
    if type_.is_bool:
        return "true" if value else "false"
    if type_.is_integer:
        return str(int(value))
    if held_as_bits(type_):
        return str(int(np.array(value, type_.numpy).view(np.uint16)))
    if type_.name == "f16":
        return f"0xH{int(np.array(value, np.float16).view(np.uint16)):04X}"
    return f"0x{int.from_bytes(struct.pack('>d', float(value)), 'big'):016X}"


def splat(value: str, name: str, lanes: int) -> str:
    """A constant, or the vector that repeats it."""
    return f"splat ({name} {value})" if lanes else value


def vector_constant(values: Iterable[object], name: str) -> str:
    """A constant vector."""
    return "<" + ", ".join(f"{name} {value}" for value in values) + ">"


CUT_START, CUT_END = "; piece", "; end of piece"
"""Lines around what ``Body.cut`` cuts off."""

Place: TypeAlias = tuple[int, int]
"""A place in a body: the lines before it, and those of them that are in no piece."""


class Body:
    """A function body: lines, fresh names, the current block, and the module's declarations.

    ``rounds``: the machine has instructions that round floats to integers. ``piece`` is the least
    lines of a piece that ``outline`` makes a function of; 0: the function stays whole.
    """

    def __init__(self, rounds: bool = True) -> None:
        self.rounds = rounds
        self.piece = 0
        self._in_pieces = 0
        self.lines: list[str] = []
        self.allocas: list[str] = []
        self.declared: dict[str, str] = {}
        self.block = "entry"
        self._count = 0

    def fresh(self, hint: str = "v") -> str:
        """An unused name."""
        self._count += 1
        return f"%{hint}{self._count}"

    def op(self, text: str, hint: str = "v") -> str:
        """Append an instruction that has a result; return its name."""
        name = self.fresh(hint)
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        """Append an instruction without a result."""
        self.lines.append(f"  {text}")

    def label(self, hint: str) -> str:
        """A fresh block label; ``start`` opens it."""
        self._count += 1
        return f"{hint}{self._count}"

    def start(self, label: str) -> None:
        """Open a block. The block before must have ended with a branch."""
        self.lines.append(f"{label}:")
        self.block = label

    def here(self) -> Place:
        """This place, from which a piece may be cut."""
        return len(self.lines), len(self.lines) - self._in_pieces

    def cut(self, since: Place) -> Place:
        """Cut off the lines since a place, if they are many; return where the next piece starts.

        Code outside must not jump to labels between. The current block has to be open.
        """
        start, before = since
        length = len(self.lines) - self._in_pieces - before
        if not self.piece or length < self.piece:
            return since
        after = self.label("cut")
        self.branch(after)
        self.lines.insert(start, CUT_START)
        self.lines.append(CUT_END)
        self._in_pieces += len(self.lines) - self._in_pieces - before
        self.start(after)
        return self.here()

    def branch(self, target: str) -> None:
        """Jump to a block."""
        self.do(f"br label %{target}")

    def branch_if(self, condition: str, on_true: str, on_false: str) -> None:
        """Jump on an i1."""
        self.do(f"br i1 {condition}, label %{on_true}, label %{on_false}")

    def alloca(self, name: str, count: int = 1, align: int = 0) -> str:
        """Allocate stack memory in the entry block."""
        result = self.fresh("a")
        size = f", i32 {count}" if count != 1 else ""
        tail = f", align {align}" if align else ""
        self.allocas.append(f"  {result} = alloca {name}{size}{tail}")
        return result

    def call(
        self,
        result: str,
        name: str,
        arguments: list[tuple[str, str]],
        fast: str = "",
        pure: bool = False,
    ) -> str:
        """Call a function by name, declaring it; returns the result's name, "" for void.

        ``pure``: it has no effects and reads no memory, so that LLVM may move and merge calls.
        """
        types = ", ".join(type_ for type_, _ in arguments)
        effects = " nounwind willreturn memory(none)" if pure else ""
        self.declared.setdefault(name, f"declare {result} @{name}({types}){effects}")
        text = f"call {fast}{result} @{name}({', '.join(f'{t} {v}' for t, v in arguments)})"
        if result == "void":
            self.do(text)
            return ""
        return self.op(text)

    def intrinsic(self, stem: str, name: str, lanes: int, values: list[str], fast: str = "") -> str:
        """Call ``llvm.stem`` with operands that all have the result's type."""
        type_ = widen(name, lanes)
        full = f"llvm.{stem}.{mangle(name, lanes)}"
        return self.call(type_, full, [(type_, value) for value in values], fast)
