"""The program text of a kernel."""

from __future__ import annotations

import re

from gridlane.analysis.crossings import Crossings
from gridlane.codegen.clike import (
    atomics,
    casts,
    functions,
    gridops,
    matrices,
    report,
    scalars,
    warps,
)
from gridlane.codegen.clike.control import emit_region
from gridlane.codegen.clike.emission import Dialect, Emission, Functions
from gridlane.codegen.clike.folding import folding_of
from gridlane.codegen.clike.memory import declare_variables
from gridlane.codegen.clike.types import require_types
from gridlane.core.frozen import frozen
from gridlane.core.options import KernelOptions
from gridlane.ir.ops.control import Print
from gridlane.ir.values import Module

FAMILIES = (atomics, casts, functions, gridops, matrices, report, scalars, warps)
"""Imported for the emitters that they register."""


@frozen
class KernelText:
    """The text of a kernel and the facts that the runtime needs.

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
    known: Functions | None = None,
) -> KernelText:
    """Emit a kernel that calls library functions alone, in a language.

    Args:
        offsets: the offset of each parameter in the parameter block, in bytes.
        block: the block shape, for languages that have it in the text.
        known: the cached library functions; those of this kernel are added.

    Raises:
        TargetError: the language or its devices do not support an op; located.
    """
    kernel = module.kernel
    require_types(kernel, dialect)
    state = Emission(dialect, module, options, block, offsets)
    state.folding = folding_of(kernel, bool(dialect.precise))
    state.crossings = Crossings(kernel.body)
    state.functions = {} if known is None else known
    used = {value for op in kernel.body.walk() for value in op.operands()}
    for number, param in enumerate(kernel.params):
        if param.value in used:
            state.give(param.value, dialect.parameter(state, number))
    declare_variables(state, kernel.variables)
    emit_region(state, kernel.body)
    entry = entry_name(kernel.name)
    return KernelText(
        dialect.assemble(state, entry),
        entry,
        tuple(state.prints),
        state.extra_shared,
        "report" in state.uses,
        "dynamic" in state.uses,
    )


def entry_name(name: str) -> str:
    """A kernel's name in a form that every language allows. The prefix keeps it from being a
    keyword. GLSL calls every entry point main.

    >>> entry_name("f.<locals>.g"), entry_name("kernel")
    ('k_f_locals_g', 'k_kernel')
    """
    return "k_" + re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
