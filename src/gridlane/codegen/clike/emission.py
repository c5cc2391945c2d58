"""What differs between C-like languages, and the state of the emission of one kernel.

A language is attributes and small functions of text, which get that state. The defaults are what C,
MSL and GLSL share; each language overrides what it spells otherwise.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

from gridlane.codegen.clike.folding import MOST, Folding, enclosed
from gridlane.codegen.emitters import Emitters
from gridlane.core.dtypes import DType
from gridlane.core.errors import TargetError
from gridlane.core.options import KernelOptions
from gridlane.ir.op import Op
from gridlane.ir.ops.control import Loop, Print, ScopeOp
from gridlane.ir.ops.memory import part_types
from gridlane.ir.types import PointerType, Space, StructType, Type, VectorType
from gridlane.ir.values import Module, Value, Var

Pair = tuple[str, str]
Emitter = Callable[["Emission", Op], None]

_NAMED = re.compile(r"v\d+(\.p\d+)?")
"""What ``fresh`` calls values, which never change, and parts of them."""

EMITTERS = Emitters()
"""What this code generator emits; its other modules fill it."""
TABLE: dict[type[Op], Emitter] = EMITTERS.table
emits = EMITTERS.emits


@dataclass(frozen=True, slots=True)
class Place:
    """Where a scalar is: an address in a space."""

    space: Space
    pointer: str
    volatile: bool = False


class Dialect(ABC):
    """One language. It has no state of its own.

    Attributes:
        target: name of gridlane's target.
        device: what errors call its devices.
        types: the name of each scalar type that the language has.
        lacks: why it has not the others.
        edges: the types that hold the bits of those others where they come in and go out.
        functions: the functions of the language that ops on 32 and 64 bits map to; of the ops
            that count bits, with a {} for the operand.
        wraps: signed integers wrap around, so they need no detour over unsigned ones.
        loop: how an endless loop begins.
        merges: compilers may contract and reorder float operations, whatever the text says.
        folds_zeros: compilers take 0 + x as x, 0 * x as 0, and the smaller of two for a minimum
            that has no NaN, whatever the text says.
        names_constants: what is computed of literals alone is computed by the compiler of the
            language, which refuses overflow; see folding.
        folds: a value that is used once may stand where it is used; see folding.
        precise: what keeps the float operations of a variable as they are; "" for nothing.
        halves_unsigned: a u32 becomes a float in two halves, as the language's own conversion may
            take either neighbour of a number that f32 does not hold.
        has_warps: lanes exchange by ops of the language, in divergent control flow as well.
            Elsewhere passes have made barriers of the block of that.
        once: how a block that ``break`` leaves begins and ends.
    """

    target: ClassVar[str]
    device: ClassVar[str]
    types: ClassVar[dict[DType, str]]
    lacks: ClassVar[dict[DType, str]]
    edges: ClassVar[dict[Type, Type]] = {}
    functions: ClassVar[dict[type[Op], str]]
    wraps: ClassVar[bool] = True
    has_warps: ClassVar[bool] = False
    merges: ClassVar[bool] = False
    folds_zeros: ClassVar[bool] = False
    names_constants: ClassVar[bool] = False
    folds: ClassVar[bool] = False
    precise: ClassVar[str] = ""
    halves_unsigned: ClassVar[bool] = False
    loop: ClassVar[str] = "for (;;) {"
    once: ClassVar[Pair] = ("do {", "} while (false);")

    # ---- expressions

    def let(self, type_: str, name: str, text: str) -> str:
        """A name for a value."""
        return f"{type_} {name} = {text};"

    def var(self, type_: str, name: str, text: str) -> str:
        """A variable with its first value."""
        return f"{type_} {name} = {text};"

    def choose(self, condition: str, on_true: str, on_false: str) -> str:
        """One of two scalars."""
        return f"({condition} ? {on_true} : {on_false})"

    def convert(self, target: DType, text: str) -> str:
        """C's conversion of a scalar that is in range."""
        return f"{self.types[target]}({text})"

    @abstractmethod
    def bits(self, source: DType, target: DType, text: str) -> str:
        """The same bits as another scalar of the same size."""

    @abstractmethod
    def literal(self, state: Emission, value: bool | int | float, dtype: DType) -> str:
        """A scalar constant, exact."""

    def construct(self, type_: str, parts: Sequence[str]) -> str:
        """A struct from its parts."""
        return f"{type_}({', '.join(parts)})"

    def struct(self, name: str, fields: Sequence[Pair]) -> list[str]:
        """The declaration of a struct with (type, name) fields."""
        return [f"struct {name} {{", *(f"    {t} {n};" for t, n in fields), "};"]

    def function(self, name: str, result: str, params: Sequence[Pair]) -> str:
        """The head of a function with (type, name) parameters, up to its brace."""
        return f"{result} {name}({', '.join(f'{type_} {param}' for type_, param in params)}) {{"

    def opening(self, state: Emission) -> list[str]:
        """What stands at the start of a function that has been emitted."""
        return []

    # ---- memory

    @abstractmethod
    def pointer(self, space: Space) -> str:
        """The type of an address, in bytes, of a space."""

    @abstractmethod
    def moved(self, pointer: str, distance: str, dtype: DType, scale: int) -> str:
        """An address ``distance`` times ``scale`` bytes further; ``dtype`` is the distance's."""

    @abstractmethod
    def load(self, state: Emission, place: Place, dtype: DType) -> str:
        """A scalar in memory."""

    @abstractmethod
    def store(self, state: Emission, place: Place, dtype: DType, value: str) -> None:
        """Write a scalar to memory."""

    @abstractmethod
    def load_pointer(self, state: Emission, place: Place, space: Space) -> str:
        """A pointer in memory, of 8 bytes, into a space."""

    @abstractmethod
    def store_pointer(self, state: Emission, place: Place, space: Space, value: str) -> None:
        """Write a pointer to memory."""

    @abstractmethod
    def number(self, pointer: str) -> str:
        """An address as an unsigned integer, to compare it."""

    def address(self, state: Emission, pointer: str) -> str:
        """An address as a u64."""
        return self.number(pointer)

    @abstractmethod
    def from_address(self, space: Space, text: str) -> str:
        """A u64 as an address; "" gives the null pointer."""

    @abstractmethod
    def global_address(self, state: Emission, symbol: str) -> str:
        """Where a global of the module starts."""

    @abstractmethod
    def dynamic_shared(self, state: Emission) -> str:
        """Where the shared memory starts whose size is given at launch."""

    @abstractmethod
    def local_array(self, state: Emission, size: int) -> str:
        """Where an array of the thread starts, of so many bytes."""

    # ---- the grid

    @abstractmethod
    def parameter(self, state: Emission, number: int) -> str:
        """The value of a scalar parameter, or the address that a pointer parameter has."""

    @abstractmethod
    def query(self, state: Emission, op: Op) -> str:
        """A number of the launch, as i32."""

    @abstractmethod
    def barrier(self, state: Emission) -> None:
        """Wait for the block; orders shared and global memory."""

    @abstractmethod
    def fence(self, state: Emission, op: Op) -> None:
        """Order memory accesses; see ``ir.ops.grid.Fence``."""

    @abstractmethod
    def shared_word(self, state: Emission) -> Place:
        """A u32 of shared memory for what gridlane itself counts."""

    @abstractmethod
    def report(self, state: Emission) -> Place:
        """The report block; see ``core.gpu_abi``."""

    # ---- atomics

    @abstractmethod
    def atomic(self, state: Emission, place: Place, dtype: DType, kind: str, value: str) -> str:
        """A native read-modify-write; "" when the language has none. Gives the old value."""

    @abstractmethod
    def exchange_if(
        self, state: Emission, place: Place, expected: str, desired: str
    ) -> tuple[str, str]:
        """A weak compare-and-swap of a u32: (what was there, whether it was replaced)."""

    @abstractmethod
    def atomic_load(self, state: Emission, place: Place) -> str:
        """A u32 that other threads may change."""

    def agreed(self, state: Emission, place: Place, first: str) -> str:
        """A u32 of shared memory which all threads of the block read behind a barrier, so that the
        compiler sees that it is one for all; ``first`` is true for one thread."""
        return self.atomic_load(state, place)

    @abstractmethod
    def word(self, state: Emission, place: Place) -> Pair:
        """The address of the 32-bit word that a place is in, and which byte of it (u32)."""

    # ---- warps, where ``has_warps``: what lanes hold is exchanged in words of 32 bits

    def peer(self, state: Emission, word: str, lane: str) -> str:
        """The word of the lane with a u32 number."""
        raise NotImplementedError("its lanes exchange through shared memory")

    def together(self, state: Emission) -> str:
        """The u32 of the lanes that run an op together."""
        raise NotImplementedError("its lanes exchange through shared memory")

    def ballot(self, state: Emission, predicate: str) -> str:
        """The u32 of the lanes that run an op together and whose predicate holds."""
        raise NotImplementedError("its lanes exchange through shared memory")

    def sync_warp(self, state: Emission) -> None:
        """Wait for the lanes of the warp; orders their memory accesses."""
        raise NotImplementedError("its lanes exchange through shared memory")

    # ---- the whole

    @abstractmethod
    def assemble(self, state: Emission, entry: str) -> str:
        """The whole program, from what the emission has collected."""


