"""The state of emission of one kernel, and how the op families register theirs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from gridlane.codegen.clike.base import Dialect
from gridlane.codegen.emitters import Emitters
from gridlane.core.dtypes import DType
from gridlane.core.errors import TargetError
from gridlane.core.options import KernelOptions
from gridlane.ir.op import Op
from gridlane.ir.ops.control import Loop, Print, ScopeOp
from gridlane.ir.ops.memory import part_types
from gridlane.ir.types import PointerType, Space, StructType, Type, VectorType
from gridlane.ir.values import Module, Value, Var

Emitter = Callable[["Emission", Op], None]

EMITTERS = Emitters()
"""What this code generator emits; its other modules fill it."""
TABLE: dict[type[Op], Emitter] = EMITTERS.table
emits = EMITTERS.emits


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
    lines: list[str] = field(default_factory=list[str])
    depth: int = 1
    count: int = 0
    names: dict[Value, str] = field(default_factory=dict[Value, str])
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
    def block_of(self, head: str, end: str = "}") -> Iterator[None]:
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
        """Name a value of any type."""
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
        """Name a value by an expression."""
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
