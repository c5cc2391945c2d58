"""The base of every op and the generic machinery that is derived from its fields.

An op is declared as a small dataclass. The annotation of a field says what it is: ``Value`` an
operand, ``tuple[Value, ...]`` operands, ``Region`` a nested region, ``Var`` a variable, anything
else an attribute. Walking, cloning, printing and parsing need nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from enum import Enum, IntFlag
from typing import Any, ClassVar, TypeVar, dataclass_transform

from gridlane.core.errors import VerifyError
from gridlane.core.source import UNKNOWN, Loc
from gridlane.ir.types import Type
from gridlane.ir.values import Function, Module, Region, Value, Var


class FastMath(IntFlag):
    """Freedoms that one floating-point op allows, as in LLVM."""

    NONE = 0
    NNAN = 1
    NINF = 2
    NSZ = 4
    ARCP = 8
    CONTRACT = 16
    AFN = 32
    REASSOC = 64
    FAST = 127


class FieldKind(Enum):
    """What a field of an op is."""

    OPERAND = "operand"
    OPERANDS = "operands"
    REGION = "region"
    VARIABLE = "variable"
    ATTRIBUTE = "attribute"


_KINDS = {
    "Value": FieldKind.OPERAND,
    "tuple[Value, ...]": FieldKind.OPERANDS,
    "Region": FieldKind.REGION,
    "Var": FieldKind.VARIABLE,
}

T = TypeVar("T", bound="Op")

REGISTRY: dict[str, type[Op]] = {}
"""Every op class by its name in the text."""


@dataclass(slots=True, eq=False, repr=False)
class Op:
    """One operation. ``results`` are made from ``result_types`` when the op is."""

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
    """Ends its region: control does not reach what follows."""
    barrier: ClassVar[bool] = False
    """Every thread of the block must come here together."""
    cross_lane: ClassVar[bool] = False
    """Exchanges data between the lanes of a warp."""
    elementwise: ClassVar[bool] = False
    """Takes and gives scalars; the results of a lane follow from its own operands."""
    approximate: ClassVar[bool] = False
    """Devices may differ by the ulp that conformance/functions.py states."""
    commutative: ClassVar[bool] = False
    """The first two operands may change places."""
    modular: ClassVar[bool] = False
    """The low bits of an integer result follow from the low bits of the operands."""
    exact: ClassVar[bool] = False
    """An i32 gives what 64 bits of either sign give, where operands and result fit."""
    signatures: ClassVar[tuple[tuple[Type, ...], ...]] = ()
    """The types of the operands, one tuple for each choice, where the class lists them."""
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
        """Write the op in other ops with ``b``, an ``ir.builder.Builder``, for targets that do not
        emit it. Returns what stands for the results."""
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
        """Put ``change(operand)`` in the place of every operand."""
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


@dataclass(slots=True)
class Scope:
    """Where an op stands, for its ``check``: the function, the module, the enclosing ops."""

    module: Module
    function: Function
    ancestors: tuple[Op, ...] = ()


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def operation(name: str) -> Callable[[type[T]], type[T]]:
    """Make a class an op called ``name`` in the text and register it."""

    def declare(cls: type[T]) -> type[T]:
        # What 110 classes do not need is not generated for them: it is a good part of the import.
        made: Any = dataclass(slots=True, eq=False, repr=False, match_args=False)(cls)
        layout = tuple(
            (item.name, _KINDS.get(str(item.type), FieldKind.ATTRIBUTE), str(item.type))
            for item in fields(made)
            if item.name not in ("loc", "results")
        )

        def of_kind(kind: FieldKind) -> tuple[str, ...]:
            return tuple(n for n, k, _ in layout if k is kind)

        made.name = name
        made.expands = made.expand is not Op.expand
        made.LAYOUT = layout
        made.OPERAND_FIELDS = of_kind(FieldKind.OPERAND)
        made.VARIADIC_FIELDS = of_kind(FieldKind.OPERANDS)
        made.REGION_FIELDS = of_kind(FieldKind.REGION)
        made.VARIABLE_FIELDS = of_kind(FieldKind.VARIABLE)
        made.PLAIN_FIELDS = of_kind(FieldKind.ATTRIBUTE)
        REGISTRY[name] = made
        return made

    return declare


def clone_region(
    region: Region, values: dict[Value, Value], variables: dict[Var, Var] | None = None
) -> Region:
    """A deep copy. ``values`` maps operands from outside and receives the copies of results;
    ``variables`` renames variables; what is not mapped is shared with the original."""
    variables = variables or {}
    return Region([clone_op(op, values, variables) for op in region.ops])


def clone_op(op: Op, values: dict[Value, Value], variables: dict[Var, Var]) -> Op:
    """A copy of one op with its regions; see ``clone_region``."""
    # Inlining does little else, so this goes round the constructor: what the op's results are is
    # known from the op.
    copy = object.__new__(type(op))
    copy.loc = op.loc
    for name in op.PLAIN_FIELDS:
        setattr(copy, name, getattr(op, name))
    for name in op.VARIABLE_FIELDS:
        var = getattr(op, name)
        setattr(copy, name, variables.get(var, var))
    for name in op.OPERAND_FIELDS:
        value = getattr(op, name)
        setattr(copy, name, values.get(value, value))
    for name in op.VARIADIC_FIELDS:
        setattr(copy, name, tuple([values.get(value, value) for value in getattr(op, name)]))
    for name in op.REGION_FIELDS:
        setattr(copy, name, clone_region(getattr(op, name), values, variables))
    copy.results = tuple([Value(old.type, copy, old.name) for old in op.results])
    for old, new in zip(op.results, copy.results, strict=True):
        values[old] = new
    return copy
