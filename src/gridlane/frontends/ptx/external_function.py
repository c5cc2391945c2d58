"""A function of a PTX module, called from another language: structured IR, and its declaration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from gridlane.core.config import config
from gridlane.core.frozen import frozen
from gridlane.frontends.ptx.declarations import Declared
from gridlane.frontends.ptx.further import FURTHER
from gridlane.frontends.ptx.module import PtxFunction, PtxModule
from gridlane.frontends.ptx.pieces import Piece, pieces
from gridlane.frontends.ptx.roots import Root
from gridlane.frontends.ptx.translate import translate_root
from gridlane.ir.types import Space
from gridlane.ir.values import Function, Module
from gridlane.passes.optimise.fold_signs import fold_signs
from gridlane.passes.structure.recursion import remove_recursion
from gridlane.passes.structure.structurize import structurize

_RESULT = "result$of$caller"
"""The local variable whose address a function gets for its result."""


@frozen
class Foreign:
    """A translated function.

    Attributes:
        module: it, with the functions that it calls.
        function: it, in the IR. Its parameters are those of the PTX, but for the result's address.
        results: the pieces of what it returns.
        stored: the pieces of what it stored for its caller, which follow in the IR's results.
    """

    module: Module
    function: Function
    results: tuple[Piece, ...]
    stored: tuple[Piece, ...]


def find(module: PtxModule, name: str) -> PtxFunction:
    """A function that the module defines.

    Raises:
        PtxError: there is none; the message lists those there are.
    """
    function = module.functions.get(name)
    if function is None or function.is_entry or not function.has_body:
        functions = module.functions.values()
        known = ", ".join(each.name for each in functions if each.has_body and not each.is_entry)
        said = (
            " is a kernel" if function is not None and function.is_entry else " is not defined here"
        )
        hint = f"; the functions are: {known or 'none'}"
        if "_Z" in known:
            hint += ' (C++ mangles names, but those of extern "C")'
        module.text.fail(f"{name}{said}{hint}", 0)
    return function


def translate_foreign(
    module: PtxModule,
    name: str,
    spaces: Mapping[int, Space],
    result: tuple[int, int] | None = None,
) -> Foreign:
    """The IR of a function.

    Args:
        spaces: of the parameters that receive pointers, by their numbers.
        result: the size and alignment of the value for which the first parameter is an address.

    Raises:
        PtxError: the function, or one that it calls, is not translated, or it uses variables of
            its module otherwise than as constants.
    """
    function = find(module, name)
    hidden: tuple[Declared, Declared] | None = None
    if result is not None:
        size, align = result
        value = Declared(_RESULT, "b8", "local", max(1, size), align, function.at, is_array=True)
        hidden = function.params[0], value
    pointers = {function.params[number]: space for number, space in spaces.items()}
    whole = Root(function, pointers, hidden)
    new_root = translate_root(module, whole)
    root = new_root.functions[whole.name]
    further = {param.argument - len(function.params) for param in root.params} & set(
        range(len(FURTHER))
    )
    if further:
        _refuse(module, function, FURTHER[min(further)])
    remove_recursion(new_root, config().stack, root.name)
    structurize(new_root)
    fold_signs(new_root)
    returned = [piece for each in function.results for piece in pieces(each)]
    stored = [] if hidden is None else pieces(hidden[1])
    return Foreign(new_root, root, tuple(returned), tuple(stored))


def _refuse(module: PtxModule, function: PtxFunction, kind: str) -> NoReturn:
    names = [each.name for each in module.variables.values() if each.space in ("global", "const")]
    use = {
        "data": f"variables of its module ({', '.join(names[:8])})",
        "heap": "malloc",
        "gridid": "the number of the launch",
        "launches": "launches of kernels",
    }[kind]
    module.text.fail(
        f"{function.name} uses {use}, which a function that a Python kernel calls does not have: "
        "hand it an array, or launch a kernel of the module by cuda.RawModule",
        function.at,
    )
