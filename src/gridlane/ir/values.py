"""What ops compute with: values, mutable variables, regions, functions, modules."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gridlane.core.source import UNKNOWN, Loc
from gridlane.ir.types import Space, Type

if TYPE_CHECKING:
    from gridlane.ir.op import Op


class Value:
    """The immutable result of one op, or a parameter (``op`` is None).

    A value is visible from its op to the end of the region that holds it, nested regions included.
    """

    __slots__ = ("name", "op", "type")

    def __init__(self, type_: Type, op: Op | None = None, name: str = "") -> None:
        self.type = type_
        self.op = op
        self.name = name

    def __repr__(self) -> str:
        return f"%{self.name or '?'}: {self.type}"


class Var:
    """A mutable variable of one thread. It starts as zero at each entry of its function.

    Loops and branches carry state through variables rather than through region arguments, which
    makes early exits plain and maps one to one onto the local variables of shading languages.
    """

    __slots__ = ("name", "type")

    def __init__(self, name: str, type_: Type) -> None:
        self.name = name
        self.type = type_

    def __repr__(self) -> str:
        return f"var %{self.name}: {self.type}"


class Region:
    """A list of ops executed in order. A terminator, if any, is its last op."""

    __slots__ = ("ops",)

    def __init__(self, ops: list[Op] | None = None) -> None:
        self.ops: list[Op] = [] if ops is None else ops

    def __iter__(self) -> Iterator[Op]:
        return iter(self.ops)

    def __len__(self) -> int:
        return len(self.ops)

    def walk(self) -> Iterator[Op]:
        """Every op inside, outer before inner, in program order. Regions may nest to any depth."""
        stack = [iter(self.ops)]
        while stack:
            for op in stack[-1]:
                yield op
                if op.REGION_FIELDS:
                    stack += [iter(region.ops) for region in reversed(list(op.regions()))]
                    break
            else:
                stack.pop()


@dataclass(slots=True, eq=False)
class Param:
    """A parameter of a function.

    A kernel's parameter is one scalar or pointer of the caller's argument number ``argument``;
    ``path`` says which: () the scalar itself, ("data",), ("shape", 0), ("strides", 1), or tuple
    and field indices in front of these. ``noalias``: no other parameter reaches this memory.
    ``align`` is what the pointer is known to be aligned to; ``readonly``: nothing writes there.
    """

    value: Value
    argument: int = 0
    path: tuple[str | int, ...] = ()
    noalias: bool = False
    readonly: bool = False
    align: int = 0


@dataclass(slots=True, eq=False)
class Function:
    """A kernel or device function: parameters, variables, one structured body.

    ``is_library``: passes wrote it for ops that a target lacks. It computes with its arguments
    alone, and its name says all that it does; so it may stay a function, and what it becomes for
    one kernel is right for all. ``is_declared``: such a one without its body, as what that becomes
    is known.
    """

    name: str
    params: list[Param] = field(default_factory=list[Param])
    results: tuple[Type, ...] = ()
    body: Region = field(default_factory=Region)
    variables: list[Var] = field(default_factory=list[Var])
    is_kernel: bool = False
    loc: Loc = UNKNOWN
    is_library: bool = False
    is_declared: bool = False


@dataclass(slots=True, eq=False)
class Global:
    """A named array outside every function: shared memory of a block, or constant data."""

    name: str
    element: Type
    count: int
    space: Space
    align: int = 16
    data: bytes | None = None

    @property
    def size(self) -> int:
        """Bytes it takes."""
        return self.element.size * self.count


@dataclass(frozen=True, slots=True)
class ErrorSite:
    """What a ``raise`` op reports: builtin exception name, message, place."""

    exception: str
    message: str
    loc: Loc = UNKNOWN


@dataclass(slots=True, eq=False)
class Module:
    """Functions and globals that belong together; exactly one function is the kernel.

    ``coarse``: how many blocks of the launch along x the kernel does in one. ``known``: names of
    library functions that need no body, as the code generator has what they become.
    ``gathers_loops``: all loops are to be in the kernel, where a pass watches them.
    ``hides_bit_selects``: the code generator hides what ``codegen/joined_bits.py`` finds.
    """

    functions: dict[str, Function] = field(default_factory=dict[str, Function])
    globals: dict[str, Global] = field(default_factory=dict[str, Global])
    errors: list[ErrorSite] = field(default_factory=list[ErrorSite])
    coarse: int = 1
    known: Container[str] = ()
    gathers_loops: bool = False
    hides_bit_selects: bool = False

    @property
    def kernel(self) -> Function:
        """The one kernel."""
        return next(function for function in self.functions.values() if function.is_kernel)

    def static_shared(self) -> list[Global]:
        """The statically sized shared arrays, in declaration order."""
        return [item for item in self.globals.values() if item.space is Space.SHARED]
