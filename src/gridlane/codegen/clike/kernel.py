"""The program text of a kernel."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gridlane.codegen.clike import atomics, casts, gridops, report, scalars, warps
from gridlane.codegen.clike.base import Dialect
from gridlane.codegen.clike.control import emit_region
from gridlane.codegen.clike.emission import Emission
from gridlane.codegen.clike.memory import declare_variables
from gridlane.core.dtypes import DType
from gridlane.core.errors import TargetError
from gridlane.core.options import KernelOptions
from gridlane.ir.op import Op
from gridlane.ir.ops.arith import Bitcast, Cast
from gridlane.ir.ops.control import Print
from gridlane.ir.ops.memory import (
    Address,
    FromAddress,
    LocalArray,
    ReadVar,
    WriteVar,
    part_types,
)
from gridlane.ir.types import Type
from gridlane.ir.values import Function, Module, Value

FAMILIES = (atomics, casts, gridops, report, scalars, warps)
"""Imported for the emissions that they register."""

EDGES = (Address, FromAddress, Bitcast, Cast, Print)
"""The ops where passes leave scalars that the language has not; see their docstrings."""


@dataclass(frozen=True, slots=True)
class KernelText:
    """The text of a kernel and what the runtime must know of it.

    Attributes:
        extra_shared: bytes of shared memory beyond the module's arrays.
        reports: it writes to the report block.
    """

    text: str
    entry: str
    prints: tuple[Print, ...]
    extra_shared: int
    reports: bool
    uses_dynamic_shared: bool


def emit_kernel(
    module: Module,
    dialect: Dialect,
    options: KernelOptions,
    offsets: tuple[int, ...],
    block: tuple[int, int, int] | None = None,
) -> KernelText:
    """Emit a kernel whose calls are inlined, in a language.

    Args:
        offsets: of each parameter in the parameter block, in bytes.
        block: the block shape, for languages that have it in the text.

    Raises:
        TargetError: the language or its devices cannot do what an op asks; located.
    """
    kernel = module.kernel
    _require_types(kernel, dialect)
    state = Emission(dialect, module, options, block, offsets)
    used = {value for op in kernel.body.walk() for value in op.operands()}
    for number, param in enumerate(kernel.params):
        if param.value in used:
            state.give(param.value, dialect.parameter(state, number))
    declare_variables(state, kernel.variables)
    emit_region(state, kernel.body)
    entry = dialect.entry or entry_name(kernel.name)
    return KernelText(
        dialect.assemble(state, entry),
        entry,
        tuple(state.prints),
        state.extra_shared,
        "report" in state.uses,
        "dynamic" in state.uses,
    )


def entry_name(name: str) -> str:
    """A kernel's name as every language allows it. The prefix keeps it from being a keyword.

    >>> entry_name("f.<locals>.g"), entry_name("kernel")
    ('k_f_locals_g', 'k_kernel')
    """
    return "k_" + re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")


def _require_types(kernel: Function, dialect: Dialect) -> None:
    """Refuse what computes with a scalar that the language has not."""
    for op in kernel.body.walk():
        for type_ in _types_of(op):
            for dtype in _scalars_in(type_):
                if dtype not in dialect.types and not _comes_or_goes(op, dtype, dialect):
                    why = dialect.lacks.get(dtype, "no shader of its language has it")
                    raise TargetError(f"{dialect.device} have no {dtype}: {why}", op.loc)


def _comes_or_goes(op: Op, dtype: DType, dialect: Dialect) -> bool:
    """Whether an op takes a scalar in or gives it out, where its bits are held in another type."""
    return dtype in dialect.edges and isinstance(op, EDGES)


def _types_of(op: Op) -> list[Type]:
    values: list[Value] = [*op.operands(), *op.results]
    types: list[Type] = [value.type for value in values]
    if isinstance(op, ReadVar | WriteVar):
        types.append(op.var.type)
    if isinstance(op, LocalArray):
        types.append(op.element)
    return types


def _scalars_in(type_: Type) -> list[DType]:
    """The scalars that a value of a type holds; what a pointer points to is looked at where it is
    read."""
    if isinstance(type_, DType):
        return [type_]
    return [dtype for part in part_types(type_) for dtype in _scalars_in(part)]
