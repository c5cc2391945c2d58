"""The differences between C-like languages, and the state of the emission of one kernel.

A language is attributes and small functions of text, which take that state. The defaults are shared
by C, MSL and GLSL; each language overrides the parts that it spells differently.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

from gridlane.analysis.crossings import Crossings
from gridlane.codegen.clike.folding import MOST, Folding, enclosed
from gridlane.codegen.emitters import Emitters
from gridlane.core.dtypes import DType
from gridlane.core.errors import TargetError
from gridlane.core.frozen import frozen
from gridlane.core.options import KernelOptions
from gridlane.ir.op import Op
from gridlane.ir.ops.control import Loop, Print, ScopeOp
from gridlane.ir.ops.memory import part_types
from gridlane.ir.types import FragmentType, PointerType, Space, StructType, Type, VectorType
from gridlane.ir.values import Module, Value, Var

Pair = tuple[str, str]
Emitter = Callable[["Emission", Op], None]

_NAMED = re.compile(r"v\d+(\.p\d+)?")
"""What ``fresh`` calls values, which never change, and parts of them."""

EMITTERS = Emitters()
"""The emitters of this code generator; its other modules register them."""
TABLE: dict[type[Op], Emitter] = EMITTERS.table
emits = EMITTERS.emits


@frozen
class Place:
    """The place of a scalar in memory: an address in a space, and there in a buffer."""

    space: Space
    pointer: str
    volatile: bool = False
    buffer: int = 0


class Dialect(ABC):
    """A language. It is stateless.

    Attributes:
        target: name of gridlane's target.
        device: the name of its devices in errors.
        types: the name of each scalar type that the language has.
        lacks: the reason why each other type is unsupported.
        edges: the types that hold the bits of those other types at the edges.
        functions: the language's functions for ops on 32 and 64 bits; for ops that count bits,
            with a {} for the operand.
        wraps: signed integers wrap, so they need no detour over unsigned ones.
        loop: the opening of an endless loop.
        merges: compilers may contract and reorder float operations, whatever the text says.
        folds_zeros: compilers fold 0 + x to x, 0 * x to 0, and the smaller of two to a minimum
            without NaN, whatever the text says.
        names_constants: the language's compiler folds expressions of literals and refuses overflow
            in them; see folding.
        folds: a value with one use is folded into its user; see folding.
        precise: the qualifier that keeps float operations of a variable as written; "" for none.
        halves_unsigned: a u32 becomes a float in two halves, as the language's own conversion may
            give either neighbour of a number that f32 cannot represent.
        has_warps: lanes exchange by ops of the language, also in divergent control flow. Elsewhere
            passes have lowered these ops to barriers of the block.
        has_matrices: the lanes of a warp multiply matrices; see matrices.
        once: the opening and the end of a block that ``break`` leaves.
        numbers_buffers: a pointer does not determine its buffer, so code is for pointers in certain
            buffers (``Variant.buffers``).
        tables_in_memory: long constant tables follow the parameter block.
    """

    target: ClassVar[str]
    device: ClassVar[str]
    types: ClassVar[dict[DType, str]]
    lacks: ClassVar[dict[DType, str]]
    edges: ClassVar[dict[Type, Type]] = {}
    functions: ClassVar[dict[type[Op], str]]
    wraps: ClassVar[bool] = True
    has_warps: ClassVar[bool] = False
    has_matrices: ClassVar[bool] = False
    merges: ClassVar[bool] = False
    folds_zeros: ClassVar[bool] = False
    names_constants: ClassVar[bool] = False
    folds: ClassVar[bool] = False
    precise: ClassVar[str] = ""
    halves_unsigned: ClassVar[bool] = False
    loop: ClassVar[str] = "for (;;) {"
    once: ClassVar[Pair] = ("do {", "} while (false);")
    numbers_buffers: ClassVar[bool] = False
    tables_in_memory: ClassVar[bool] = False

    # ---- expressions

    def let(self, type_: str, name: str, text: str, exact: bool = False) -> str:
        """Define a name for a value.

        Args:
            exact: no float is in the text.
        """
        return f"{type_} {name} = {text};"

    def var(self, type_: str, name: str, text: str) -> str:
        """Define a variable with an initial value."""
        return f"{type_} {name} = {text};"

    def choose(self, condition: str, on_true: str, on_false: str) -> str:
        """Select one of two scalars."""
        return f"({condition} ? {on_true} : {on_false})"

    def convert(self, target: DType, text: str) -> str:
        """Convert a scalar that is in range, as C does."""
        return f"{self.types[target]}({text})"

    @abstractmethod
    def bits(self, source: DType, target: DType, text: str) -> str:
        """Reinterpret the bits as another scalar of the same size."""

    @abstractmethod
    def literal(self, state: Emission, value: bool | int | float, dtype: DType) -> str:
        """An exact scalar constant."""

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
        """The first lines of a function that has been emitted."""
        return []

    # ---- memory

    @abstractmethod
    def pointer(self, space: Space) -> str:
        """The type of an address in a space; addresses are in bytes."""

    @abstractmethod
    def moved(self, pointer: str, distance: str, dtype: DType, scale: int) -> str:
        """An address plus ``distance`` times ``scale`` bytes; ``dtype`` is the distance's type."""

    @abstractmethod
    def load(self, state: Emission, place: Place, dtype: DType) -> str:
        """Load a scalar from memory."""

    @abstractmethod
    def store(self, state: Emission, place: Place, dtype: DType, value: str) -> None:
        """Write a scalar to memory."""

    @abstractmethod
    def load_pointer(self, state: Emission, place: Place, space: Space) -> str:
        """Load a pointer of 8 bytes into a space from memory."""

    @abstractmethod
    def store_pointer(self, state: Emission, place: Place, type_: PointerType, value: str) -> None:
        """Write a pointer to memory."""

    @abstractmethod
    def number(self, pointer: str) -> str:
        """An address as an unsigned integer, for comparison."""

    def address(self, state: Emission, type_: PointerType, pointer: str) -> str:
        """An address as a u64; ``type_`` is the pointer's."""
        return self.number(pointer)

    @abstractmethod
    def from_address(self, space: Space, text: str) -> str:
        """A u64 as an address; "" is the null pointer."""

    @abstractmethod
    def global_address(self, state: Emission, symbol: str) -> str:
        """The address of a global of the module."""

    @abstractmethod
    def dynamic_shared(self, state: Emission) -> str:
        """The address of the shared memory whose size is given at launch."""

    @abstractmethod
    def local_array(self, state: Emission, size: int) -> str:
        """The address of an array of the thread, of so many bytes."""

    # ---- the grid

    @abstractmethod
    def parameter(self, state: Emission, number: int) -> str:
        """The value of a scalar parameter, or the address in a pointer parameter."""

    @abstractmethod
    def query(self, state: Emission, op: Op) -> str:
        """A grid query's result, as i32."""

    @abstractmethod
    def barrier(self, state: Emission) -> None:
        """Wait for the block; order shared and global memory."""

    @abstractmethod
    def fence(self, state: Emission, op: Op) -> None:
        """Order memory accesses; see ``ir.ops.grid.Fence``."""

    @abstractmethod
    def shared_word(self, state: Emission) -> Place:
        """A u32 of shared memory for gridlane's own counts."""

    @abstractmethod
    def report(self, state: Emission) -> Place:
        """The report block; see ``core.gpu_abi``."""

    # ---- atomics

    @abstractmethod
    def atomic(self, state: Emission, place: Place, dtype: DType, kind: str, value: str) -> str:
        """A native read-modify-write that returns the old value; "" when there is none."""

    @abstractmethod
    def exchange_if(
        self, state: Emission, place: Place, expected: str, desired: str
    ) -> tuple[str, str]:
        """A weak compare-and-swap of a u32: (old value, whether it was replaced)."""

    @abstractmethod
    def atomic_load(self, state: Emission, place: Place) -> str:
        """Load a u32 that other threads may change."""

    def agreed(self, state: Emission, place: Place, first: str) -> str:
        """A u32 of shared memory that all threads of the block read after a barrier, in a form that
        the compiler knows to be uniform; ``first`` is true for one thread."""
        return self.atomic_load(state, place)

    @abstractmethod
    def word(self, state: Emission, place: Place) -> Pair:
        """The address of the 32-bit word around a place, and the place's byte in it (u32)."""

    # ---- matrices, where ``has_matrices``

    def matrix(self, state: Emission, type_: FragmentType) -> str:
        """The type of a fragment."""
        raise NotImplementedError("its lanes multiply no matrices")

    def matrix_of(self, state: Emission, type_: FragmentType, text: str) -> str:
        """A fragment of one number."""
        raise NotImplementedError("its lanes multiply no matrices")

    # ---- warps, where ``has_warps``: lanes exchange words of 32 bits

    def peer(self, state: Emission, word: str, lane: str) -> str:
        """The word of the lane with the given u32 number."""
        raise NotImplementedError("its lanes exchange through shared memory")

    def together(self, state: Emission) -> str:
        """The u32 of the lanes that run an op together (the convergent ones)."""
        raise NotImplementedError("its lanes exchange through shared memory")

    def ballot(self, state: Emission, predicate: str) -> str:
        """The u32 of the convergent lanes whose predicate is true."""
        raise NotImplementedError("its lanes exchange through shared memory")

    def sync_warp(self, state: Emission) -> None:
        """Wait for the lanes of the warp; order their memory accesses."""
        raise NotImplementedError("its lanes exchange through shared memory")

    # ---- the program

    @abstractmethod
    def assemble(self, state: Emission, entry: str) -> str:
        """The whole program, from the parts that the emission has collected."""


