"""The parts of a program: values, mutable variables, ops, regions, functions, modules."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

from gridlane.core.errors import VerifyError
from gridlane.core.exports import Export
from gridlane.core.frozen import frozen
from gridlane.core.source import UNKNOWN, Loc
from gridlane.ir.types import Space, Type

if TYPE_CHECKING:
    from gridlane.core.tensor_map import TensorMapUse


class Value:
    """The immutable result of one op, or a parameter (``op`` is None).

    A value is visible from its op to the end of the enclosing region, nested regions included; a
    value of a ``block`` also in all blocks that the block dominates.
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
    keeps early exits simple and maps one to one onto the local variables of shading languages.
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


class FieldKind(Enum):
    """The kind of an op's field."""

    OPERAND = "operand"
    OPERANDS = "operands"
    REGION = "region"
    VARIABLE = "variable"
    ATTRIBUTE = "attribute"


@dataclass(slots=True, eq=False, repr=False)
class Op:
    """One operation. The constructor makes ``results`` from ``result_types``."""

    name: ClassVar[str] = ""
    LAYOUT: ClassVar[tuple[tuple[str, FieldKind, str], ...]] = ()
    OPERAND_FIELDS: ClassVar[tuple[str, ...]] = ()
    VARIADIC_FIELDS: ClassVar[tuple[str, ...]] = ()
    REGION_FIELDS: ClassVar[tuple[str, ...]] = ()
    VARIABLE_FIELDS: ClassVar[tuple[str, ...]] = ()
    PLAIN_FIELDS: ClassVar[tuple[str, ...]] = ()

    pure: ClassVar[bool] = False
    """No effect but its results, so it may be removed, moved and repeated."""
    terminator: ClassVar[bool] = False
    """Ends its region: control does not reach the code after it."""
    barrier: ClassVar[bool] = False
    """Every thread of the block must reach it in uniform control flow."""
    cross_lane: ClassVar[bool] = False
    """Exchanges data between the lanes of a warp."""
    elementwise: ClassVar[bool] = False
    """Operands and results are scalars; the results of a lane follow from its own operands."""
    approximate: ClassVar[bool] = False
    """Devices may differ by the ulp that conformance/functions.py states."""
    commutative: ClassVar[bool] = False
    """The first two operands are commutative."""
    modular: ClassVar[bool] = False
    """The low bits of an integer result follow from the low bits of the operands."""
    exact: ClassVar[bool] = False
    """32-bit arithmetic gives the 64-bit result of either sign, where operands and result fit."""
    signatures: ClassVar[tuple[tuple[Type, ...], ...]] = ()
    """The types of the operands, one tuple per signature, where the class lists them."""
    produces: ClassVar[tuple[Type | str, ...]] = ()
    """The type of each result, or the field that is or has this type."""
    expands: ClassVar[bool] = False
    """The class has ``expand``."""

    loc: Loc = field(default=UNKNOWN, kw_only=True)
    results: tuple[Value, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        self.results = tuple([Value(type_, self) for type_ in self.result_types()])

    def __repr__(self) -> str:
        parts = ", ".join(f"{name}={getattr(self, name)!r}" for name, _, _ in self.LAYOUT)
        return f"{type(self).__name__}({parts})"

    def result_types(self) -> tuple[Type, ...]:
        """Types of the results, from the operands and attributes."""
        return ()

    def check(self, scope: Scope) -> None:
        """Raise VerifyError unless operands and attributes fit. See ``require``."""

    def expand(self, b: Any) -> tuple[Value, ...]:
        """Expand the op with ``b``, an ``ir.builder.Builder``, for targets that do not emit it.
        Return the replacements of the results."""
        raise NotImplementedError(f"{self.name} has no expansion")

    @property
    def result(self) -> Value:
        """The only result."""
        return self.results[0]

    def operands(self) -> Iterator[Value]:
        """Every operand, in order."""
        for name in self.OPERAND_FIELDS:
            yield getattr(self, name)
        for name in self.VARIADIC_FIELDS:
            yield from getattr(self, name)

    def regions(self) -> Iterator[Region]:
        """Every nested region, in order."""
        for name in self.REGION_FIELDS:
            yield getattr(self, name)

    def replace_operands(self, change: Callable[[Value], Value]) -> None:
        """Replace every operand by ``change(operand)``."""
        for name in self.OPERAND_FIELDS:
            old = getattr(self, name)
            new = change(old)
            if new is not old:
                setattr(self, name, new)
        for name in self.VARIADIC_FIELDS:
            setattr(self, name, tuple([change(value) for value in getattr(self, name)]))

    def require(self, condition: bool, message: str) -> None:
        """Raise VerifyError with ``message`` unless ``condition``."""
        if not condition:
            raise VerifyError(f"{self.name}: {message} (at {self.loc})")


@dataclass(slots=True, eq=False)
class Param:
    """A parameter of a function.

    A kernel's parameter is one scalar or pointer of the caller's argument number ``argument``;
    ``path`` locates it there: () the scalar itself, ("data",), ("shape", 0), ("strides", 1), or
    tuple and field indices in front of these. ``noalias``: no other parameter aliases this memory.
    ``align`` is the known alignment of the pointer, or a number that is known to divide an integer;
    ``readonly``: nothing writes there. ``mapped``: of a tensor descriptor's pointer; the numbers of
    each launch are such that a tensor map describes it: the address and the strides are multiples
    of 16 bytes, no extent is 0; see ``core.tensor_map.fits``. ``by_value``: how many bytes the
    caller passes by value, at a multiple of 64; the parameter's value is their generic address.
    """

    value: Value
    argument: int = 0
    path: tuple[str | int, ...] = ()
    noalias: bool = False
    readonly: bool = False
    align: int = 0
    mapped: bool = False
    by_value: int = 0


@dataclass(slots=True, eq=False)
class Function:
    """A kernel or device function: parameters, variables, one structured body.

    ``is_library``: passes wrote it to expand ops that a target lacks. It depends on its arguments
    alone, and its name identifies its body; so it may stay a function, and its compiled form is
    valid in every kernel. ``is_declared``: a library function without its body, whose compiled form
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
        """Its size in bytes."""
        return self.element.size * self.count


@frozen
class ErrorSite:
    """The report of a ``raise`` op: builtin exception name, message, location. ``detail`` is the
    message where the op has numbers, with a ``{}`` for each."""

    exception: str
    message: str
    loc: Loc = UNKNOWN
    detail: str = ""


@dataclass(slots=True, eq=False)
class Module:
    """Functions and globals of one program; exactly one function is the kernel.

    ``coarse``: how many blocks of the launch along x one block of the kernel runs. ``known``: names
    of library functions that need no body, as the code generator has their compiled form.
    ``gathers_loops``: all loops must be in the kernel, where a pass watches them.
    ``hides_bit_selects``: the code generator hides the ops that ``codegen/joined_bits.py`` finds.
    ``hides_units``: it hides the constants that ``codegen/chosen_units.py`` finds.
    ``buffers``, ``untraced``: as in ``core.artifact.Artifact``. ``stack``: what needs a stack for
    each thread, in words, and its place: a function that calls itself, or an alloca. ``export``:
    the kernel is a function that other code calls, and its first parameter is the address of its
    result. ``stack_bytes``: how large the stacks of functions that call themselves are.
    ``stack_holds_addresses``: so does an alloca's. ``constants_at``: the offset from the parameter
    block at which the constant data lies; 0 where it is in the code. ``program_warps``: the warps
    that a block of stage ``tile`` is asked to have where a target has threads; 0: at its choice.
    ``extra_threads``: those that each block has besides those of the launch.
    ``own_dynamic``: bytes of dynamic shared memory where passes have placed arrays of the kernel.
    ``program_stages``: how many iterations of a loop of stage ``tile`` may be in flight.
    ``program_cluster``: how many programs of stage ``tile``, neighbours along x, are asked to run
    at once, so that a tile which all of them load is loaded once; ``cluster``: how many blocks
    along x, y and z form a cluster, of which each launch's grid consists.
    ``tensor_maps``: what the kernel's parameters that are tensor maps describe.
    """

    functions: dict[str, Function] = field(default_factory=dict[str, Function])
    globals: dict[str, Global] = field(default_factory=dict[str, Global])
    errors: list[ErrorSite] = field(default_factory=list[ErrorSite])
    coarse: int = 1
    known: Container[str] = ()
    gathers_loops: bool = False
    hides_bit_selects: bool = False
    hides_units: bool = False
    buffers: tuple[int, ...] = ()
    untraced: bool = False
    stack: tuple[str, Loc] | None = None
    export: Export | None = None
    stack_bytes: int = 0
    stack_holds_addresses: bool = True
    constants_at: int = 0
    program_warps: int = 0
    program_stages: int = 1
    program_cluster: int = 1
    cluster: tuple[int, int, int] = (1, 1, 1)
    own_dynamic: int = 0
    extra_threads: int = 0
    tensor_maps: tuple[TensorMapUse, ...] = ()

    @property
    def kernel(self) -> Function:
        """The one kernel."""
        return next(function for function in self.functions.values() if function.is_kernel)

    def constant_data(self) -> bytes:
        """The data of the constant arrays, each from a multiple of 16 bytes on."""
        items = [item for item in self.globals.values() if item.space is Space.CONSTANT]
        return b"".join([(item.data or b"") + bytes(-item.size % 16) for item in items])

    def offset_of(self, symbol: str) -> int:
        """The offset of an array among those of its space, as in ``constant_data``."""
        item, offset = self.globals[symbol], 0
        for other in self.globals.values():
            if other is item:
                break
            if other.space is item.space:
                offset += -(-other.size // 16) * 16
        return offset

    def static_shared(self) -> list[Global]:
        """The statically sized shared arrays, in declaration order."""
        return [item for item in self.globals.values() if item.space is Space.SHARED]


@dataclass(slots=True)
class Scope:
    """The position of an op, for its ``check``: the function, the module, the enclosing ops."""

    module: Module
    function: Function
    ancestors: tuple[Op, ...] = ()
