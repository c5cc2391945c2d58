"""The declaration of ops, and the generic machinery that is derived from their fields.

An op is declared as a small dataclass. The annotation of a field determines its kind: ``Value`` an
operand, ``tuple[Value, ...]`` operands, ``Region`` a nested region, ``Var`` a variable, anything
else an attribute. Walking, cloning, printing and parsing need nothing more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from enum import IntFlag
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

from gridlane.core.frozen import constructor
from gridlane.ir.types import Type
from gridlane.ir.values import FieldKind, Op, Region, Scope, Value, Var

# ``Op`` itself is in values.py: a value knows its op, and an op its values.
__all__ = [
    "REGISTRY", "FastMath", "FieldKind", "Op", "Scope", "clone_op", "clone_region", "family",
    "operation",
]  # fmt: skip


class FastMath(IntFlag):
    """How one floating-point op differs from IEEE 754: freedoms that it allows, as in LLVM, and
    FTZ, which is a requirement: a subnormal f32 is 0 of its sign, as an operand and as a result,
    which counts as subnormal if it is so when rounded to 24 bits. With ROUGH a result may have the
    error that PTX allows its approximate instruction, on targets that have it; with FLUSHABLE a
    subnormal f32 may be 0 of its sign, where that is quicker."""

    NONE = 0
    NNAN = 1
    NINF = 2
    NSZ = 4
    ARCP = 8
    CONTRACT = 16
    AFN = 32
    REASSOC = 64
    FAST = 127
    FTZ = 128
    ROUGH = 256
    FLUSHABLE = 512


_KINDS = {
    "Value": FieldKind.OPERAND,
    "tuple[Value, ...]": FieldKind.OPERANDS,
    "Region": FieldKind.REGION,
    "Var": FieldKind.VARIABLE,
}

T = TypeVar("T", bound="Op")

REGISTRY: dict[str, type[Op]] = {}
"""Every op class by its name in the text."""


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def family(cls: type[T]) -> type[T]:
    """Make a class the base of ops that begin with its fields."""
    # 150 classes do not need these methods: generating them is a good part of the import.
    return dataclass(init=False, slots=True, eq=False, repr=False, match_args=False)(cls)


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def operation(name: str) -> Callable[[type[T]], type[T]]:
    """Make a class an op called ``name`` in the text and register it."""

    def declare(cls: type[T]) -> type[T]:
        op_class: Any = family(cls)
        if "__init__" not in cls.__dict__:
            op_class.__init__ = constructor(op_class, refuses=False)
        layout = tuple(
            (item.name, _KINDS.get(str(item.type), FieldKind.ATTRIBUTE), str(item.type))
            for item in fields(op_class)
            if item.name not in ("loc", "results")
        )

        def of_kind(kind: FieldKind) -> tuple[str, ...]:
            return tuple(n for n, k, _ in layout if k is kind)

        op_class.name = name
        op_class.expands = op_class.expand is not Op.expand
        op_class.LAYOUT = layout
        op_class.OPERAND_FIELDS = of_kind(FieldKind.OPERAND)
        op_class.VARIADIC_FIELDS = of_kind(FieldKind.OPERANDS)
        op_class.REGION_FIELDS = of_kind(FieldKind.REGION)
        op_class.VARIABLE_FIELDS = of_kind(FieldKind.VARIABLE)
        op_class.PLAIN_FIELDS = of_kind(FieldKind.ATTRIBUTE)
        # Of a class and its bases the nearest one that says what the results are is right.
        says = ("result_types", "produces")
        nearest = next(each for each in cls.__mro__ if not vars(each).keys().isdisjoint(says))
        if "result_types" not in vars(nearest):
            op_class.result_types = _producer(op_class)
        REGISTRY[name] = op_class
        return op_class

    return declare


def _producer(cls: type[Op]) -> Callable[[Op], tuple[Type, ...]]:
    """The ``result_types`` of a class that lists what it produces."""
    types = tuple([each for each in cls.produces if not isinstance(each, str)])
    if len(types) == len(cls.produces):
        return lambda _: types

    def reader(each: Type | str) -> Callable[[Op], Type]:
        if not isinstance(each, str):
            return lambda _: each
        return attrgetter(each if each in cls.PLAIN_FIELDS else f"{each}.type")

    first, *others = [reader(each) for each in cls.produces]
    if others:
        return lambda op: (first(op), *[read(op) for read in others])
    return lambda op: (first(op),)


def clone_region(
    region: Region, values: dict[Value, Value], variables: dict[Var, Var] | None = None
) -> Region:
    """A deep copy. ``values`` maps operands from outside and receives the copies of results;
    ``variables`` renames variables; unmapped ones are shared with the original."""
    variables = variables or {}
    return Region([clone_op(op, values, variables) for op in region.ops])


def clone_op(op: Op, values: dict[Value, Value], variables: dict[Var, Var]) -> Op:
    """A copy of one op with its regions; see ``clone_region``."""
    # Inlining does little else, so this bypasses the constructor: the results' types are known from
    # the op.
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
