"""The state of emission: the representation of each value, the mask of the running lanes,
conversions.

A value's representation is one of: Uniform (a scalar), Linear (a scalar base and a constant
stride), Varying (a vector of ``lanes``), Parts (a struct or vector type: one of these per part),
InMemory (a vector in memory).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from gridlane.analysis.uniformity import Kind, WayOut
from gridlane.codegen.llvm.cpu.layout import Layout
from gridlane.codegen.llvm.cpu.shapes import Shape, Shapes
from gridlane.codegen.llvm.machine import Machine
from gridlane.codegen.llvm.text import (
    Body,
    literal,
    scalar_name,
    vector_constant,
    widen,
)
from gridlane.core.dtypes import DType
from gridlane.core.frozen import frozen
from gridlane.core.source import UNKNOWN, Loc
from gridlane.ir.op import Op
from gridlane.ir.ops import memory
from gridlane.ir.types import PointerType, Type
from gridlane.ir.values import Module, Value, Var


@frozen
class Uniform:
    """One scalar for all lanes."""

    name: str


@frozen
class Linear:
    """Lane l holds base + l * stride; the stride of a pointer is in bytes."""

    base: str
    stride: int


@frozen
class Varying:
    """A vector with one element per lane."""

    name: str


@frozen
class Parts:
    """The parts of a struct or vector value."""

    items: tuple[Rep, ...]


@frozen
class InMemory:
    """The vector with a number among those at an address; only ops of ``registers.py`` see it."""

    pointer: str
    number: int


@frozen
class Copied(Varying):
    """A vector that is also in memory."""

    memory: InMemory


Rep = Uniform | Linear | Varying | Parts | InMemory


@frozen
class Likely:
    """What a varying value also is where all of ``holds`` are true, each an i1: linear."""

    base: str
    stride: int
    holds: tuple[str, ...]


@dataclass(slots=True)
class Slot:
    """The memory of one representation, of a variable or mask."""

    pointer: str
    shape: Shape


@frozen
class Placed:
    """Scratch of a representation: the first chunk's offset and the stride between chunks."""

    offset: int
    distance: int
    shape: Shape


KnownPlaces = dict[tuple[str, int], tuple[int, Loc]]
"""Places by file and line, with their numbers."""
Slots: TypeAlias = "Slot | tuple[Slots, ...]"
"""The memory of a representation; one slot per part of a struct or vector."""

Scratch: TypeAlias = "Placed | tuple[Scratch, ...]"
"""The scratch of a representation in every chunk; one per part of a struct or vector."""


def scalar_size(type_: Type) -> int:
    """Bytes of a scalar in memory that holds a register."""
    return max(1, type_.size)