@dataclass(slots=True)
class Construct:
    """A loop or scope that is being emitted. ``flag`` tells the loops inside of a scope that the
    scope is being left."""

    op: Loop | ScopeOp
    flag: str = ""


@dataclass(frozen=True, slots=True)
class FunctionText:
    """What a library function became.

    Attributes:
        declarations: what has to stand in front of it, by name.
        callees: the library functions that it calls, by their names in the IR.
    """

    text: str
    declarations: dict[str, str]
    callees: tuple[str, ...]


Functions: TypeAlias = dict[str, FunctionText]


@dataclass(slots=True)
class Emission:
    """What the emission of an op needs."""

    dialect: Dialect
    module: Module
    options: KernelOptions
    block: tuple[int, int, int] | None
    offsets: tuple[int, ...] = ()
    """Where each parameter of the kernel is in the parameter block, in bytes."""
    folding: Folding = field(default_factory=Folding)
    lines: list[str] = field(default_factory=list[str])
    depth: int = 1
    count: int = 0
    names: dict[Value, str] = field(default_factory=dict[Value, str])
    apart: set[Value] = field(default_factory=set[Value])
    """Floats whose text hides how they were made; see rounding."""
    variables: dict[Var, str] = field(default_factory=dict[Var, str])
    structs: dict[Type, str] = field(default_factory=dict[Type, str])
    declarations: dict[str, str] = field(default_factory=dict[str, str])
    """What the program has outside of the kernel, by name."""
    prologue: list[str] = field(default_factory=list[str])
    """Declarations at the start of the kernel."""
    constructs: list[Construct] = field(default_factory=list[Construct])
    prints: list[Print] = field(default_factory=list[Print])
    local: int = 0
    """Bytes of the arrays of a thread so far."""
    extra_shared: int = 0
    """Bytes of shared memory that gridlane itself takes."""
    functions: Functions = field(default_factory=dict[str, FunctionText])
    """The library functions that are known, by their names in the IR."""
    uses: set[str] = field(default_factory=set[str])
    """What the kernel needs of the launch and of the language, by words of the dialect."""

    # ---- text

    def line(self, text: str) -> None:
        """Append a line."""
        self.lines.append("    " * self.depth + text)

    @contextmanager
    def block_of(self, head: str, end: str = "}") -> Generator[None]:
        """Lines one level deeper, between two."""
        self.line(head)
        self.depth += 1
        yield
        self.depth -= 1
        self.line(end)

    def fresh(self, hint: str = "v") -> str:
        """A name that nothing has."""
        self.count += 1
        return f"{hint}{self.count}"

    def let(self, type_: DType, text: str) -> str:
        """Name a scalar; the name."""
        return self.named(self.dialect.types[type_], text)

    def named(self, type_: str, text: str) -> str:
        """Name a value of any type, unless it has a name."""
        if self.dialect.folds and _NAMED.fullmatch(text):
            return text
        name = self.fresh()
        self.line(self.dialect.let(type_, name, text))
        return name

    def variable(self, type_: str, text: str) -> str:
        """A variable with a first value; its name."""
        name = self.fresh("m")
        self.line(self.dialect.var(type_, name, text))
        return name

    # ---- values

    def name(self, value: Value) -> str:
        """The text of a value."""
        return self.names[value]

    def set(self, value: Value, name: str) -> None:
        """Say what a value's text is."""
        self.names[value] = name

    def give(self, value: Value, text: str) -> None:
        """Name a value by an expression, or let that stand where the value is used."""
        if value in self.folding.folded and self.dialect.folds and len(text) <= MOST:
            self.set(value, enclosed(text))
        else:
            self.set(value, self.named(self.type_of(value), text))

    def literal(self, value: bool | int | float, dtype: DType) -> str:
        """A scalar constant."""
        return self.dialect.literal(self, value, dtype)

    def zero(self, type_: Type) -> str:
        """The zero of a type of the IR."""
        if isinstance(type_, DType):
            number = False if type_.is_bool else 0.0 if type_.is_float else 0
            return self.literal(number, type_)
        if isinstance(type_, PointerType):
            return self.dialect.from_address(type_.space, "")
        raise AssertionError(f"{type_} has been taken apart")

    # ---- types

    def type_of(self, item: Value | Var) -> str:
        """The language's name of a value's type."""
        if isinstance(item.type, PointerType):
            return self.dialect.pointer(item.type.space)
        return self.type_name(item.type)

    def type_name(self, type_: Type) -> str:
        """The language's name of a type; a struct of parts is declared at its first use."""
        type_ = self.dialect.edges.get(type_, type_)
        if isinstance(type_, DType):
            return self.dialect.types[type_]
        if isinstance(type_, PointerType):
            return self.dialect.pointer(type_.space or Space.GLOBAL)
        assert isinstance(type_, StructType | VectorType)
        if type_ not in self.structs:
            self.structs[type_] = self.struct_name(part_types(type_))
        return self.structs[type_]

    def struct_name(self, types: Sequence[Type]) -> str:
        """A struct of parts, declared at its first use. Its name says what it holds, so that a
        function that takes or gives one fits into any kernel."""
        names = [self.type_name(type_) for type_ in types]
        name = re.sub(r"[^A-Za-z0-9]+", "_", "_".join((f"Parts{len(names)}", *names)))
        fields = [(type_, f"p{n}") for n, type_ in enumerate(names)]
        self.declarations[name] = "\n".join(self.dialect.struct(name, fields))
        return name

    def is_edge(self, type_: Type) -> bool:
        """Whether values of a type only come in or go out, held in another."""
        return type_ in self.dialect.edges

    # ---- refusal

    def refuse(self, op: Op, why: str) -> TargetError:
        """The error for what the language or its devices have not."""
        return TargetError(f"{self.dialect.device} cannot do this {op.name}: {why}", op.loc)
