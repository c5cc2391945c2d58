"""The compile-time parts of a function that is about to be translated."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any

from gridlane.core.argtypes import ArgType
from gridlane.core.errors import TypingError
from gridlane.core.options import KernelOptions
from gridlane.frontends.python.constants import operand_of
from gridlane.frontends.python.consteval import Rewritten, rewritten
from gridlane.frontends.python.results import result_type
from gridlane.frontends.python.source import FunctionSource
from gridlane.frontends.python.specs import Spec
from gridlane.frontends.python.translator import Translator
from gridlane.frontends.python.unit import Unit


def evaluate(
    unit: Unit, function: types.FunctionType, source: FunctionSource, known: Mapping[str, Any]
) -> Rewritten | None:
    """The function without its compile-time parts; None where it has none.

    Args:
        unit: keeps its text.
        function: the function.
        source: of the function.
        known: the types of its parameters; None where one has none.

    Raises:
        ConstevalError: a part cannot be evaluated; located.
    """

    def lookup(name: str) -> tuple[bool, Any]:
        return unit.around.lookup(function, name)

    parameters = {name: kind for name, kind in known.items() if kind is not None}
    result = rewritten(source, lookup, parameters, shown_options(unit.options))
    if result is not None:
        unit.texts[function] = result.text
    return result


def bind_values(t: Translator, rewritten_source: Rewritten | None) -> None:
    """Bind the names of the objects that compile-time parts gave."""
    for name, value in ({} if rewritten_source is None else rewritten_source.values).items():
        t.env[name] = operand_of(t, value)


def known_type(spec: Spec) -> ArgType | None:
    """The type of a parameter of a device function, if it has one."""
    try:
        return result_type(spec)
    except TypingError:
        return None


def shown_options(options: KernelOptions) -> dict[str, Any]:
    """What ``current_target_options()`` returns: the options by the names of ``cuda.jit``."""
    return {
        "chip": options.chip or None,
        "debug": options.debug,
        "fastmath": options.fastmath,
        "launch_bounds": options.launch_bounds or None,
        "lineinfo": options.lineinfo,
        "max_registers": options.max_registers,
        "opt": options.opt,
        "opt_level": 3 if options.opt else 0,
    }