@dataclass(slots=True)
class Emission:
    """The shared state of the emission of one kernel.

    Attributes:
        mask: the i1 vector of the running lanes, or None when all of them run.
        open: whether the current block still takes instructions.
        holders: for (construct, "breaks" | "continues"), the record of the lanes that have left it;
            the function is (None, "breaks"). See leaving.py.
        waiting: memory of the number of the way that each lane has taken, where they are numbered.
        ways: the last such number.
        variables: memory of each variable's representation, part by part.
        work: a block's instructions, roughly, for one vector of a chunk.
        strides: what the loops around add to their counters in an iteration, to prefetch by.
        lane_memory: offsets in the arena of the vectors that atomics take apart.
        metadata: LLVM's nodes !1, !2, ... of the module; !0 is the empty one.
        functions: definitions of functions that the code calls, by name; see moves.py.
        calls: how often it calls them.
        exchanges: whether lanes may exchange data through memory; see exchanges.py.
        stored: where the kernel stores vectors; see moves.py.
        likely: the linear form that varying values have if a test at run time holds.
        stale: values of earlier segments, whose representations are those of another chunk.
        repeats_loops: whether LLVM may unroll loops of unknown trip count.
        alone: whether the code is that of one lane, of the number ``alone_lane``; see serial.py.
        ranges: memory of the ranges that accesses are likely in, and their number; see checks.py.
        turns: whether the code is that of one chunk, which waits for others; see
            warp_coroutines.py. ``started``: the lanes that its code begins with; None if all.
        shared_spare: bytes that the start of shared memory may move by, to be aligned.
        places, loops: where instructions that reach memory come from, and loops, with their
            numbers; see debug_lines.py.
        source: of the load or store that is emitted, for ``explain``.
        registers: where registers of matrices are; see registers.py.
        scopes: what accesses to arrays note of their aliases; see apart.py.
    """

    module: Module
    shapes: Shapes
    layout: Layout
    machine: Machine
    body: Body = field(default_factory=Body)
    values: dict[Value, Rep] = field(default_factory=dict[Value, Rep])
    likely: dict[Value, Likely] = field(default_factory=dict[Value, Likely])
    stale: set[Value] = field(default_factory=set[Value])
    variables: dict[Var, Slots] = field(default_factory=dict[Var, Slots])
    places: KnownPlaces = field(default_factory=dict[tuple[str, int], tuple[int, Loc]])
    loops: KnownPlaces = field(default_factory=dict[tuple[str, int], tuple[int, Loc]])
    mask: str | None = None
    open: bool = True
    holders: dict[WayOut, str] = field(default_factory=dict[WayOut, str])
    waiting: str | None = None
    ways: int = 0
    exits: dict[WayOut, str] = field(default_factory=dict[WayOut, str])
    arrays: dict[Op, str] = field(default_factory=dict[Op, str])
    known: dict[str, str] = field(default_factory=dict[str, str])
    copies: int = 0
    work: int = 0
    used: set[Value] = field(default_factory=set[Value])
    symbols: set[str] = field(default_factory=set[str])
    prints: list[Op] = field(default_factory=list[Op])
    crossing: dict[Value, Scratch] = field(default_factory=dict[Value, Scratch])
    scratch: int = 0
    shared_spare: int = 0
    shared_bytes: int = 0
    strides: dict[Var, Value] = field(default_factory=dict[Var, Value])
    lane_memory: dict[tuple[int, str], int] = field(default_factory=dict[tuple[int, str], int])
    metadata: list[str] = field(default_factory=list[str])
    scopes: dict[Value, str] = field(default_factory=dict[Value, str])
    functions: dict[str, str] = field(default_factory=dict[str, str])
    calls: dict[str, int] = field(default_factory=dict[str, int])
    exchanges: Callable[[], bool] = lambda: False
    stored: frozenset[Value | None] = frozenset()
    repeats_loops: bool = True
    alone: bool = False
    alone_lane: str = "0"
    ranges: dict[Value | Op, tuple[str, int]] = field(
        default_factory=dict[Value | Op, tuple[str, int]]
    )
    turns: bool = False
    started: str | None = None
    source: Loc = UNKNOWN
    registers: object = None

    @property
    def lanes_of_vector(self) -> int:
        """Lanes of a vector of 32-bit numbers. A chunk may have several; ``work`` counts one."""
        return max(1, self.machine.vector_bytes // 4)

    @property
    def lanes(self) -> int:
        """Lanes of a chunk."""
        return self.layout.lanes

    @property
    def mask_type(self) -> str:
        """The LLVM type of a mask."""
        return widen("i1", self.lanes)

    # ---- values

    def rep(self, value: Value) -> Rep:
        """The representation of a value."""
        return self.values[value]

    def uniform(self, value: Value) -> str:
        """The scalar of a uniform value."""
        rep = self.values[value]
        assert isinstance(rep, Uniform), f"{value} is held as {rep}"
        return rep.name

    def vector(self, value: Value) -> str:
        """A value as a vector."""
        return self.as_vector(self.values[value], value.type)

    def as_vector(self, rep: Rep, type_: Type) -> str:
        """A representation as a vector."""
        name = scalar_name(type_)
        if isinstance(rep, Varying):
            return rep.name
        if isinstance(rep, Uniform):
            return self.broadcast(rep.name, name)
        assert isinstance(rep, Linear), rep
        if name == "ptr":
            steps = vector_constant([lane * rep.stride for lane in range(self.lanes)], "i64")
            return self.body.op(
                f"getelementptr i8, ptr {rep.base}, {widen('i64', self.lanes)} {steps}"
            )
        assert isinstance(type_, DType)
        steps = vector_constant([type_.wrap(lane * rep.stride) for lane in range(self.lanes)], name)
        base = self.broadcast(rep.base, name)
        return self.body.op(f"add {widen(name, self.lanes)} {base}, {steps}")

    def broadcast(self, scalar: str, name: str) -> str:
        """A scalar in every lane."""
        type_ = widen(name, self.lanes)
        if scalar[0] not in "%@" and scalar != "null":
            return f"splat ({name} {scalar})"
        first = self.body.op(f"insertelement {type_} poison, {name} {scalar}, i64 0")
        zeros = f"<{self.lanes} x i32> zeroinitializer"
        return self.body.op(f"shufflevector {type_} {first}, {type_} poison, {zeros}")

    def repeat(self, head: str, wish: str) -> None:
        """The back edge of a loop, with a wish for LLVM's unrolling: "disable", say."""
        nodes = self.metadata
        nodes.append(f'!{{!"llvm.loop.unroll.{wish}"}}')
        nodes.append(f"distinct !{{!{len(nodes) + 1}, !{len(nodes)}}}")
        self.body.do(f"br label %{head}, !llvm.loop !{len(nodes)}")

    def extract(self, vector: str, name: str, lane: int | str) -> str:
        """One lane of a vector."""
        index = f"i64 {lane}" if isinstance(lane, int) else f"i32 {lane}"
        return self.body.op(f"extractelement {widen(name, self.lanes)} {vector}, {index}")

    def set(self, value: Value, rep: Rep) -> None:
        """Set the representation of a value."""
        self.values[value] = rep
        self.likely.pop(value, None)
        self.stale.discard(value)

    def shaped(self, rep: Rep, shape: Shape, type_: Type) -> Rep:
        """A representation converted to a shape that is equal or less uniform."""
        if isinstance(rep, Parts):
            types = memory.part_types(type_)
            items = [self.shaped(r, shape, t) for r, t in zip(rep.items, types, strict=True)]
            return Parts(tuple(items))
        if shape.kind is Kind.VARYING and not isinstance(rep, Varying):
            return Varying(self.as_vector(rep, type_))
        return rep

    def select(self, mask: str, on_true: Rep, on_false: Rep, type_: Type) -> Rep:
        """``on_true`` in the lanes of a mask, ``on_false`` in others."""
        if isinstance(on_true, Parts):
            assert isinstance(on_false, Parts)
            types = memory.part_types(type_)
            sides = zip(on_true.items, on_false.items, types, strict=True)
            return Parts(tuple([self.select(mask, a, b, t) for a, b, t in sides]))
        vector = widen(scalar_name(type_), self.lanes)
        a, b = self.as_vector(on_true, type_), self.as_vector(on_false, type_)
        return Varying(self.body.op(f"select {self.mask_type} {mask}, {vector} {a}, {vector} {b}"))

    def zero(self, type_: Type) -> Rep:
        """The zero of a type."""
        parts = memory.part_types(type_)
        if parts:
            return Parts(tuple([self.zero(part) for part in parts]))
        if isinstance(type_, PointerType):
            return Uniform("null")
        assert isinstance(type_, DType)
        return Uniform(literal(0.0 if type_.is_float else 0, type_))

    # ---- masks

    def all_lanes(self) -> str:
        """The mask of the running lanes as a vector; a constant when all run."""
        return self.mask or "splat (i1 true)"

    def bits(self, mask: str | None) -> str:
        """A mask as an integer of one bit per lane."""
        if mask is None:
            return "-1"
        return self.body.op(f"bitcast {self.mask_type} {mask} to i{self.lanes}")

    def any(self, mask: str) -> str:
        """Whether a lane of a mask runs."""
        return self.body.op(f"icmp ne i{self.lanes} {self.bits(mask)}, 0")

    def every(self, mask: str) -> str:
        """Whether all lanes of a mask run."""
        return self.body.op(f"icmp eq i{self.lanes} {self.bits(mask)}, -1")

    def both(self, a: str | None, b: str | None) -> str | None:
        """The intersection of two masks; None is all lanes."""
        if a is None or b is None:
            return b if a is None else a
        return self.body.op(f"and {self.mask_type} {a}, {b}")

    def without(self, a: str | None, b: str) -> str:
        """The lanes of ``a`` that are not in ``b``."""
        flipped = self.body.op(f"xor {self.mask_type} {b}, splat (i1 true)")
        result = self.both(a, flipped)
        assert result is not None
        return result

    def first_lane(self, bits: str) -> str:
        """The number of the lowest set bit, as i32."""
        name = f"i{self.lanes}"
        count = self.body.op(f"call {name} @llvm.cttz.{name}({name} {bits}, i1 false)")
        self.body.declared.setdefault(
            f"llvm.cttz.{name}", f"declare {name} @llvm.cttz.{name}({name}, i1)"
        )
        return self.as_i32(count, self.lanes)

    def as_i32(self, value: str, bits: int) -> str:
        """An unsigned integer of ``bits`` as i32."""
        if bits == 32:
            return value
        word = "zext" if bits < 32 else "trunc"
        return self.body.op(f"{word} i{bits} {value} to i32")

    # ---- scratch: memory of each chunk that outlives a segment

    def place(self, type_: Type, shape: Shape) -> Scratch:
        """Allocate scratch for a representation in every chunk: each part's offset and size."""
        parts = memory.part_types(type_)
        if parts:
            return tuple([self.place(part, shape) for part in parts])
        size = scalar_size(type_)
        if shape.kind is Kind.VARYING:
            size = -(-self.lanes // 8) if scalar_name(type_) == "i1" else size * self.lanes
        return Placed(*self.take(size), shape)

    def take(self, size: int) -> tuple[int, int]:
        """(offset, stride between chunks) of scratch of ``size`` bytes for every chunk."""
        distance = size if size & (size - 1) == 0 else -(-size // 64) * 64
        offset = -(-self.scratch // 64) * 64
        self.scratch = offset + distance * self.layout.chunks
        return offset, distance

    def placed(self, place: Scratch) -> Slots:
        """The current chunk's memory of a placed representation."""
        if isinstance(place, tuple):
            return tuple([self.placed(part) for part in place])
        return Slot(self.chunk_address(place.offset, place.distance), place.shape)

    def chunk_address(self, offset: int, distance: int) -> str:
        """The address of the current chunk's scratch."""
        arena, chunk = self.known["arena"], self.known["chunk"]
        if chunk == "0":
            return self.body.op(f"getelementptr i8, ptr {arena}, i64 {offset}")
        base = self.body.op(f"getelementptr i8, ptr {arena}, i64 {offset}")
        return self.body.op(f"getelementptr [{distance} x i8], ptr {base}, i32 {chunk}")

    # ---- memory of representations

    def reserve(self, type_: Type, shape: Shape) -> Slots:
        """Allocate stack memory for a representation; structs part by part."""
        parts = memory.part_types(type_)
        if parts:
            return tuple([self.reserve(part, shape) for part in parts])
        return Slot(self.body.alloca(self.held_type(type_, shape)), shape)

    def held_type(self, type_: Type, shape: Shape) -> str:
        """The LLVM type that holds a part of a shape."""
        name = scalar_name(type_)
        return widen(name, self.lanes) if shape.kind is Kind.VARYING else name

    def fetch(self, slot: Slots, type_: Type) -> Rep:
        """Read a representation from memory."""
        if isinstance(slot, tuple):
            types = memory.part_types(type_)
            return Parts(tuple([self.fetch(s, t) for s, t in zip(slot, types, strict=True)]))
        held = self.held_type(type_, slot.shape)
        name = self.body.op(f"load {held}, ptr {slot.pointer}")
        if slot.shape.kind is Kind.VARYING:
            return Varying(name)
        if slot.shape.kind is Kind.LINEAR:
            return Linear(name, slot.shape.stride)
        return Uniform(name)

    def keep(self, slot: Slots, rep: Rep, type_: Type) -> None:
        """Write a representation to memory."""
        if isinstance(slot, tuple):
            assert isinstance(rep, Parts)
            for s, r, t in zip(slot, rep.items, memory.part_types(type_), strict=True):
                self.keep(s, r, t)
            return
        held = self.held_type(type_, slot.shape)
        rep = self.shaped(rep, slot.shape, type_)
        assert not isinstance(rep, Parts | InMemory)
        name = rep.base if isinstance(rep, Linear) else rep.name
        self.body.do(f"store {held} {name}, ptr {slot.pointer}")
