"""Translate Python functions, typed by their arguments, to IR."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import TypeVar

from gridlane.core.argtypes import ArgType
from gridlane.core.errors import CompileError
from gridlane.core.options import KernelOptions
from gridlane.core.source import Loc
from gridlane.frontends.python.apart import settle_checks
from gridlane.frontends.python.device_function import Link
from gridlane.frontends.python.functions import compile_device, compile_kernel
from gridlane.frontends.python.recursion import end_recursion
from gridlane.frontends.python.results import result_type, spec_of_type
from gridlane.frontends.python.rules import RULES
from gridlane.frontends.python.scope import Surroundings
from gridlane.frontends.python.unchanged import require_unchanged
from gridlane.frontends.python.unit import Instance, MemoryNeeded, Unit
from gridlane.ir.values import Function, Module
from gridlane.passes.optimise.promote import drop_dead
from gridlane.passes.structure.fresh_arrays import freshen_local_arrays


def translate(
    function: types.FunctionType,
    args: tuple[ArgType, ...],
    options: KernelOptions,
    is_kernel: bool = True,
    around: Surroundings | None = None,
    links: tuple[Link, ...] = (),
    texts: dict[types.FunctionType, str] | None = None,
) -> Module:
    """The IR of a kernel for argument types, with the device functions that it calls.

    Args:
        function: the Python function.
        args: types of its arguments; see README.md for the flat parameters they become.
        options: of the kernel; they hold for its device functions too.
        around: the values around the function; the current ones by default.
        links: code of other languages, which defines what is declared without any.
        texts: receives functions with compile-time parts, as text without these.
        is_kernel: False makes a module of the device function alone, without a kernel.

    Raises:
        CompileError: the function is outside the dialect or its types do not fit; located.
    """
    if not is_kernel:
        return translate_device(function, args, options)[0]
    around = around or Surroundings()

    def attempt(stored: set[Loc]) -> Unit:
        unit = Unit(Module(), options, around, links=links, stored=stored)
        unit.texts = unit.texts if texts is None else texts
        translate_unit(unit, function, args)
        return unit

    try:
        return with_memory(attempt).module
    except CompileError as error:
        # The frames of the translator say nothing to the user.
        raise error.with_traceback(None) from None


Made = TypeVar("Made")


def with_memory(attempt: Callable[[set[Loc]], Made]) -> Made:
    """The result of an attempt, with the places of expressions of arrays that need memory: those
    that earlier attempts found.

    Raises:
        CompileError: as the attempt.
    """
    stored: set[Loc] = set()
    while True:
        try:
            return attempt(stored)
        except MemoryNeeded as error:
            if error.place in stored:
                raise
            stored.add(error.place)


def translate_unit(unit: Unit, function: types.FunctionType, args: tuple[ArgType, ...]) -> None:
    """Translate a kernel into a unit, which is new."""
    tidy(unit, compile_kernel(unit, RULES, function, tuple(args)))
    end_recursion(unit.module, unit.options.stack)


def translate_device(
    function: types.FunctionType, args: tuple[ArgType, ...], options: KernelOptions
) -> tuple[Module, ArgType]:
    """The IR of a device function for argument types, and the type of its result."""
    specs = tuple([spec_of_type(kind) for kind in args])

    def attempt(stored: set[Loc]) -> tuple[Module, ArgType]:
        unit = Unit(Module(), options, stored=stored)
        compiled = compile_device(unit, RULES, Instance(function, specs, options.floats))
        tidy(unit, compiled.function)
        return unit.module, result_type(compiled.result)

    try:
        return with_memory(attempt)
    except CompileError as error:
        raise error.with_traceback(None) from None


def _note_stack(unit: Unit) -> None:
    """Count the arrays of a size that is known when the kernel runs among a thread's stacks."""
    module = unit.module
    for place, size in unit.bounded.items():
        if module.stack is None:
            message = "it makes an array of a size that is known when it runs"
            module.stack, module.stack_holds_addresses = (message, place), False
        module.stack_bytes += size


def tidy(unit: Unit, root: Function) -> None:
    """Make local arrays fresh, erase dead ops and unreachable functions and globals."""
    unit.prune(root)
    require_unchanged(unit)
    settle_checks(unit)
    _note_stack(unit)
    freshen_local_arrays(unit.module)
    for function in unit.module.functions.values():
        drop_dead(function.body)
    unit.prune(root)
