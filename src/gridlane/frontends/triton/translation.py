"""From a function and the types of its arguments to a module of stage tile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gridlane.core.argtypes import ArgType
from gridlane.core.errors import CompileError
from gridlane.core.options import KernelOptions
from gridlane.frontends.triton.calling import inline
from gridlane.frontends.triton.constants import unwrapped
from gridlane.frontends.triton.context import Unit, make_builder, translating
from gridlane.frontends.triton.errors import CompilationError
from gridlane.frontends.triton.expressions import EXPRESSIONS
from gridlane.frontends.triton.functions import TileFunction
from gridlane.frontends.triton.parameters import Block, Key, Parameters
from gridlane.frontends.triton.statements import STATEMENTS
from gridlane.frontends.triton.translator import Frame, Rules, Translator
from gridlane.frontends.triton.types import dtype
from gridlane.ir.values import Function, Module
from gridlane.passes.optimise.promote import drop_dead

RULES = Rules(EXPRESSIONS, STATEMENTS, inline)


def translate(
    function: TileFunction,
    types: tuple[ArgType, ...],
    options: KernelOptions,
    constants: Mapping[Key, Any] | None = None,
    blocks: Mapping[Key, Block] | None = None,
    aligned: Mapping[Key, int] | None = None,
    warps: int = 4,
    elements: Mapping[Key, dtype] | None = None,
    stages: int = 1,
    cluster: int = 1,
) -> Module:
    """The module of a program.

    Args:
        function: the program.
        types: of the arguments, without those of constant parameters.
        options: of the kernel.
        constants: the values of constant parameters, and of places in tuples.
        blocks: what host descriptors say besides their arrays.
        aligned: multiples of bytes at which pointers are known to lie, and numbers that divide
            integers.
        warps: the warps that the program asks for.
        elements: the types of what pointers are to, where the IR's say less: floats of 8 bits,
            whose arguments are of uint8.
        stages: the iterations of a loop that the program asks to have in flight.
        cluster: the programs along x that are asked to share loads.

    Raises:
        CompileError: the program is outside the language or its types do not fit; located.
    """
    place = function.source.locate(function.source.node)
    kernel = Function(function.fn.__name__, is_kernel=True, loc=place)
    module = Module({kernel.name: kernel}, program_warps=warps, program_stages=stages)
    module.program_cluster = cluster
    unit = Unit(module, options, make_builder(module, kernel, options, place))
    unit.names.add(kernel.name)
    fixed = {key: unwrapped(value) for key, value in (constants or {}).items()}
    try:
        with translating(unit):
            t = Translator(unit, RULES)
            readonly = [name for name in function.arg_names if function.is_readonly(name)]
            parameters = Parameters(unit.b, fixed, blocks or {}, aligned or {}, readonly, elements)
            scope = _arguments(function, types, fixed, parameters)
            t.frames.append(Frame(function, scope, is_kernel=True))
            if not t.block(function.source.body):
                unit.b.return_()
    except CompileError as error:
        # The frames of the translator say nothing to the user.
        raise error.with_traceback(None) from error.__cause__
    except RecursionError:
        raise CompilationError("calls are nested too deeply", place) from None
    for each in module.functions.values():
        drop_dead(each.body)
    return module


def _arguments(
    function: TileFunction,
    types: tuple[ArgType, ...],
    constants: Mapping[Key, Any],
    parameters: Parameters,
) -> dict[str, Any]:
    """The values of the parameters. The numbers of arguments are those of ``types``."""
    rest = [name for name in function.arg_names if name not in constants]
    if len(rest) != len(types):
        raise CompilationError(
            f"{function.fn.__name__}() has {len(rest)} parameters besides its constants, "
            f"{', '.join(rest)}; the types of {len(types)} are given",
            function.source.locate(function.source.node),
        )
    given = dict(zip(rest, enumerate(types), strict=True))
    scope: dict[str, Any] = {}
    for name in function.arg_names:
        if name in constants:
            scope[name] = constants[name]
        else:
            number, kind = given[name]
            scope[name] = parameters.value(name, kind, number)
    return scope
