"""Checks the scalar types of functions against those of a language."""

from __future__ import annotations

from gridlane.codegen.clike.emission import Dialect
from gridlane.core.dtypes import DType
from gridlane.core.errors import TargetError
from gridlane.ir.op import Op
from gridlane.ir.ops.arith import Bitcast, Cast
from gridlane.ir.ops.control import Print
from gridlane.ir.ops.memory import (
    Address,
    FromAddress,
    LocalArray,
    part_types,
)
from gridlane.ir.types import Type
from gridlane.ir.values import Function, Value

EDGES = (Address, FromAddress, Bitcast, Cast, Print)
"""The ops at which passes leave scalars that the language lacks; see their docstrings."""


def require_types(function: Function, dialect: Dialect) -> None:
    """Refuse an op that computes with a scalar that the language lacks."""
    lacking: dict[Type, list[DType]] = {}
    for op in function.body.walk():
        for type_ in _types_of(op):
            if type_ not in lacking:
                lacking[type_] = [d for d in _scalars_in(type_) if d not in dialect.types]
            for dtype in lacking[type_]:
                if not _comes_or_goes(op, dtype, dialect):
                    why = dialect.lacks.get(dtype, "no shader of its language has it")
                    raise TargetError(f"{dialect.device} have no {dtype}: {why}", op.loc)


def _comes_or_goes(op: Op, dtype: DType, dialect: Dialect) -> bool:
    """Whether an op is an edge of the kernel for a scalar, where another type holds its bits."""
    return dtype in dialect.edges and isinstance(op, EDGES)


def _types_of(op: Op) -> list[Type]:
    values: list[Value] = [*op.operands(), *op.results]
    types: list[Type] = [value.type for value in values]
    if isinstance(op, LocalArray):
        types.append(op.element)
    return types


def _scalars_in(type_: Type) -> list[DType]:
    """The scalars in a value of a type; the element of a pointer is checked at its loads."""
    if isinstance(type_, DType):
        return [type_]
    return [dtype for part in part_types(type_) for dtype in _scalars_in(part)]
