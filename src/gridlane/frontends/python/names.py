"""Names: variables, else values from around the function."""

from __future__ import annotations

import builtins

from gridlane.core.errors import NameLookupError, TypingError
from gridlane.core.suggestions import did_you_mean
from gridlane.frontends.python.constants import operand_of
from gridlane.frontends.python.frames import unbound
from gridlane.frontends.python.operands import Activation, Conflict, Operand
from gridlane.frontends.python.translator import Translator


def named(t: Translator, name: str) -> Operand:
    """The operand that a name is bound to.

    Raises:
        TypingError: its type depends on the path taken.
        NameLookupError: it is not bound on this path, or not at all.
    """
    operand = t.env.get(name)
    if operand is None:
        return _outer(t, name)
    if isinstance(operand, Conflict):
        notes = tuple(
            (f"{kind} here:", place) for kind, place in zip(operand.types, operand.places)
        )
        raise TypingError(
            f"{name} has a type here that depends on the path taken: {operand.types[0]} or "
            f"{operand.types[1]}; give it one type on all paths, or use two names",
            t.b.loc,
            notes,
        )
    return operand


def _is_variable(t: Translator, name: str) -> bool:
    """Whether the function that is translated, or one around it in the kernel, binds a name."""
    around: Activation | None = t.activation
    while around is not None and name not in around.names:
        around = around.outer
    return around is not None


def _in_reach(t: Translator) -> set[str]:
    """The names that a function can read."""
    code = t.function.__code__
    return {*t.env, *t.activation.names, *code.co_freevars, *t.function.__globals__, *dir(builtins)}


def _outer(t: Translator, name: str) -> Operand:
    if _is_variable(t, name):
        raise unbound(t.loops, name, t.b.loc)
    exists, value = t.unit.around.lookup(t.function, name)
    if not exists:
        raise NameLookupError(
            f"{name} is not defined: it is neither a variable of {t.source.name}(), nor of "
            "an enclosing function, nor a global or builtin" + did_you_mean(name, _in_reach(t)),
            t.b.loc,
        )
    return operand_of(t, value, name)