@dataclass(slots=True)
class Construct:
    """A loop or scope that is being emitted. ``flag`` is true while a scope is left through the
    loops and scopes inside it."""

    op: Loop | ScopeOp
    flag: str = ""


@frozen
class FunctionText:
    """The text of a library function.

    Attributes:
        declarations: the declarations that must precede it, by name.
        callees: the library functions that it calls, by their names in the IR.
    """

    text: str
    declarations: dict[str, str]
    callees: tuple[str, ...]


Functions: TypeAlias = dict[str, FunctionText]


@dataclass(slots=True)
class Emission:
    """The state of the emission of one kernel."""

    dialect: Dialect
    module: Module
    options: KernelOptions
    block: tuple[int, int, int] | None
    offsets: tuple[int, ...] = ()
    """The offset of each parameter of the kernel in the parameter block, in bytes."""
    folding: Folding = field(default_factory=Folding)
    crossings: Crossings = field(default_factory=Crossings)
    lines: list[str] = field(default_factory=list[str])
    depth: int = 1
    count: int = 0
    names: dict[Value, str] = field(default_factory=dict[Value, str])
    apart: set[Value] = field(default_factory=set[Value])
    """Floats whose text hides how they were made; see rounding."""
    variables: dict[Var, str] = field(default_factory=dict[Var, str])
    structs: dict[Type, str] = field(default_factory=dict[Type, str])
    declarations: dict[str, str] = field(default_factory=dict[str, str])
    """The program's declarations outside of the kernel, by name."""
    prologue: list[str] = field(default_factory=list[str])
    """Declarations at the start of the kernel."""
    constructs: list[Construct] = field(default_factory=list[Construct])
    prints: list[Print] = field(default_factory=list[Print])
    local: int = 0
    """Bytes of the arrays of a thread so far."""
    extra_shared: int = 0
    """Bytes of shared memory that gridlane itself uses."""
    functions: Functions = field(default_factory=dict[str, FunctionText])
    """The library functions already emitted, by their names in the IR."""
    uses: set[str] = field(default_factory=set[str])
    """The parts of the launch and the language that the kernel needs, by words of the dialect."""

    # ---- text

    def line(self, text: str) -> None:
        """Append a line."""
        self.lines.append("    " * self.depth + text)

    @contextmanager
    def block_of(self, head: str, end: str = "}") -> Generator[None]:
        """Emit lines one level deeper, between an opening and an end."""
        self.line(head)
        self.depth += 1
        yield
        self.depth -= 1
        self.line(end)

    def fresh(self, hint: str = "v") -> str:
        """An unused name."""
        self.count += 1
        return f"{hint}{self.count}"

    def let(self, type_: DType, text: str) -> str:
        """Define a name for a scalar; the name."""
        return self.named(self.dialect.types[type_], text)

    def named(self, type_: str, text: str, exact: bool = False) -> str:
        """Define a name for a value of any type, unless it has a name."""
        if self.dialect.folds and _NAMED.fullmatch(text):
            return text
        name = self.fresh()
        self.line(self.dialect.let(type_, name, text, exact))
        return name

    def variable(self, type_: str, text: str) -> str:
        """Define a variable with an initial value; its name."""
        name = self.fresh("m")
        self.line(self.dialect.var(type_, name, text))
        return name

    # ---- values

    def name(self, value: Value) -> str:
        """The text of a value."""
        return self.names[value]

    def set(self, value: Value, name: str) -> None:
        """Set the text of a value."""
        self.names[value] = name

    def give(self, value: Value, text: str) -> None:
        """Define a name for a value by an expression, or fold the expression into its user."""
        if value in self.folding.folded and self.dialect.folds and len(text) <= MOST:
            self.set(value, enclosed(text))
        else:
            exact = value in self.folding.exact
            self.set(value, self.named(self.type_of(value), text, exact))

    def literal(self, value: bool | int | float, dtype: DType) -> str:
        """A scalar constant."""
        return self.dialect.literal(self, value, dtype)

    def zero(self, type_: Type) -> str:
        """The zero of an IR type."""
        if isinstance(type_, DType):
            number = False if type_.is_bool else 0.0 if type_.is_float else 0
            return self.literal(number, type_)
        if isinstance(type_, PointerType):
            return self.dialect.from_address(type_.space, "")
        if isinstance(type_, FragmentType):
            return self.dialect.matrix_of(self, type_, self.zero(type_.element))
        raise AssertionError(f"{type_} has been taken apart")

    # ---- types

    def type_of(self, item: Value | Var) -> str:
        """The language's name of a value's type."""
        if isinstance(item.type, PointerType):
            return self.dialect.pointer(item.type.space)
        return self.type_name(item.type)

    def type_name(self, type_: Type) -> str:
        """The language's name of a type; a struct of parts is declared on first use."""
        type_ = self.dialect.edges.get(type_, type_)
        if isinstance(type_, DType):
            return self.dialect.types[type_]
        if isinstance(type_, PointerType):
            return self.dialect.pointer(type_.space or Space.GLOBAL)
        if isinstance(type_, FragmentType):
            return self.dialect.matrix(self, type_)
        assert isinstance(type_, StructType | VectorType)
        if type_ not in self.structs:
            self.structs[type_] = self.struct_name(part_types(type_))
        return self.structs[type_]

    def struct_name(self, types: Sequence[Type]) -> str:
        """A struct of parts, declared on first use. Its name lists its types, so that a function
        that takes or returns one fits into any kernel."""
        names = [self.type_name(type_) for type_ in types]
        name = re.sub(r"[^A-Za-z0-9]+", "_", "_".join((f"Parts{len(names)}", *names)))
        fields = [(type_, f"p{n}") for n, type_ in enumerate(names)]
        self.declarations[name] = "\n".join(self.dialect.struct(name, fields))
        return name

    def is_edge(self, type_: Type) -> bool:
        """Whether values of a type occur at the edges alone, held in another type."""
        return type_ in self.dialect.edges

    # ---- refusal

    def refuse(self, op: Op, why: str) -> TargetError:
        """The error for an op that the language or its devices do not support."""
        return TargetError(f"{self.dialect.device} cannot do this {op.name}: {why}", op.loc)
